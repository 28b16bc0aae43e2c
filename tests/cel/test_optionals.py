import pytest

from tests.cel.calls import call, error
from webhook.cel.library.quantity import parse_quantity
from webhook.cel.types import INT
from webhook.cel.values.times import parse_timestamp
from webhook.cel.values.value import NONE, Duration, Opt, UInt


@pytest.mark.parametrize(
    "zero", [None, False, 0, 0.0, UInt(0), "", b"", [], {}, Duration(0), parse_timestamp("0001-01-01T00:00:00Z")]
)
def test_a_zero_value_makes_no_optional(zero):
    assert not call("optional.ofNonZeroValue", zero).present
    assert call("optional.of", zero).present


@pytest.mark.parametrize("value", [1, "a", INT, parse_quantity("0"), NONE, parse_timestamp("1970-01-01T00:00:00Z")])
def test_everything_else_does(value):
    assert call("optional.ofNonZeroValue", value).value is value


def test_what_an_optional_holds():
    assert call("value", Opt.of(1)) == 1
    assert error("value", NONE) == "optional.none() dereference"
    assert call("hasValue", call("optional.none")) is False
    assert call("orValue", NONE, 2) == 2
    assert call("orValue", Opt.of(1), 2) == 1
    assert call("or", NONE, Opt.of(2)).value == 2
    assert error("orValue", 1, 2) == "no such overload"
    assert error("hasValue", 1) == "no such overload: hasValue(int)"


def test_lists_of_optionals():
    assert call("optional.unwrap", [Opt.of(1), NONE]) == [1]
    assert call("unwrapOpt", []) == []
    assert not call("first", []).present
    assert call("last", [1, 2]).value == 2
