"""Go's ``strconv``: read and print numbers, and quote text."""

from __future__ import annotations

import math
import re
import struct
from decimal import Decimal
from typing import Final

from webhook.golang.errors import GoError

INT64: Final = range(-(2**63), 2**63)
UINT64: Final = range(2**64)
SPACE: Final = (
    "\t\n\v\f\r \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000"
)
"""``unicode.IsSpace``, which ``strings.TrimSpace`` takes away; ``str.isspace`` accepts four more separators."""

# Possessive quantifiers (++, *+): with ordinary ones, two adjacent runs of digits take quadratic time.
_DECIMAL: Final = re.compile(r"[+-]?(?:\d++\.?+\d*+|\.\d++)(?:[eE][+-]?\d++)?", re.ASCII)
_HEX: Final = re.compile(r"([+-]?)0[xX]([0-9a-fA-F]*+)\.?+([0-9a-fA-F]*+)[pP]([+-]?\d+)", re.ASCII)
_UNDERSCORED: Final = re.compile(  # one underscore between digits, or after a base prefix
    r"[+-]?(?:(?:0[xX])(?:_?[0-9a-fA-F])*|\d(?:_?\d)*)?(?:\.(?:[0-9a-fA-F](?:_?[0-9a-fA-F])*)?)?(?:[eEpP][+-]?\d(?:_?\d)*)?",
    re.ASCII,
)
_DIGITS: Final = re.compile(r"\d+", re.ASCII)
_SPECIAL: Final = re.compile(r"([+-]?)(inf(?:inity)?)|nan", re.IGNORECASE | re.ASCII)
_SHORT_INTEGER: Final = 18  # digits of an integer that certainly fits in 64 bits
_INTEGER_DIGITS: Final = 20  # digits of the largest 64-bit integer, 18446744073709551615
_ESCAPES: Final = {
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


def quote(text: str) -> str:
    r"""``Quote`` and ``%q``: keep printable characters, escape others.

    A lone surrogate from U+DC80 to U+DCFF stands for a byte that is not UTF-8 (Python's ``surrogateescape``); it
    becomes ``\x80``. Any other lone surrogate is an invalid rune, which Go writes as ``\ufffd``.
    """
    if text.isprintable() and '"' not in text and "\\" not in text:
        return f'"{text}"'
    return '"' + "".join(map(_quote_rune, text)) + '"'


def _quote_rune(rune: str) -> str:
    if (escape := _ESCAPES.get(rune)) is not None:
        return escape
    if rune.isprintable():
        return rune
    code = ord(rune)
    if code < 0x80:
        return f"\\x{code:02x}"
    if 0xDC80 <= code < 0xDD00:
        return f"\\x{code - 0xDC00:02x}"
    if 0xD800 <= code < 0xE000:
        return "\\ufffd"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _special(value: float) -> str | None:
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "+Inf" if value > 0 else "-Inf"
    return None


def shortest(value: float) -> str:
    """``%g`` and ``%v``: the fewest digits that read back as the value; an exponent below 1e-4 and from 1e+06 on."""
    special = _special(value)
    if special is not None:
        return special
    sign, digits, point = _decompose(value)
    if -4 <= point - 1 < 6:
        return sign + _positional(digits, point)
    return sign + _scientific(digits, point - 1)


def shortest32(value: float) -> str:
    """``FormatFloat(value, 'g', -1, 32)``: as :func:`shortest`, with the fewest digits that read back as a float32."""
    try:
        single = _float32(value)
    except OverflowError:
        single = math.copysign(math.inf, value)
    if not math.isfinite(single):
        return shortest(single)
    texts = (f"{single:.{digits}e}" for digits in range(9))
    return shortest(float(next(text for text in texts if _float32(float(text)) == single)))


def _float32(value: float) -> float:
    return float(struct.unpack("f", struct.pack("f", value))[0])


def plain(value: float) -> str:
    """``FormatFloat(value, 'f', -1)``: the fewest digits, never an exponent."""
    special = _special(value)
    if special is not None:
        return special
    sign, digits, point = _decompose(value)
    return sign + _positional(digits, point)


def fixed(value: float, precision: int) -> str:
    """``%.{precision}f``."""
    return _special(value) or f"{value:.{precision}f}"


def exponent(value: float, precision: int) -> str:
    """``%.{precision}e``: the exponent has at least two digits, as in Python."""
    return _special(value) or f"{value:.{precision}e}"


def _decompose(value: float) -> tuple[str, str, int]:
    """Sign, digits d1 d2 …, and the position of the point: value = 0.d1d2… x 10^point."""
    sign, digits, scale = Decimal(repr(value)).as_tuple()
    text = "".join(map(str, digits)).rstrip("0") or "0"
    point = len(digits) + int(scale) if text != "0" else 1
    return "-" if sign else "", text, point


def _positional(digits: str, point: int) -> str:
    if point <= 0:
        return "0." + "0" * -point + digits
    if len(digits) <= point:
        return digits + "0" * (point - len(digits))
    return f"{digits[:point]}.{digits[point:]}"


def _scientific(digits: str, power: int) -> str:
    fraction = f".{digits[1:]}" if len(digits) > 1 else ""
    return f"{digits[0]}{fraction}e{'-' if power < 0 else '+'}{abs(power):02d}"


def parse_float(text: str) -> float:
    """``ParseFloat(text, 64)``: decimal and hexadecimal notation, "inf" and "nan"; underscores between digits.

    Raises:
        GoError: "strconv.ParseFloat: …" for a syntax error, or a number too large for a double.
    """
    special = _SPECIAL.fullmatch(text)
    if special:
        return math.nan if special[2] is None else math.copysign(math.inf, -1 if special[1] == "-" else 1)
    value = _parse_finite(text)
    if value is None:
        raise _number_error("ParseFloat", text, "invalid syntax")
    if math.isinf(value):
        raise _number_error("ParseFloat", text, "value out of range")
    return value


def _parse_finite(text: str) -> float | None:
    """The number; infinity if it is too large for a double, None for a syntax error."""
    digits = text
    if "_" in text:
        if not _UNDERSCORED.fullmatch(text):
            return None
        digits = text.replace("_", "")
    if _DECIMAL.fullmatch(digits):
        return float(digits)
    match = _HEX.fullmatch(digits)
    if not match or not (match[2] or match[3]):
        return None
    try:
        return float.fromhex(digits)
    except OverflowError:
        return math.inf


def parse_int(text: str, function: str = "ParseInt") -> int:
    """``ParseInt(text, 10, 64)``.

    Raises:
        GoError: "strconv.ParseInt: …" for a syntax error, or more than 64 bits.
    """
    if len(text) <= _SHORT_INTEGER and text.isdigit() and text.isascii():
        return int(text)
    value = _parse_digits(text.removeprefix("-" if text.startswith("-") else "+"), text, function)
    value = -value if text.startswith("-") else value
    if value not in INT64:
        raise _number_error(function, text, "value out of range")
    return value


def atoi(text: str) -> int:
    """``Atoi``: as :func:`parse_int`, with "Atoi" in the error text."""
    return parse_int(text, "Atoi")


def parse_uint(text: str) -> int:
    """``ParseUint(text, 10, 64)``: no sign.

    Raises:
        GoError: "strconv.ParseUint: …" for a syntax error, or more than 64 bits.
    """
    return _parse_digits(text, text, "ParseUint")


def _parse_digits(digits: str, text: str, function: str) -> int:
    """The digits of ``text``. Go stops at the first digit that overflows and ignores the rest."""
    found = _DIGITS.match(digits)
    significant = found[0].lstrip("0") if found else ""
    if len(significant) > _INTEGER_DIGITS or int(significant or "0") not in UINT64:
        raise _number_error(function, text, "value out of range")
    if found is None or found.end() < len(digits):
        raise _number_error(function, text, "invalid syntax")
    return int(significant or "0")


def _number_error(function: str, text: str, fault: str) -> GoError:
    return GoError(f"strconv.{function}: parsing {quote(text)}: {fault}")
