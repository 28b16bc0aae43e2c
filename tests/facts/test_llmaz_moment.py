"""Times are those that Go's ``metav1.Time`` reads."""

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
def test_a_time(text: str) -> None:
    assert moment_error(text) == ""


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "is no time:"),
        ("yesterday", "is no time:"),
        ("2024-05-01", "is no time:"),
        ("2024-05-01 10:00:00Z", "is no time:"),
        ("2024-05-01T10:00:00", "is no time:"),
        ("2024-05-01T10:00:00z", "is no time:"),
        ("2024-05-01T10:00:00Z\n", "is no time:"),
        ("٢٠٢٤-05-01T10:00:00Z", "is no time:"),
        ("2024-13-01T10:00:00Z", "is no day"),
        ("2024-02-30T10:00:00Z", "is no day"),
        ("2023-02-29T10:00:00Z", "is no day"),
        ("2024-05-00T10:00:00Z", "is no day"),
        ("2024-05-01T24:00:00Z", "is no time of the day"),
        ("2024-05-01T10:00:60Z", "is no time of the day"),
        ("2024-05-01T10:00:00+25:00", "is no time of the day"),
        ("0001-01-01T00:00:00Z", "stands for no time"),
        ("0001-01-01T01:00:00+01:00", "stands for no time"),
        ("0001-01-01T00:00:00.000Z", "stands for no time"),
    ],
)
def test_no_time(text: str, reason: str) -> None:
    assert reason in moment_error(text)
