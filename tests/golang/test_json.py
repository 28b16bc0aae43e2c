"""JSON values as encoding/json reads and prints them."""

import math

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.laws import examples
from webhook.golang.json import GoStruct, has_unsettled, marshal, read_numbers, settle, settled_text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({"b": 1, "a": [None, True, "<&>\u2028"]}, r'{"a":[null,true,"\u003c\u0026\u003e\u2028"],"b":1}'),
        (GoStruct(b=1, a=2), '{"b":1,"a":2}'),
        (1e-7, "1e-7"),
        (1e-6, "0.000001"),
        (-1.5e-10, "-1.5e-10"),
        (1e20, "100000000000000000000"),
        (1e21, "1e+21"),
        (-0.0, "-0"),
    ],
)
def test_a_value_is_marshalled_as_go_does(value, text):
    assert marshal(value) == text


def test_integers_beyond_64_bits_become_floats():
    same = {"a": [2**63 - 1]}
    assert read_numbers(same) is same
    assert read_numbers({"a": [2**63]}) == {"a": [float(2**63)]}
    with pytest.raises(OverflowError):
        read_numbers([10**400])


@pytest.mark.parametrize(
    ("value", "settled"),
    [(1.0, 1), (1e3, 1000), (1.5, 1.5), (2**63, float(2**63)), ("\ud800", "\ufffd"), ([{"a": 2.0}], [{"a": 2}])],
)
def test_what_the_api_server_sends_back(value, settled):
    assert repr(settle(value)) == repr(settled)


@pytest.mark.parametrize(("text", "found"), [(b"1.0", True), (b"1e3", True), (b"9" * 19, True), (b"1.25", False)])
def test_unsettled_numbers_are_seen_in_a_text(text, found):
    assert has_unsettled(text) is found


FLOATS = st.floats(allow_nan=False, allow_infinity=False)


@st.composite
def numbers(draw):
    digits = st.text("0123456789", min_size=1, max_size=20)
    whole = draw(digits).lstrip("0") or "0"
    fraction = draw(st.one_of(st.just(""), st.just(".0"), digits.map(lambda text: f".{text}"), st.just(".99999999999")))
    exponent = draw(st.sampled_from(["", "", "", "e3", "E-2", "e+21"]))
    return draw(st.sampled_from(["", "-"])) + whole + fraction + exponent


SHAPES = ["%s", " %s\n", "[%s,%s]", '{"a": %s}', '{"1e5 ":\t%s,"b":[true, %s ]}', '{"u":"5e-1.0",\n"a":%s}']


@settings(max_examples=examples(500), deadline=None)
@given(st.sampled_from(SHAPES), numbers(), numbers())
def test_a_text_without_unsettled_numbers_is_as_the_api_server_sends_it(shape, first, second):
    text = (shape % (first, second)[: shape.count("%s")]).encode()
    value = orjson.loads(text)
    assert has_unsettled(text) or repr(settle(value)) == repr(value)
    assert settled_text(value) in {None, orjson.dumps(value)}
    assert settled_text(value) is None or repr(settle(value)) == repr(value)


@settings(max_examples=examples(2000), deadline=None)
@given(st.one_of(FLOATS, FLOATS.map(math.trunc).map(float), st.integers(), st.text()))
def test_what_is_written_as_settled_is_settled(value):
    for each in (value, [value, 1], {"a": value}):
        assert settled_text(each) is None or repr(settle(orjson.loads(orjson.dumps(each)))) == repr(each)


@pytest.mark.parametrize("value", [1.0, -0.0, 1e15, 1e16, 1.5e17, 9e18, -1e18, 2**63, -(2**63) - 1, "\ud800"])
def test_what_would_change_is_not_written_as_settled(value):
    assert [settled_text(each) for each in (value, [value], {"a": value, "b": 1})] == [None] * 3


@pytest.mark.parametrize(
    "value", [1, 1.5, 1e19, 1e-7, 2**53 - 1, "1.0", {"version": "1.0.1", "uid": "1e3", "e": [None]}]
)
def test_what_stays_is_written_as_settled(value):
    assert settled_text(value) == orjson.dumps(value)


@pytest.mark.parametrize("text", [b'{"uid":"705ab4f5-6393-11e8-b7cc-42010a800002"}', b'["1.0","9e9"]'])
def test_digits_in_a_text_are_not_numbers(text):
    assert not has_unsettled(text)
