"""Times and durations as package time reads them; every text and message is that of Go 1.26."""

import pytest

from webhook.golang.errors import GoError
from webhook.golang.time import DATE, DATE_TIME, RFC3339, Time, civil, format_rfc3339, parse, parse_duration


@pytest.mark.parametrize(
    ("text", "layout", "time"),
    [
        ("1970-01-01T00:00:00Z", RFC3339, Time(0)),
        ("1970-01-01T01:00:00.5+01:00", RFC3339, Time(0, 500_000_000, 3600)),
        ("1970-01-01T1:00:00,25Z", RFC3339, Time(3600, 250_000_000)),
        ("1970-01-01T00:00:00-24:60", RFC3339, Time(90_000, 0, -90_000)),
        ("0000-02-29", DATE, Time(-62_162_121_600)),
        ("9999-12-31T23:59:59.9", DATE_TIME, Time(253_402_300_799, 900_000_000)),
    ],
)
def test_a_time_is_parsed_by_its_layout(text, layout, time):
    assert parse(text, layout) == time


@pytest.mark.parametrize(
    ("text", "layout", "message"),
    [
        ("", DATE, 'parsing time "" as "2006-01-02": cannot parse "" as "2006"'),
        ("2024-5-01", DATE, 'parsing time "2024-5-01" as "2006-01-02": cannot parse "5-01" as "01"'),
        ("2024/05", DATE, 'parsing time "2024/05" as "2006-01-02": cannot parse "/05" as "-"'),
        ("2024-13-01", DATE, 'parsing time "2024-13-01": month out of range'),
        ("2023-02-29", DATE, 'parsing time "2023-02-29": day out of range'),
        ("2024-05-01 ", DATE, 'parsing time "2024-05-01 ": extra text: " "'),
        (
            "\u00fc\x7f\n",
            DATE,
            'parsing time "\\xc3\\xbc\x7f\\x0a" as "2006-01-02": cannot parse "\\xc3\\xbc\x7f\\x0a" as "2006"',
        ),
        ("2024-05-01T24:00:00", DATE_TIME, 'parsing time "2024-05-01T24:00:00": hour out of range'),
        (
            "2024-05-01T00:00:00+25:61",
            RFC3339,
            'parsing time "2024-05-01T00:00:00+25:61": time zone offset minute out of range',
        ),
        (
            "2024-05-01T00:00:00+25:x1",
            RFC3339,
            'parsing time "2024-05-01T00:00:00+25:x1": time zone offset hour out of range',
        ),
        (
            "2024-05-01T00:00:00+2:00",
            RFC3339,
            'parsing time "2024-05-01T00:00:00+2:00" as "2006-01-02T15:04:05Z07:00": cannot parse "+2:00" as "Z07:00"',
        ),
    ],
)
def test_errors_of_times(text, layout, message):
    with pytest.raises(GoError) as caught:
        parse(text, layout)
    assert caught.value.message == message


@pytest.mark.parametrize(
    ("time", "text"),
    [
        (Time(0, 120_000_000, -12_600), "1969-12-31T20:30:00.12-03:30"),
        (Time(-62_167_219_201), "-0001-12-31T23:59:59Z"),
        (Time(253_402_300_800), "10000-01-01T00:00:00Z"),
    ],
)
def test_times_are_printed(time, text):
    assert format_rfc3339(time) == text


def test_the_calendar_starts_before_the_epoch():
    assert civil(Time(-1))[:6] == (1969, 12, 31, 23, 59, 59)


def test_the_zero_time():
    assert parse("0001-01-01T01:00:00+01:00").is_zero
    assert not parse("0001-01-01T00:00:00.5Z").is_zero


@pytest.mark.parametrize(
    ("text", "ns"),
    [
        ("1h30m", 5_400_000_000_000),
        ("-.5us", -500),
        ("0", 0),
        ("+1\u00b5s", 1000),
        ("-9223372036854775808ns", -(2**63)),
        ("2562047h47m16.854775807s", 2**63 - 1),
        ("0.00000000000000000000000000000001h", 0),
    ],
)
def test_a_duration_is_parsed_to_nanoseconds(text, ns):
    assert parse_duration(text) == ns


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", 'time: invalid duration ""'),
        ("+", 'time: invalid duration "+"'),
        (".s", 'time: invalid duration ".s"'),
        ("1", 'time: missing unit in duration "1"'),
        ("1 day", 'time: unknown unit " day" in duration "1 day"'),
        ("9223372036854775808ns", 'time: invalid duration "9223372036854775808ns"'),
        ("99999999999999999999", 'time: invalid duration "99999999999999999999"'),
    ],
)
def test_errors_of_durations(text, message):
    with pytest.raises(GoError) as caught:
        parse_duration(text)
    assert caught.value.message == message
