"""kube-openapi's ``strfmt``: how the API server reads strings with a ``format``.

CEL values and schema checks share these functions; the checks of other formats are in
:mod:`webhook.schema.formats`. A parsing function raises :class:`GoError`.
"""

from __future__ import annotations

import base64
import re
from typing import Final

from webhook.golang import time
from webhook.golang.errors import GoError, readable
from webhook.golang.strconv import atoi
from webhook.golang.time import SECOND, Time

_UUID: Final = re.compile(r"[0-9a-f]{8}-?(?:[0-9a-f]{4}-?){3}[0-9a-f]{12}", re.IGNORECASE | re.ASCII)
_BYTE: Final = re.compile(r"(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=|[A-Za-z0-9+/]{4})")
_DATE: Final = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)
_CLOCK: Final = re.compile(r"(\d\d):(\d\d):(\d\d)(?:.\d+)?(?:z|[+-]\d\d:\d\d)", re.ASCII)


def is_uuid(text: str) -> bool:
    return _UUID.fullmatch(text) is not None


def is_byte(text: str) -> bool:
    """``IsBase64``: at least four characters."""
    return _BYTE.fullmatch(text) is not None


def parse_date(text: str) -> Time:
    return time.parse(text, time.DATE)


is_date: Final = readable(parse_date)


def is_datetime(text: str) -> bool:
    """``IsDateTime``: accepts any character before a fraction, and any offset of two digits each."""
    date, *clocks = text.lower().split("t")
    clock = _CLOCK.fullmatch(clocks[0]) if clocks else None
    return clock is not None and clock[1] <= "23" and clock[2] <= "59" and clock[3] <= "59" and is_date(date)


def parse_date_time(text: str) -> Time:
    """RFC 3339 with an optional zone; "" is the Unix epoch.

    Go tries several layouts and reports the error of the last one, which has no zone.
    """
    if not text:
        return Time(0)
    try:
        return time.parse(text, time.RFC3339)
    except GoError:
        return time.parse(text, time.DATE_TIME)


# The lookbehind keeps this linear: otherwise each digit of a long number starts another attempt.
_SPAN: Final = re.compile(r"(?<!\d)(\d+)[ \t\n\f\r]*([A-Za-z\u00b5]+)", re.ASCII)
_UNITS: Final = (
    (1, ("ns", "nano")),
    (1_000, ("us", "\u00b5s", "micro")),
    (1_000_000, ("ms", "milli")),
    (SECOND, ("s", "sec")),
    (60 * SECOND, ("m", "min")),
    (3600 * SECOND, ("h", "hr", "hour")),
    (86_400 * SECOND, ("d", "day")),
    (604_800 * SECOND, ("w", "wk", "week")),
)
"""Units, as in Scala. A unit may have more letters than its longest name here: ``days``, ``minutes``."""


def parse_duration(text: str) -> int:
    """A Go duration, otherwise the sum of all numbers with a unit (``2 days``), in nanoseconds."""
    try:
        return time.parse_duration(text)
    except GoError:
        pass
    spans = [(atoi(digits), name.lower()) for digits, name in _SPAN.findall(text)]
    parts = [
        count * unit
        for count, name in spans
        for unit, names in _UNITS
        for variant in names
        if name == variant or (variant is names[-1] and name.startswith(variant))
    ]
    if not parts:
        raise GoError(f"unable to parse {text} as duration")
    return (sum(parts) + 2**63) % 2**64 - 2**63  # Go's int64 wraps around here


_ALPHABET: Final = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_")
_URL_SAFE: Final = str.maketrans("-_+/", "+/--")  # strfmt decodes the URL-safe alphabet only
_DECODABLE: Final = re.compile("(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?")


def decode_base64(text: str) -> bytes:
    standard = text.replace("\r", "").replace("\n", "").translate(_URL_SAFE)
    if _DECODABLE.fullmatch(standard):  # Python also accepts padding after a complete text
        return base64.b64decode(standard)
    raise GoError(f"illegal base64 data at input byte {_corrupt_at(text.encode(errors='surrogatepass'))}")


def _corrupt_at(source: bytes) -> int:
    """The position where Go's base64 decoder stops; line breaks may split its groups of four characters."""
    place = decoded = 0
    while place < len(source):
        char = source[place]
        place += 1
        if char in _ALPHABET:
            decoded += 1
        elif char not in b"\r\n":
            return place - 1 if char != ord("=") or decoded % 4 < 2 else _after_padding(source, place, decoded % 4)
    return place - decoded % 4


def _after_padding(source: bytes, place: int, decoded: int) -> int:
    """The same after the first ``=``, which ends the text unless a second one must follow."""
    rest = len(source) - len(source[place:].lstrip(b"\r\n"))
    if decoded == 2 and rest < len(source):
        if source[rest] != ord("="):
            return rest - 1
        rest = len(source) - len(source[rest + 1 :].lstrip(b"\r\n"))
    return rest
