"""Text of users, made short and plain before it is shown, printed or logged."""

from __future__ import annotations

import re
from typing import Final

from webhook.golang.credentials import masked
from webhook.golang.strconv import quote

_CONTROL: Final = re.compile(
    "[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u206f\ufeff\ufff9-\ufffb\ufffe\uffff"
    "\ud800-\udfff\U000e0000-\U000e007f]"
)
"""Control characters, line separators, characters that reverse the direction of text or hide it, what XML cannot have,
and half surrogate pairs. Other spaces and marks stay: texts in many languages need them.
"""


def cut_end(text: str, length: int) -> str:
    """At most this many characters; the last is "…" if some are cut.

    Credentials are hidden before, because half of one could not be recognised.
    """
    return text if len(text) <= length else f"{masked(text)[: length - 1]}…"


def escaped(text: str) -> str:
    """The text with control characters escaped as Go's ``%q`` does: for a place, which has no credentials."""
    return text if text.isprintable() else _CONTROL.sub(lambda control: quote(control[0])[1:-1], text)


def one_line(text: str) -> str:
    """The text with credentials hidden and control characters escaped.

    Every text that quotes a user passes it, on its way to a reply, an object of the cluster, a terminal or a log: names
    that a user chooses cannot forge lines then, and colours cannot hide text. A second pass changes nothing.
    """
    return escaped(masked(text))
