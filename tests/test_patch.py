"""The difference of two JSON values, checked with an independent implementation of RFC 6902."""

from typing import Any

import jsonpatch
import pytest
from hypothesis import given
from hypothesis import strategies as st

from webhook import patch

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


@pytest.mark.parametrize("path", ["/a/b", "/l/5", "/l/x", "/s/0"])
def test_an_operation_that_does_not_fit_is_refused(path: str) -> None:
    with pytest.raises(ValueError, match="nothing is there"):
        patch.apply({"l": [1], "s": "text"}, [{"op": "replace", "path": path, "value": 1}])
