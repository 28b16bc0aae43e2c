"""Text of users, made short and plain before it is shown, printed or logged."""

from __future__ import annotations

import re
from typing import Final

from webhook.golang.credentials import masked

_CONTROL: Final = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ud800-\udfff]")
"""Control characters, line separators, characters that reverse the direction of text, and half surrogate pairs."""


def cut_end(text: str, length: int) -> str:
    """At most this many characters; the last is "…" if some are cut.

    Credentials are hidden before, because half of one could not be recognised.
    """
    return text if len(text) <= length else f"{masked(text)[: length - 1]}…"


def one_line(text: str) -> str:
    """The text with credentials hidden and control characters escaped.

    Names that a user chooses cannot forge lines then, and colours cannot hide text.
    """
    return _CONTROL.sub(_escaped, masked(text))


def _escaped(match: re.Match[str]) -> str:
    number = ord(match[0])
    return f"\\x{number:02x}" if number < 0x100 else f"\\u{number:04x}"
