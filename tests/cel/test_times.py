from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.cel.calls import call, error
from tests.laws import examples
from webhook.cel.errors import CelError
from webhook.cel.values import times
from webhook.cel.values.times import civil, format_duration, format_timestamp, parse_duration, parse_timestamp
from webhook.cel.values.value import Duration, Timestamp

S = 10**9
MOMENT = parse_timestamp("2020-06-15T12:34:56.789Z")
FIELDS = {
    "getFullYear": 2020,
    "getMonth": 5,
    "getDayOfYear": 166,
    "getDayOfMonth": 14,
    "getDate": 15,
    "getDayOfWeek": 1,
    "getHours": 12,
    "getMinutes": 34,
    "getSeconds": 56,
    "getMilliseconds": 789,
}
"""Of this moment."""


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("2020-01-01T00:00:00Z", "2020-01-01T00:00:00Z"),
        ("2020-01-01T00:00:00+00:00", "2020-01-01T00:00:00Z"),
        ("2020-01-01T01:02:03.120+05:30", "2020-01-01T01:02:03.12+05:30"),
        ("2020-01-01T00:00:00." + "1" * 5_000 + "Z", "2020-01-01T00:00:00.111111111Z"),
        ("0001-01-01T00:00:00Z", "0001-01-01T00:00:00Z"),
        ("9999-12-31T23:59:59.999999999Z", "9999-12-31T23:59:59.999999999Z"),
        ("2000-02-29T00:00:00-08:00", "2000-02-29T00:00:00-08:00"),
        ("2020-01-01T00:00:00.1234567891Z", "2020-01-01T00:00:00.123456789Z"),
    ],
)
def test_timestamps_keep_their_zone(text, shown):
    assert format_timestamp(parse_timestamp(text)) == shown


@pytest.mark.parametrize(
    "text",
    [
        "",
        "2020-01-01",
        "2020-01-01T00:00:00",
        "2020-13-01T00:00:00Z",
        "2020-01-01T24:00:00Z",
        "2020-01-01T1:02:03Z",
        "2020-01-01T01:02:03,5Z",
        "2020-01-01T00:00:00.Z",
        "2020-01-01T00:00:00+24:00",
        "20-01-01T00:00:00Z",
        " 2020-01-01T00:00:00Z",
        "2020-01-01T00:00:00Z\n",
    ],
)
def test_what_has_not_the_form_of_a_timestamp(text):
    shown = text.replace("\n", "\\n")
    assert error("timestamp", text) == f'invalid RFC 3339 timestamp "{shown}"'


@pytest.mark.parametrize(
    "text",
    ["2020-01-01t00:00:00Z", "2020-01-01T00:00:00z", "2021-02-29T00:00:00Z", "2020-01-01T00:00:60Z"],
)
def test_a_text_of_the_right_form_may_be_an_invalid_timestamp(text):
    assert error("timestamp", text) == "type conversion error from 'string' to 'google.protobuf.Timestamp'"


def numbers(least, most, digits=2):
    return st.integers(least, most).map(lambda number: f"{number:0{digits}d}")


USUAL = {
    "year": numbers(0, 9999, 4),
    "-": st.just("-"),
    "month": numbers(1, 12),
    "day": numbers(1, 31).map(lambda day: f"-{day}"),
    "T": st.just("T"),
    "hour": numbers(0, 23),
    "minute": numbers(0, 59).map(lambda minute: f":{minute}"),
    "second": numbers(0, 59).map(lambda second: f":{second}"),
    "fraction": st.just("") | st.from_regex(r"\.[0-9]{1,12}", fullmatch=True),
    "zone": st.just("Z") | st.from_regex(r"[+-]([01][0-9]|2[0-3]):[0-5][0-9]", fullmatch=True),
}
ODD = st.sampled_from(
    [
        "",
        " ",
        "t",
        "z",
        "0",
        "00",
        "13",
        ":24",
        "24",
        ":60",
        ":61",
        "-00",
        "-32",
        "+00:60",
        "-24:00",
        ",5",
        ".",
        "٢",
        "Z",
    ]
)


@st.composite
def almost_timestamps(draw):
    """Times, of which one part may be that of no time."""
    odd = draw(st.sampled_from([None, None, *USUAL]))
    return "".join(draw(ODD if part == odd else usual) for part, usual in USUAL.items())


def read(text):
    try:
        timestamp = parse_timestamp(text)
    except CelError as refused:
        return refused.message
    return timestamp.ns, timestamp.offset


@settings(max_examples=examples(4_000))
@given(almost_timestamps())
def test_usual_times_are_read_as_all_others(text):
    fast = read(text)
    with patch.object(times, "_USUAL", lambda _text: None):
        assert read(text) == fast


@settings(max_examples=examples(1_000))
@given(
    st.sampled_from(sorted(FIELDS)),
    st.integers(-(2**66), 2**66) | st.integers(-(10**18), 10**18),
)
def test_fields_without_a_zone_are_those_of_utc_in_all_years(field, ns):
    assert call(field, Timestamp(ns)) == call(field, Timestamp(ns), "UTC")


@pytest.mark.parametrize(
    ("text", "ns"),
    [
        ("0", 0),
        ("-0", 0),
        ("1h30m", 5_400 * S),
        ("1.5h", 5_400 * S),
        ("-1.5s", -1_500_000_000),
        (".5s", 500_000_000),
        ("1.s", S),
        ("1µs", 1_000),
        ("1μs", 1_000),
        ("1us2ns", 1_002),
        ("9223372036854775807ns", 2**63 - 1),
        ("-9223372036854775808ns", -(2**63)),
        ("0.0000000000000000000000001h", 0),
        ("00000000000000000000000000001s", S),
    ],
)
def test_durations(text, ns):
    assert parse_duration(text) == Duration(ns)


@pytest.mark.parametrize(
    "text", ["", "1", "1d", "s", ".s", "1h ", "+", "9223372037s", "-9223372037s", "1h1", "9" * 40 + "s"]
)
def test_invalid_durations(text):
    assert parse_duration(text) is None


def test_durations_print_as_seconds():
    assert [format_duration(Duration(ns)) for ns in (5_400 * S, -1_500_000_000, 1)] == [
        "5400s",
        "-1.5s",
        "0.000000001s",
    ]


@pytest.mark.parametrize(("function", "value"), FIELDS.items())
def test_the_fields_of_a_timestamp(function, value):
    assert call(function, MOMENT) == value


def test_the_fields_of_a_duration_are_totals():
    spans = Duration(3_723_456 * 10**6)
    fields = ("getHours", "getMinutes", "getSeconds", "getMilliseconds")
    assert [call(name, spans) for name in fields] == [1, 62, 3723, 3_723_456]
    assert call("getMinutes", Duration(-90 * S)) == -1


@pytest.mark.parametrize(
    ("zone", "hour"),
    [
        ("", 12),
        ("UTC", 12),
        ("Local", 12),
        ("02:30", 15),
        ("+02:30", 15),
        ("-08:00", 4),
        ("-0:30", 12),
        ("America/Los_Angeles", 5),
    ],
)
def test_fields_in_a_zone(zone, hour):
    assert call("getHours", MOMENT, zone) == hour


@pytest.mark.parametrize(
    ("zone", "message"),
    [
        ("Nope/Zone", "unknown time zone Nope/Zone"),
        ("../etc/passwd", "time: invalid location name"),
        ("/etc/passwd", "time: invalid location name"),
        ("a:00", 'strconv.Atoi: parsing "a": invalid syntax'),
        (":30", 'strconv.Atoi: parsing "": invalid syntax'),
        ("99999999999999999999:00", 'strconv.Atoi: parsing "99999999999999999999": value out of range'),
    ],
)
def test_invalid_zones(zone, message):
    assert error("getHours", MOMENT, zone) == message


def test_the_first_and_the_last_moment_in_any_zone():
    assert civil(parse_timestamp("0001-01-01T00:00:00Z"), -3600)[:4] == (0, 12, 31, 23)
    assert civil(parse_timestamp("9999-12-31T23:59:59Z"), 3600)[:4] == (10000, 1, 1, 0)
    for moment in ("0001-01-01T00:00:00Z", "9999-12-31T23:59:59Z"):
        assert isinstance(call("getHours", parse_timestamp(moment), "Asia/Kolkata"), int)


def test_the_epoch_was_a_thursday():
    assert civil(Timestamp(0), 0).weekday == 4
    assert civil(Timestamp(-1), 0).nanosecond == 999_999_999
