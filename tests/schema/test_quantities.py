"""Numbers where a schema has quantities, as Go's type reads and writes them."""

import math

import pytest

from webhook import catalog
from webhook.schema import Structural
from webhook.schema.quantities import PATTERN

QUANTITY = {"x-kubernetes-int-or-string": True, "pattern": PATTERN, "anyOf": [{"type": "integer"}, {"type": "string"}]}
PORT = {"x-kubernetes-int-or-string": True}
LIMITS = {"type": "object", "additionalProperties": QUANTITY}
ITEMS = {"type": "array", "items": {"type": "object", "properties": {"limits": LIMITS, "port": PORT}}}
SCHEMA = Structural({"type": "object", "properties": {"spec": {"type": "object", "properties": {"items": ITEMS}}}})


def holding(value, key="limits"):
    return {"spec": {"items": [{key: {"cpu": value} if key == "limits" else value}]}}


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (0.5, "500m"),
        (1.5, "1500m"),
        (-0.25, "-250m"),
        (0.1, "100m"),
        (2.0001, "2000100u"),
        (1e-9, "1e-9"),
        (1e21, "1e+21"),
        (2**63, "9223372036854776k"),
        (2**64, "18446744073709552k"),
    ],
)
def test_a_fraction_or_a_number_of_more_than_64_bits_becomes_text(number, text):
    converted = SCHEMA.with_quantities(holding(number))
    assert converted == holding(text)
    assert SCHEMA.check(converted).errors == []


@pytest.mark.parametrize(
    "value",
    [
        0,
        1,
        -1,
        5.0,
        -0.0,
        1e9,
        2**63 - 1,
        -(2**63),
        "0.5",
        "",
        "x",
        True,
        None,
        [],
        [0.5],
        {},
        {"x": 0.5},
        math.inf,
        math.nan,
    ],
)
def test_anything_else_stays(value):
    obj = holding(value)
    assert SCHEMA.with_quantities(obj) is obj


@pytest.mark.parametrize(
    "obj", [{}, {"spec": None}, {"spec": 0.5}, {"spec": {"items": 0.5}}, {"spec": {"items": [0.5, None]}}]
)
def test_another_value_than_an_object_or_a_list_stays(obj):
    assert SCHEMA.with_quantities(obj) is obj


def test_a_port_stays_a_number():
    obj = holding(0.5, key="port")
    assert SCHEMA.with_quantities(obj) is obj


def test_unchanged_parts_are_shared_and_the_given_object_stays():
    obj = {"spec": {"items": [{"limits": {"cpu": 0.5}}, {"limits": {"cpu": 1}}], "other": {}}}
    converted = SCHEMA.with_quantities(obj)
    assert obj["spec"]["items"][0] == {"limits": {"cpu": 0.5}}
    assert converted["spec"]["items"][1] is obj["spec"]["items"][1]
    assert converted["spec"]["other"] is obj["spec"]["other"]


def test_the_kinds_whose_own_webhooks_write_quantities():
    kinds = {gvk.kind for gvk, known in catalog.load().kinds.items() if known.policy.numeric_quantities}
    assert kinds == {"OpenModel", "InferenceService"}
