"""Numbers as Go's ``strconv`` reads and writes them."""

from __future__ import annotations

import math
import re
from decimal import Decimal
from typing import Final

__all__ = ["exponent", "fixed", "parse_float", "parse_int", "plain", "shortest"]

# Nothing is given back: of digits before and behind a point that is not there Python would try every border.
_DECIMAL: Final = re.compile(r"[+-]?(?:\d++\.?+\d*+|\.\d++)(?:[eE][+-]?\d++)?", re.ASCII)
_HEX: Final = re.compile(r"([+-]?)0[xX]([0-9a-fA-F]*+)\.?+([0-9a-fA-F]*+)[pP]([+-]?\d+)", re.ASCII)
_UNDERSCORED: Final = re.compile(  # one underscore between digits, or after a base prefix
    r"[+-]?(?:(?:0[xX])(?:_?[0-9a-fA-F])*|\d(?:_?\d)*)?(?:\.(?:[0-9a-fA-F](?:_?[0-9a-fA-F])*)?)?(?:[eEpP][+-]?\d(?:_?\d)*)?",
    re.ASCII,
)
_INTEGER: Final = re.compile(r"[+-]?\d+", re.ASCII)
_SPECIAL: Final = re.compile(r"([+-]?)(inf(?:inity)?)|nan", re.IGNORECASE | re.ASCII)
_DIGITS: Final = 800  # more than a double or a 64-bit integer can depend on


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
    """``%.{precision}e``: at least two digits of exponent, as in Python."""
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


def parse_float(text: str) -> float | None:
    """``ParseFloat``; None where Go has an error: bad syntax, or a number too large for a double."""
    special = _SPECIAL.fullmatch(text)
    if special:
        return math.nan if special[2] is None else math.copysign(math.inf, -1 if special[1] == "-" else 1)
    if "_" in text:
        if not _UNDERSCORED.fullmatch(text):
            return None
        text = text.replace("_", "")
    if _DECIMAL.fullmatch(text):
        value = float(text)
        return None if math.isinf(value) else value
    return _parse_hex(text)


def _parse_hex(text: str) -> float | None:
    match = _HEX.fullmatch(text)
    if not match or not (match[2] or match[3]):
        return None
    try:
        return float.fromhex(text)
    except OverflowError:
        return None


def parse_int(text: str) -> int | None:
    """``ParseInt(text, 10, …)`` without its range check; None for bad syntax or a hopeless length."""
    if _INTEGER.fullmatch(text) and len(text) < _DIGITS:
        return int(text)
    return None
