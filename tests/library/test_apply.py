"""`kubectl apply` on a stored object: a three-way merge."""

import json
from typing import Any

import pytest

from webhook.library.apiserver import applied

LAST = "kubectl.kubernetes.io/last-applied-configuration"


def stored(spec: dict[str, Any], last: dict[str, Any] | None = None) -> dict[str, Any]:
    annotations = {} if last is None else {LAST: json.dumps({"spec": last})}
    return {"metadata": {"name": "x", "annotations": annotations}, "spec": spec}


@pytest.mark.parametrize(
    ("before", "last", "written", "after"),
    [
        ({"a": 1, "b": 2}, None, {"a": 3}, {"a": 3, "b": 2}),
        ({"a": 1, "b": 2}, {"a": 1, "b": 2}, {"a": 3}, {"a": 3}),
        ({"a": 1, "b": 2}, {"a": 1}, {}, {"b": 2}),
        ({"a": {"x": 1, "y": 2}}, {"a": {"x": 1}}, {"a": {}}, {"a": {"y": 2}}),
        ({"a": [1, 2]}, None, {"a": [3]}, {"a": [3]}),
        ({"a": 1}, None, {"a": None}, {}),
        ({"a": 1}, {"a": None}, {"a": None}, {"a": 1}),
        ({"a": 1}, None, {"a": {"x": None, "y": 1}}, {"a": {"y": 1}}),
        ({"a": {"x": 1}}, None, {"a": 1}, {"a": 1}),
    ],
)
def test_fields_are_set_merged_and_removed(
    before: dict[str, Any], last: dict[str, Any] | None, written: dict[str, Any], after: dict[str, Any]
) -> None:
    assert applied(stored(before, last), {"spec": written})["spec"] == after


@pytest.mark.parametrize("text", ["", "[", "[]", "5", None, 5])
def test_an_unreadable_annotation_counts_as_none(text: Any) -> None:
    obj = {"metadata": {"annotations": {LAST: text}}, "spec": {"a": 1}}
    assert applied(obj, {"spec": {"b": 2}})["spec"] == {"a": 1, "b": 2}
    assert applied({"metadata": None}, {"metadata": {"name": "x"}}) == {"metadata": {"name": "x"}}


def test_the_annotation_of_kubectl_follows_and_those_of_others_stay() -> None:
    last = {"metadata": {"name": "x", "annotations": {"mine": "1"}}, "spec": {}}
    annotations = {"mine": "1", "others": "2", LAST: json.dumps(last)}
    obj = {"metadata": {"name": "x", "namespace": "team", "annotations": annotations}, "spec": {}}
    after = applied(obj, {"metadata": {"name": "x"}, "spec": {"a": "<"}})["metadata"]["annotations"]
    text = '{"metadata":{"annotations":{},"name":"x","namespace":"team"},"spec":{"a":"\\u003c"}}\n'
    assert after == {"others": "2", LAST: text}
