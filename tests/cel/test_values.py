import math

import pytest

from webhook.cel import types
from webhook.cel.errors import CelError
from webhook.cel.library.quantity import parse_quantity
from webhook.cel.values.value import (
    FALSE_KEY,
    NONE,
    TRUE_KEY,
    Duration,
    Opt,
    Timestamp,
    UInt,
    equal,
    from_map_key,
    map_key,
    type_name,
    type_of_value,
)

EQUAL = [
    (1, 1.0),
    (1, UInt(1)),
    (2**53 + 1, float(2**53)),  # Go compares an integer with a double as doubles
    (2**63 - 1, 2.0**63),
    ("a", "a"),
    (b"a", b"a"),
    (None, None),
    ([1, [2.0]], [1.0, [2]]),
    ({"a": 1, "b": [1]}, {"b": [1.0], "a": UInt(1)}),
    (Timestamp(5, 3600), Timestamp(5)),
    (Opt.of(1), Opt.of(1.0)),
    (NONE, NONE),
    (types.list_of(types.DYN), types.list_of(types.INT)),
]
UNEQUAL = [
    (1, True),
    (0, False),
    ([1], [True]),
    (1, "1"),
    ("a", b"a"),
    (None, False),
    (math.nan, math.nan),
    ([math.nan], [math.nan]),
    ({"a": None}, {"b": None}),
    ({"a": 1}, {"a": 1, "b": 2}),
    ([], {}),
    (Timestamp(5), Duration(5)),
    (Opt.of(1), NONE),
    (Opt.of(1), 1),
    (types.INT, types.UINT),
]


@pytest.mark.parametrize(("a", "b"), EQUAL)
def test_equality_looks_at_values_across_number_types(a, b):
    assert equal(a, b)
    assert equal(b, a)


@pytest.mark.parametrize(("a", "b"), UNEQUAL)
def test_what_is_not_equal(a, b):
    assert not equal(a, b)
    assert not equal(b, a)


def test_a_library_value_to_the_left_compares_with_its_like_only():
    one = parse_quantity("1")
    with pytest.raises(CelError, match="no such overload"):
        equal(one, 1)
    assert not equal(1, one)
    assert equal([one], [1])  # an error inside a list is "not unequal" in cel-go


def test_bool_keys_of_a_map_are_neither_0_nor_1():
    assert map_key(True) is TRUE_KEY
    assert map_key(False) is FALSE_KEY
    assert map_key(1) == map_key(1.0) == map_key(UInt(1))
    assert [from_map_key(key) for key in (TRUE_KEY, FALSE_KEY, "a", 3)] == [True, False, "a", 3]


@pytest.mark.parametrize("value", [[1], {"a": 1}, math.nan])
def test_what_can_be_no_key_is_found_in_no_map(value):
    assert map_key(value) not in {1: "a", "a": 2, map_key(value): 3}


@pytest.mark.parametrize(
    ("value", "name"),
    [
        (None, "null_type"),
        (True, "bool"),
        (1, "int"),
        (UInt(1), "uint"),
        (1.5, "double"),
        ("", "string"),
        (b"", "bytes"),
        ([], "list"),
        ({}, "map"),
        (Timestamp(0), "google.protobuf.Timestamp"),
        (Duration(0), "google.protobuf.Duration"),
        (NONE, "optional_type"),
        (types.INT, "type"),
        (parse_quantity("1"), "kubernetes.Quantity"),
    ],
)
def test_every_value_has_a_type(value, name):
    assert type_name(type_of_value(value)) == name


def test_a_python_value_outside_cel_has_no_type():
    with pytest.raises(TypeError, match="object is not a CEL value"):
        type_of_value(object())
