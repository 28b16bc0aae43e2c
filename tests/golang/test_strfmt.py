"""String formats as kube-openapi's strfmt reads them."""

import pytest

from webhook.golang import strfmt
from webhook.golang.errors import GoError
from webhook.golang.time import Time


def test_date_times():
    assert strfmt.parse_date_time("") == Time(0)
    assert strfmt.parse_date_time("1970-01-01T00:00:01") == Time(1)
    with pytest.raises(GoError, match=r'extra text: "Zz"$'):
        strfmt.parse_date_time("1970-01-01T00:00:01Zz")


@pytest.mark.parametrize(("text", "seconds"), [("2 days", 172_800), ("1h", 3600), ("1 hour and 2 minutes", 3720)])
def test_durations(text, seconds):
    assert strfmt.parse_duration(text) == seconds * 10**9


def test_a_duration_without_a_known_unit():
    with pytest.raises(GoError, match=r"^unable to parse 10 fortnights as duration$"):
        strfmt.parse_duration("10 fortnights")


def test_base64_is_url_safe():
    assert strfmt.decode_base64("_-8=") == b"\xff\xef"
    with pytest.raises(GoError, match=r"^illegal base64 data at input byte 0$"):
        strfmt.decode_base64("/+8=")
