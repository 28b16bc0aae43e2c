"""A valid time is one that Go's ``metav1.Time`` reads."""

import pytest

from webhook.facts.llmaz import moment_error


@pytest.mark.parametrize(
    "text",
    [
        "2024-05-01T10:00:00Z",
        "2024-05-01T10:00:00.123456789Z",
        "2024-05-01T10:00:00+08:00",
        "1969-12-31T23:59:59-05:00",
        "2024-02-29T00:00:00Z",
        "0000-02-29T00:00:00Z",
        "0001-01-01T00:00:01Z",
        "0001-01-01T00:00:00.5Z",
        "9999-12-31T23:59:59Z",
    ],
)
def test_a_valid_time(text: str) -> None:
    assert moment_error(text) == ""


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "is not a valid time;"),
        ("yesterday", "is not a valid time;"),
        ("2024-05-01", "is not a valid time;"),
        ("2024-05-01 10:00:00Z", "is not a valid time;"),
        ("2024-05-01T10:00:00", "is not a valid time;"),
        ("2024-05-01T10:00:00z", "is not a valid time;"),
        ("2024-05-01T10:00:00Z\n", "is not a valid time;"),
        ("٢٠٢٤-05-01T10:00:00Z", "is not a valid time;"),
        ("2024-13-01T10:00:00Z", "has a date that does not exist"),
        ("2024-02-30T10:00:00Z", "has a date that does not exist"),
        ("2023-02-29T10:00:00Z", "has a date that does not exist"),
        ("2024-05-00T10:00:00Z", "has a date that does not exist"),
        ("2024-05-01T24:00:00Z", "out of range"),
        ("2024-05-01T10:00:60Z", "out of range"),
        ("2024-05-01T10:00:00+25:00", "out of range"),
        ("0001-01-01T00:00:00Z", "means unset"),
        ("0001-01-01T01:00:00+01:00", "means unset"),
        ("0001-01-01T00:00:00.000Z", "means unset"),
    ],
)
def test_an_invalid_time(text: str, reason: str) -> None:
    assert reason in moment_error(text)
