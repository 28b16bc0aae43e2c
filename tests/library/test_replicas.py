"""What the API server says of replicas that /scale cannot read: its own words (``ValidateScaleSpec``)."""

from __future__ import annotations

from typing import Any

import pytest

from webhook import catalog
from webhook.admission import GroupVersionKind
from webhook.catalog import KnownKind
from webhook.library.apiserver import replicas_causes

LOADED = catalog.load()
GROUP = "inference.llmkube.dev"
ACCESSOR = "0: .spec.replicas accessor error: "


def kind(name: str) -> KnownKind:
    known = LOADED.find(GroupVersionKind(GROUP, "v1alpha1", name))
    assert known is not None
    return known


@pytest.mark.parametrize(
    ("spec", "fault"),
    [
        (0.5, ACCESSOR + "0.5 is of the type float64, expected map[string]interface{}"),
        (5, ACCESSOR + "5 is of the type int64, expected map[string]interface{}"),
        ("a", ACCESSOR + "a is of the type string, expected map[string]interface{}"),
        (True, ACCESSOR + "true is of the type bool, expected map[string]interface{}"),
        ([None], ACCESSOR + "[<nil>] is of the type []interface {}, expected map[string]interface{}"),
        ({"replicas": "2"}, ACCESSOR + "2 is of the type string, expected int64"),
        ({"replicas": 1.5}, ACCESSOR + "1.5 is of the type float64, expected int64"),
        (
            {"replicas": {"b": [1, "x"], "a": False}},
            ACCESSOR + "map[a:false b:[1 x]] is of the type map[string]interface {}, expected int64",
        ),
        ({"replicas": -1}, "-1: should be a non-negative integer"),
        ({"replicas": 2**31}, "2147483648: should be less than or equal to 2147483647"),
    ],
)
def test_replicas_that_scale_cannot_read_are_named(spec: Any, fault: str) -> None:
    (cause,) = replicas_causes({"spec": spec}, kind("InferenceService"))
    assert (cause.field, cause.message) == (".spec.replicas", f"Invalid value: {fault}")


@pytest.mark.parametrize(
    "obj", [{}, {"spec": None}, {"spec": {}}, {"spec": {"replicas": 0}}, {"spec": {"replicas": 2}}]
)
def test_replicas_that_are_right_or_absent_have_no_cause(obj: dict[str, Any]) -> None:
    assert list(replicas_causes(obj, kind("InferenceService"))) == []


def test_a_kind_without_scale_has_none() -> None:
    known = kind("Model")
    assert known.replicas == ""
    assert list(replicas_causes({"spec": 0.5}, known)) == []
    assert list(replicas_causes({"spec": 0.5}, None)) == []
