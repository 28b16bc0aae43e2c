"""Go's ``mail.ParseAddress``, as a check without a result."""

from __future__ import annotations

import re
from functools import cache

__all__ = ["is_address"]

_ATEXT = r"[a-zA-Z0-9!#$%&'*+\-/=?^_`{|}~\u0080-\U0010ffff]"
_PHRASE = _ATEXT.replace("[", r"[. \t")
_ATOM = rf"{_ATEXT}+(?:\.{_ATEXT}+)*"
_QUOTED = r'"(?:[^"\\\x00-\x08\x0a-\x1f\x7f]++|\\[\x21-\x7e \t\u0080-\U0010ffff])*+"'
_DOMAIN = rf"(?:{_ATOM}|\[[^\[\]\\]*\])"
_SPEC = rf"(?:{_ATOM}|{_QUOTED})@{_DOMAIN}"


@cache
def _patterns() -> tuple[re.Pattern[str], re.Pattern[str]]:
    """An address, and one with a display name. Compiling them takes 30 ms, and few definitions have the format."""
    # Possessive quantifiers (++, *+) prevent backtracking.
    return re.compile(rf"[ \t]*{_SPEC}[ \t]*"), re.compile(rf"(?:{_PHRASE}++|{_QUOTED})*+<{_SPEC}>[ \t]*")


def is_address(text: str) -> bool:
    """``a@b.c``, or with a display name ``Foo <a@b.c>``."""
    return any(pattern.fullmatch(text) for pattern in _patterns())
