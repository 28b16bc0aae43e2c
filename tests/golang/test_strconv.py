"""Texts and numbers as strconv reads and writes them."""

import math

import pytest

from webhook.golang.errors import GoError
from webhook.golang.strconv import atoi, parse_float, parse_int, parse_uint, plain, quote, shortest


@pytest.mark.parametrize(
    ("value", "short", "long"),
    [
        (0.0, "0", "0"),
        (-0.0, "-0", "-0"),
        (100000.5, "100000.5", "100000.5"),
        (1e6, "1e+06", "1000000"),
        (1e21, "1e+21", "1000000000000000000000"),
        (0.0001, "0.0001", "0.0001"),
        (0.00001, "1e-05", "0.00001"),
        (1 / 3, "0.3333333333333333", "0.3333333333333333"),
        (math.inf, "+Inf", "+Inf"),
        (-math.inf, "-Inf", "-Inf"),
        (math.nan, "NaN", "NaN"),
    ],
)
def test_doubles_print_as_in_go(value, short, long):
    assert (shortest(value), plain(value)) == (short, long)


@pytest.mark.parametrize("text", ["", " 1", "1e", "0x1", "+nan", "infi", "1__0", "_1", "1_", ".", "1e400", "٣"])
def test_go_refuses_as_a_double(text):
    with pytest.raises(GoError, match=r"^strconv\.ParseFloat: parsing "):
        parse_float(text)


def test_go_takes_underscores_between_digits():
    assert (parse_float("1_000"), parse_float("0x_1p2"), parse_float("-Infinity")) == (1000.0, 4.0, -math.inf)


@pytest.mark.parametrize("text", ["9" * 1_000_000 + "x", "1." + "9" * 1_000_000 + "x", "0x" + "f" * 1_000_000 + "x"])
def test_megabytes_of_digits_that_are_not_a_number_are_refused_at_once(text):
    with pytest.raises(GoError, match=r"invalid syntax$"):
        parse_float(text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1e400", 'strconv.ParseFloat: parsing "1e400": value out of range'),
        ("0x1p99999", 'strconv.ParseFloat: parsing "0x1p99999": value out of range'),
        ("10,5", 'strconv.ParseFloat: parsing "10,5": invalid syntax'),
        ('"', 'strconv.ParseFloat: parsing "\\"": invalid syntax'),
    ],
)
def test_errors_of_parse_float(text, message):
    with pytest.raises(GoError) as caught:
        parse_float(text)
    assert caught.value.message == message


@pytest.mark.parametrize(
    ("parse", "text", "value"),
    [
        (parse_int, "-9223372036854775808", -(2**63)),
        (parse_int, "+007", 7),
        (parse_uint, "18446744073709551615", 2**64 - 1),
        (atoi, "-0", 0),
    ],
)
def test_an_integer_is_parsed_as_go_does(parse, text, value):
    assert parse(text) == value


@pytest.mark.parametrize(
    ("parse", "text", "message"),
    [
        (parse_int, "9223372036854775808", 'strconv.ParseInt: parsing "9223372036854775808": value out of range'),
        (parse_int, "99999999999999999999h", 'strconv.ParseInt: parsing "99999999999999999999h": value out of range'),
        (parse_int, "1h", 'strconv.ParseInt: parsing "1h": invalid syntax'),
        (parse_int, "-+1", 'strconv.ParseInt: parsing "-+1": invalid syntax'),
        (parse_int, "\u0661", 'strconv.ParseInt: parsing "\u0661": invalid syntax'),
        (parse_uint, "+1", 'strconv.ParseUint: parsing "+1": invalid syntax'),
        (parse_uint, "18446744073709551616", 'strconv.ParseUint: parsing "18446744073709551616": value out of range'),
        (atoi, "", 'strconv.Atoi: parsing "": invalid syntax'),
    ],
)
def test_errors_of_integers(parse, text, message):
    with pytest.raises(GoError) as caught:
        parse(text)
    assert caught.value.message == message


@pytest.mark.parametrize(
    ("text", "quoted"),
    [
        ("plain", '"plain"'),
        ('a"b\\c', r'"a\"b\\c"'),
        ("\a\b\f\n\r\t\v", r'"\a\b\f\n\r\t\v"'),
        ("\x00\x7f\u00a0\u2028", r'"\x00\x7f\u00a0\u2028"'),
        ("\u00fc\U0001f600", '"\u00fc\U0001f600"'),
        ("\U000e0001", r'"\U000e0001"'),
        (b"\xff".decode(errors="surrogateescape"), r'"\xff"'),
        ("\ud800", r'"\ufffd"'),
    ],
)
def test_a_text_is_quoted_as_go_does(text, quoted):
    assert quote(text) == quoted
