import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.cel.calls import call, error
from webhook.cel.errors import BudgetExceeded
from webhook.cel.values.value import INT_MAX, INT_MIN, NONE, UINT_MAX, Duration, Opt, Timestamp, UInt

DAY = 86_400 * 10**9


@pytest.mark.parametrize(
    ("operator", "a", "b", "result"),
    [
        ("_+_", 1, 2, 3),
        ("_+_", UInt(1), UInt(2), UInt(3)),
        ("_+_", 0.5, 0.25, 0.75),
        ("_+_", "a", "b", "ab"),
        ("_+_", b"a", b"b", b"ab"),
        ("_+_", [1], ["a"], [1, "a"]),
        ("_+_", Duration(1), Duration(2), Duration(3)),
        ("_+_", Timestamp(1), Duration(2), Timestamp(3)),
        ("_+_", Duration(2), Timestamp(1), Timestamp(3)),
        ("_-_", Timestamp(DAY), Timestamp(0), Duration(DAY)),
        ("_-_", Timestamp(DAY), Duration(DAY), Timestamp(0)),
        ("_-_", UInt(3), UInt(3), UInt(0)),
        ("_*_", -2, 6, -12),
        ("_/_", -7, 2, -3),
        ("_/_", 7, -2, -3),
        ("_/_", UInt(7), UInt(2), UInt(3)),
        ("_/_", 1.0, 0.0, math.inf),
        ("_/_", -1.0, 0.0, -math.inf),
        ("_/_", 1.0, -0.0, -math.inf),
        ("_%_", 7, -2, 1),
        ("_%_", -7, 2, -1),
        ("_<_", 1, 1.5, True),
        ("_<_", "a", "B", False),
        ("_>_", UInt(2), 1, True),
        ("_>=_", True, False, True),
        ("_<=_", b"a", b"a", True),
        ("_<_", Duration(1), Duration(2), True),
        ("_<_", math.nan, 1, False),
        ("_>=_", 1.5, math.nan, False),
        ("@in", 1, [1.0], True),
        ("@in", True, [1], False),
        ("@in", "a", ["b"], False),
        ("@in", 1.0, {1: "x"}, True),
        ("@in", True, {1: "x"}, False),
        ("_[_]", ["a", "b"], 1, "b"),
        ("_[_]", ["a", "b"], 1.0, "b"),
        ("_[_]", {"a": 1}, "a", 1),
        ("_[_]", Opt.of([1]), 0, Opt.of(1)),
    ],
)
def test_operators(operator, a, b, result):
    got = call(operator, a, b)
    assert call("_==_", got, result)
    assert type(got) is type(result)


@pytest.mark.parametrize(
    ("operator", "a", "b", "message"),
    [
        ("_+_", INT_MAX, 1, "integer overflow"),
        ("_-_", INT_MIN, 1, "integer overflow"),
        ("_*_", INT_MIN, -1, "integer overflow"),
        ("_/_", INT_MIN, -1, "integer overflow"),
        ("_%_", INT_MIN, -1, "integer overflow"),
        ("_+_", UInt(UINT_MAX), UInt(1), "unsigned integer overflow"),
        ("_-_", UInt(1), UInt(2), "unsigned integer overflow"),
        ("_+_", Duration(INT_MAX), Duration(1), "integer overflow"),
        ("_+_", Timestamp(253_402_300_799 * 10**9), Duration(10**9), "timestamp overflow"),
        ("_-_", Timestamp(0), Duration(INT_MIN), "integer overflow"),
        ("_/_", 1, 0, "division by zero"),
        ("_%_", UInt(1), UInt(0), "modulus by zero"),
        ("_+_", 1, 1.0, "no such overload"),
        ("_+_", 1, "a", "no such overload"),
        ("_+_", None, 1, "no such overload: _+_"),
        ("_-_", "a", "a", "no such overload"),
        ("_-_", [1], [1], "no such overload: _-_"),
        ("_<_", 1, "a", "no such overload"),
        ("_<_", [1], [2], "no such overload: _<_"),
        ("_<_", [1], math.nan, "no such overload: _<_"),
        ("_[_]", [1, 2], 3, "index out of bounds: 3"),
        ("_[_]", [1, 2], -1, "index out of bounds: -1"),
        ("_[_]", [1, 2], 1.5, "unsupported index value 1.5 in list"),
        ("_[_]", [1, 2], "a", "unsupported index type 'string' in list"),
        ("_[_]", {"a": 1}, "b", "no such key: b"),
        ("_[_]", {"a": 1}, True, "no such key: true"),
        ("_[_]", 5, "a", "no such key: a"),
        ("@in", 1, 1, "no such overload"),
    ],
)
def test_errors_of_operators(operator, a, b, message):
    assert error(operator, a, b) == message


def test_negation_and_not():
    assert call("-_", 3) == -3
    assert call("-_", Duration(3)) == Duration(-3)
    assert call("!_", True) is False
    assert error("-_", INT_MIN) == "integer overflow"
    assert error("-_", True) == "no such overload"
    assert error("!_", 1) == "no such overload"


def test_size_counts_code_points_and_elements():
    assert [call("size", value) for value in ("👑é", b"\xf0\x9f", [1, 2], {"a": 1})] == [2, 2, 2, 1]
    assert error("size", 1) == "no such overload: size"
    assert error("size", Timestamp(0)) == "no such overload"


def test_an_optional_container_gives_optionals():
    assert not call("_[_]", NONE, "a").present
    assert not call("_[?_]", {"a": 1}, "b").present
    assert call("_[?_]", [7], 0).value == 7
    assert not call("_?._", 1, "a").present


@given(st.integers(INT_MIN, INT_MAX), st.integers(INT_MIN, INT_MAX).filter(bool))
def test_division_and_modulus_belong_together(a, b):
    if (a, b) != (INT_MIN, -1):
        quotient, rest = call("_/_", a, b), call("_%_", a, b)
        assert quotient * b + rest == a
        assert rest == 0 or (rest < 0) is (a < 0)


def test_doubling_ends_before_memory_does():
    text, values = "x" * 6_000_000, [0] * 600_000
    for value in (text, values):
        with pytest.raises(BudgetExceeded):
            call("_+_", value, value)
