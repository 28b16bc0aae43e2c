"""Text in double quotes as Go's ``strconv.Quote`` and ``%q`` write it."""

from __future__ import annotations

from typing import Final

__all__ = ["quoted"]

_GO_ESCAPES: Final = {
    "\a": "\\a",
    "\b": "\\b",
    "\f": "\\f",
    "\n": "\\n",
    "\r": "\\r",
    "\t": "\\t",
    "\v": "\\v",
    "\\": "\\\\",
    '"': '\\"',
}


def quoted(text: str) -> str:
    """Go's ``%q``."""
    if text.isprintable() and '"' not in text and "\\" not in text:
        return f'"{text}"'
    return '"' + "".join(map(_quoted_rune, text)) + '"'


def _quoted_rune(rune: str) -> str:
    escape = _GO_ESCAPES.get(rune)
    if escape is not None:
        return escape
    if rune.isprintable():
        return rune
    code = ord(rune)
    if code < 0x80:
        return f"\\x{code:02x}"
    if 0xDC80 <= code < 0xDD00:
        return f"\\x{code - 0xDC00:02x}"  # a byte that is no UTF-8, as surrogateescape decodes it
    if 0xD800 <= code < 0xE000:
        return "\\ufffd"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
