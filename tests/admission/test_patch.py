"""The difference of two JSON values, checked with an independent implementation of RFC 6902."""

import re
from typing import Any

import jsonpatch
import pytest
from hypothesis import given
from hypothesis import strategies as st

from webhook.admission import patch

scalars = st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from(["", "a", "a/b", "a~b", "é"])
keys = st.sampled_from(["a", "b", "a/b", "~", "", "0", "-"])
values = st.recursive(scalars, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(keys, inner, max_size=4))


def strictly_equal(left: Any, right: Any) -> bool:
    return repr(_sorted(left)) == repr(_sorted(right))


def _sorted(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _sorted(value[key]) for key in sorted(value)}
    return [_sorted(item) for item in value] if isinstance(value, list) else value


@given(values, values)
def test_a_difference_applied_gives_the_second_value(before: Any, after: Any) -> None:
    operations = patch.diff(before, after)
    assert strictly_equal(patch.apply(before, operations), after)
    assert strictly_equal(jsonpatch.apply_patch(before, operations), after)


@given(values, values, st.integers(0, 3))
def test_a_shorter_difference_gives_it_too(before: Any, after: Any, most: int) -> None:
    operations = patch.diff(before, after, most)
    assert strictly_equal(patch.apply(before, operations), after)
    assert strictly_equal(jsonpatch.apply_patch(before, operations), after)


def test_many_operations_below_one_value_become_one_that_replaces_it() -> None:
    before: Any = {
        "spec": {"items": [{} for _ in range(1001)], "few": [{}] * 1000},
        "gone": {str(i): 0 for i in range(1001)},
    }
    after: Any = {"spec": {"items": [{"a": 1}] * 1001, "few": [{"a": 1}] * 1000}, "gone": {}}
    operations = patch.diff(before, after, 1000)
    assert [each["path"] for each in operations] == ["/spec", "/gone"]
    after["spec"]["few"] = before["spec"]["few"]
    assert [each["path"] for each in patch.diff(before, after, 1000)] == ["/spec/items", "/gone"]


def test_the_document_itself_is_never_replaced() -> None:
    before, after = {str(i): 0 for i in range(10)}, {str(i): 1 for i in range(10)}
    assert len(patch.diff(before, after, 5)) == 10


@given(values)
def test_equal_values_have_no_difference(value: Any) -> None:
    assert patch.diff(value, _sorted(value)) == []


@pytest.mark.parametrize(
    ("before", "after", "operations"),
    [
        ({"a": 1}, {"a": True}, [{"op": "replace", "path": "/a", "value": True}]),
        ({"a": 1}, {"a": 1.0}, [{"op": "replace", "path": "/a", "value": 1.0}]),
        ({}, {"a/b": {"~": 1}}, [{"op": "add", "path": "/a~1b", "value": {"~": 1}}]),
        ({"a": {"b": 1}}, {"a": {}}, [{"op": "remove", "path": "/a/b"}]),
        ([1, 2, 3], [1], [{"op": "remove", "path": "/2"}, {"op": "remove", "path": "/1"}]),
        ([1], [1, 2], [{"op": "add", "path": "/-", "value": 2}]),
    ],
)
def test_differences_are_minimal_and_strict(before: Any, after: Any, operations: list[Any]) -> None:
    assert patch.diff(before, after) == operations


def test_a_shared_subtree_is_not_read() -> None:
    class Unreadable(dict[str, Any]):
        def __iter__(self) -> Any:
            raise AssertionError("read")

    shared = Unreadable(a=1)
    assert patch.diff({"x": shared, "y": 1}, {"x": shared, "y": 2}) == [{"op": "replace", "path": "/y", "value": 2}]


@pytest.mark.parametrize(
    ("operation", "error"),
    [
        (
            {"op": "replace", "path": "/a/b", "value": 1},
            "replace operation does not apply: doc is missing path: /a/b: m",
        ),
        (
            {"op": "replace", "path": "/l/5", "value": 1},
            "replace operation does not apply: doc is missing key: /l/5: m",
        ),
        (
            {"op": "replace", "path": "/l/x", "value": 1},
            "replace operation does not apply: doc is missing key: /l/x: m",
        ),
        ({"op": "replace", "path": "/s/0", "value": 1}, "replace operation does not apply: doc is missing path: /s/0"),
        ({"op": "add", "path": "", "value": 1}, 'add operation does not apply: doc is missing path: "": missing value'),
        ({"op": "add", "path": "/l/3", "value": 1}, "error in add for path: '/l/3': Unable to access invalid index: 3"),
        ({"op": "add", "path": "/l/x", "value": 1}, "error in add for path: '/l/x': value was not a proper array ind"),
        (
            {"op": "remove", "path": "/x"},
            "error in remove for path: '/x': Unable to remove nonexistent key: x: missing",
        ),
        (
            {"op": "remove", "path": "/l/1"},
            "error in remove for path: '/l/1': Unable to access invalid index: 1: inval",
        ),
        ({"op": "remove", "path": "/x/y"}, 'remove operation does not apply: doc is missing path: "/x/y": missing val'),
        (
            {"op": "move", "from": "/x", "path": "/y"},
            "error in move for path: 'x': Unable to remove nonexistent key: x",
        ),
        (
            {"op": "move", "from": "/s", "path": "/x/y"},
            "move operation does not apply: doc is missing destination path",
        ),
        ({"op": "copy", "from": "/x/y", "path": "/y"}, "copy operation does not apply: doc is missing from path: /x/y"),
        (
            {"op": "copy", "from": "/l/1", "path": "/y"},
            "error in copy for from: '/l/1': Unable to access invalid index",
        ),
        ({"op": "test", "path": "/x/y", "value": 1}, "test operation does not apply: is missing path: /x/y: missing v"),
        ({"op": "test", "path": "/s", "value": 1}, "testing value /s failed: test failed"),
        ({"op": "tset", "path": "/s"}, "Unexpected kind: tset"),
    ],
)
def test_an_operation_that_does_not_fit_is_refused_in_the_api_servers_words(operation: Any, error: str) -> None:
    with pytest.raises(patch.PatchError, match=f"^{re.escape(error)}"):
        patch.apply({"l": [1], "s": "text"}, [operation])


@pytest.mark.parametrize(
    ("operation", "result"),
    [
        ({"op": "move", "from": "/l/0", "path": "/l/-"}, {"l": [2, 1], "o": {"k": 1}}),
        ({"op": "move", "from": "/o/k", "path": "/k"}, {"l": [1, 2], "o": {}, "k": 1}),
        ({"op": "copy", "from": "/o", "path": "/l/1"}, {"l": [1, {"k": 1}, 2], "o": {"k": 1}}),
        ({"op": "copy", "from": "/nothing", "path": "/n"}, {"l": [1, 2], "o": {"k": 1}, "n": None}),
        ({"op": "test", "path": "/o", "value": {"k": 1}}, {"l": [1, 2], "o": {"k": 1}}),
        ({"op": "test", "path": "/nothing"}, {"l": [1, 2], "o": {"k": 1}}),
        ({"op": "replace", "path": "/o/new", "value": 2}, {"l": [1, 2], "o": {"k": 1, "new": 2}}),
        ({"op": "add", "path": "/l/-1", "value": 3}, {"l": [1, 2, 3], "o": {"k": 1}}),
        ({"op": "remove", "path": "/l/-1"}, {"l": [1], "o": {"k": 1}}),
    ],
)
def test_operations_have_the_latitude_of_the_api_servers_library(operation: Any, result: Any) -> None:
    before = {"l": [1, 2], "o": {"k": 1}}
    assert patch.apply(before, [operation]) == result
    assert before == {"l": [1, 2], "o": {"k": 1}}
