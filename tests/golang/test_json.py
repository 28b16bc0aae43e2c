"""JSON values as encoding/json reads and prints them."""

import pytest

from webhook.golang.json import GoStruct, has_unsettled, marshal, read_numbers, settle


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
def test_marshal(value, text):
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
