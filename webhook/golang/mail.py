"""``mail.ParseAddress`` of Go, only as a check."""

from __future__ import annotations

import re

__all__ = ["is_address"]

_ATEXT = r"[a-zA-Z0-9!#$%&'*+\-/=?^_`{|}~\u0080-\U0010ffff]"
_PHRASE = _ATEXT.replace("[", r"[. \t")
_ATOM = rf"{_ATEXT}+(?:\.{_ATEXT}+)*"
_QUOTED = r'"(?:[^"\\\x00-\x08\x0a-\x1f\x7f]++|\\[\x21-\x7e \t\u0080-\U0010ffff])*+"'
_DOMAIN = rf"(?:{_ATOM}|\[[^\[\]\\]*\])"
_SPEC = rf"(?:{_ATOM}|{_QUOTED})@{_DOMAIN}"
_is_spec = re.compile(rf"[ \t]*{_SPEC}[ \t]*").fullmatch
# Possessive quantifiers (++, *+): each text is tried in one way only.
_is_named = re.compile(rf"(?:{_PHRASE}++|{_QUOTED})*+<{_SPEC}>[ \t]*").fullmatch


def is_address(text: str) -> bool:
    """``a@b.c``, or with a display name ``Foo <a@b.c>``."""
    return _is_spec(text) is not None or _is_named(text) is not None
