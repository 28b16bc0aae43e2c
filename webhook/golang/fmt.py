"""How Go reads and prints JSON values: ``strconv.Quote``, ``%v`` and ``encoding/json`` give error texts their looks."""

from __future__ import annotations

import json
import math
from decimal import Decimal
from typing import Any

__all__ = ["INT64", "GoStrings", "GoStruct", "float_text", "go_json", "go_numbers", "quote", "value_text"]

_ESCAPES = {"\a": "\\a", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\v": "\\v"}
_JSON_HTML = str.maketrans({"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"})


INT64 = range(-(2**63), 2**63)


class GoStrings(list[str]):
    """A ``[]string`` that is to be printed as Go source (``%#v``), and not as JSON."""

    def __str__(self) -> str:
        return f"[]string{{{', '.join(map(quote, self))}}}"


class GoStruct(dict[str, Any]):
    """A Go struct as ``encoding/json`` prints it without tags: its keys keep the order of its fields."""


def quote(text: str) -> str:
    """``text`` as ``strconv.Quote`` writes it: printable characters stay, the rest is escaped."""
    if text.isprintable() and '"' not in text and "\\" not in text and (text.isascii() or not _odd_spaces(text)):
        return f'"{text}"'
    return '"' + "".join(map(_quoted, text)) + '"'


def _odd_spaces(text: str) -> bool:
    return any(c.isspace() and c != " " for c in text)


def _quoted(char: str) -> str:
    if char in '"\\':
        return "\\" + char
    if char in _ESCAPES:
        return _ESCAPES[char]
    if char == " " or (char.isprintable() and not char.isspace()):
        return char
    code = ord(char)
    if code < 0x80:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def float_text(value: float, *, low: float = 1e-4, high: float = 1e21) -> str:
    """A float64 with the shortest digits, and an exponent below ``low`` and from ``high`` on."""
    if not math.isfinite(value):
        return "NaN" if math.isnan(value) else "+Inf" if value > 0 else "-Inf"
    number = Decimal(repr(value))
    if value and not low <= abs(value) < high:
        mantissa, _, exponent = format(number.normalize(), "e").partition("e")
        return f"{mantissa}e{exponent[0]}{exponent[1:].rjust(2, '0')}"
    text = format(number, "f")
    return text.rstrip("0").rstrip(".") if "." in text else text


def go_json(value: Any) -> str:
    """``json.Marshal``: compact, keys sorted, ``<``, ``>`` and ``&`` escaped, floats in Go's notation."""
    match value:
        case str():
            return json.dumps(value, ensure_ascii=False).translate(_JSON_HTML)
        case bool() | None | int():
            return json.dumps(value)
        case float():
            return _json_float(value)
        case list():
            return "[" + ",".join(map(go_json, value)) + "]"
        case dict():
            keys = value if isinstance(value, GoStruct) else sorted(value)
            return "{" + ",".join(f"{go_json(key)}:{go_json(value[key])}" for key in keys) + "}"
    raise TypeError(f"{type(value).__name__} is not a JSON value")


def _json_float(value: float) -> str:
    text = float_text(value, low=1e-6)
    # encoding/json writes e-9 where %v writes e-09.
    return text[:-2] + text[-1] if text[-4:-1] == "e-0" else text


def value_text(value: Any) -> str:
    """``%v`` of a scalar JSON value: floats have an exponent from a million on."""
    match value:
        case bool():
            return "true" if value else "false"
        case float():
            return float_text(value, high=1e6)
    return str(value)


def _float64(number: float) -> float:
    converted = number if type(number) is float else float(number)
    if not math.isfinite(converted):
        raise OverflowError(f"{converted} is no number of JSON")
    return converted


def go_numbers(value: Any) -> Any:
    """The value with integers beyond 64 bits as floats, as Go reads JSON; itself if there are none.

    Raises OverflowError for a number that is no float64, RecursionError for a value nested too deeply.
    """
    if type(value) is int and value in INT64:
        return value
    if type(value) is int or type(value) is float:
        return _float64(value)
    if type(value) is dict:
        changed = {key: new for key, item in value.items() if (new := go_numbers(item)) is not item}
        return value | changed if changed else value
    if type(value) is list:
        items = list(map(go_numbers, value))
        return items if any(new is not old for new, old in zip(items, value, strict=True)) else value
    return value
