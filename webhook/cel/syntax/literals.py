"""The values that CEL literals denote.

Escapes and newlines follow cel-go's ``parser/unescape.go``. The grammar accepts only literals,
so the functions here need not check the form.
"""

from __future__ import annotations

import math
import re

from webhook.cel.values.value import INT_MAX, INT_MIN, UINT_MAX, UInt

_SIMPLE = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
_ESCAPE = re.compile(r"\\([xX][0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|[0-3][0-7][0-7]|.)", re.DOTALL)
_DIGITS = 20  # more digits never fit 64 bits, and CPython refuses to convert very long numbers


def int_value(text: str) -> int:
    """``12``, ``-12`` or ``0x1f``; ValueError with cel-go's text if it does not fit 64 bits."""
    value = _integer(text)
    if value is None or not INT_MIN <= value <= INT_MAX:
        raise ValueError("invalid int literal")
    return value


def uint_value(text: str) -> UInt:
    """``12u``; ValueError if it does not fit 64 bits."""
    value = _integer(text[:-1])
    if value is None or value > UINT_MAX:
        raise ValueError("invalid uint literal")
    return UInt(value)


def _integer(text: str) -> int | None:
    sign, digits = (-1, text[1:]) if text.startswith("-") else (1, text)
    base = 16 if digits.startswith("0x") else 10
    significant = digits.removeprefix("0x").lstrip("0") or "0"
    return None if len(significant) > _DIGITS else sign * int(significant, base)


def float_value(text: str) -> float:
    """``1.5e3``; ValueError if it overflows."""
    value = float(text)
    if math.isinf(value):
        raise ValueError("invalid double literal")
    return value


def string_value(text: str) -> str:
    """A quoted string, raw or not; ValueError if an escape does not denote a character."""
    body, raw = _unquote(text)
    if raw or "\\" not in body:
        return body
    return _ESCAPE.sub(lambda match: _character(match[1]), body)


def bytes_value(text: str) -> bytes:
    """A bytes literal without its ``b``; hexadecimal and octal escapes are bytes, text is UTF-8."""
    body, raw = _unquote(text[1:])
    if raw or "\\" not in body:
        return body.encode(errors="surrogatepass")
    parts: list[bytes] = []
    end = 0
    for match in _ESCAPE.finditer(body):
        parts += body[end : match.start()].encode(errors="surrogatepass"), _octets(match[1])
        end = match.end()
    parts.append(body[end:].encode(errors="surrogatepass"))
    return b"".join(parts)


def _unquote(text: str) -> tuple[str, bool]:
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    raw = text[0] in "rR"
    quoted = text[1:] if raw else text
    width = 3 if len(quoted) >= 6 and quoted[:3] in ('"""', "'''") else 1
    return quoted[width:-width], raw


def _character(escape: str) -> str:
    code = _code(escape)
    if code is None:
        return _SIMPLE.get(escape, escape)
    if code > 0x10FFFF or 0xD800 <= code <= 0xDFFF:
        raise ValueError("invalid unicode code point")
    return chr(code)


def _octets(escape: str) -> bytes:
    if escape[0] in "uU":
        raise ValueError("unable to unescape string")
    code = _code(escape)
    return bytes((code,)) if code is not None else _SIMPLE.get(escape, escape).encode()


def _code(escape: str) -> int | None:
    """The number of a hexadecimal or octal escape; None for an escape with a letter or a sign."""
    if len(escape) == 1:
        return None
    return int(escape[1:], 16) if escape[0] in "xXuU" else int(escape, 8)
