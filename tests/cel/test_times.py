import pytest

from tests.cel.calls import call, error
from webhook.cel.values.times import civil, format_duration, format_timestamp, parse_duration, parse_timestamp
from webhook.cel.values.value import Duration, Timestamp

S = 10**9
MOMENT = parse_timestamp("2020-06-15T12:34:56.789Z")


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


@pytest.mark.parametrize(
    ("function", "value"),
    [
        ("getFullYear", 2020),
        ("getMonth", 5),
        ("getDayOfYear", 166),
        ("getDayOfMonth", 14),
        ("getDate", 15),
        ("getDayOfWeek", 1),
        ("getHours", 12),
        ("getMinutes", 34),
        ("getSeconds", 56),
        ("getMilliseconds", 789),
    ],
)
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
    assert civil(Timestamp(0)).weekday == 4
    assert civil(Timestamp(-1)).nanosecond == 999_999_999
