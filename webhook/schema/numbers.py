"""Numbers as in Go: int64 and float64, their conversions, and the numeric keywords."""

from __future__ import annotations

import math
import struct
from typing import Any

from webhook.golang.fmt import value_text
from webhook.golang.json import deep_equal
from webhook.golang.strconv import INT64
from webhook.schema.fielderror import ValidationResult, Violation
from webhook.schema.node import SchemaNode

_INT32 = range(-(2**31), 2**31)
_FORMATS = {"integer": ("int32", "int64"), "number": ("float", "double")}
_MAX_SAFE_INTEGER = float(2**53 - 1)
_KINDS = {str: "string", dict: "object", list: "array", bool: "boolean", int: "integer", float: "number"}


def kind_of(value: Any) -> str:
    """The JSON type of a value; not for null. In Go an integer beyond 64 bits is a float."""
    kind = _KINDS[type(value)]
    return "number" if kind == "integer" and value not in INT64 else kind


def is_float_integer(value: float) -> bool:
    """``IsFloat64AJSONInteger`` of swag: whole up to a relative error of 1e-9, and exact in a float64."""
    value = float(value)
    if not abs(value) <= _MAX_SAFE_INTEGER:  # NaN too
        return False
    whole = float(math.floor(abs(value) + 0.5))
    return abs(value) == whole or (whole != 0 and abs(abs(value) - whole) < 1e-9 * whole)


def to_int64(value: float) -> int:
    """Go's conversion on amd64: towards zero, out of range gives the smallest integer."""
    if not math.isfinite(value) or int(value) not in INT64:
        return INT64.start
    return int(value)


def convertible(value: Any, allowed: Any) -> bool:
    """Whether ``value``, converted to the Go type of ``allowed``, equals it. Null never does."""
    if value is None or allowed is None:
        return False
    kind, wanted = kind_of(value), kind_of(allowed)
    if kind == wanted:
        return deep_equal(value, allowed)
    match kind, wanted:
        case "integer", "number":
            return bool(float(value) == float(allowed))
        case "number", "integer":
            return bool(to_int64(value) == allowed)
        case "integer", "string":
            return bool(_rune(value) == allowed)
    return False


def _rune(code: int) -> str:
    """Go's ``string(i)``: one character; U+FFFD for an invalid code point."""
    valid = 0 <= code <= 0x10FFFF and not 0xD800 <= code <= 0xDFFF
    return chr(code) if valid else "\ufffd"


def check_number(node: SchemaNode, value: float, path: str, result: ValidationResult) -> None:
    """``numberValidator``: range of the format, multipleOf, minimum, maximum."""
    if kind_of(value) == "number":
        value = float(value)
    _check_range(node, value, "Checked", path, result)
    if node.multiple_of is not None:
        in_range = _check_range(node, node.multiple_of, "MultipleOf", path, result)
        _check_multiple(value, node.multiple_of, path, result, native=in_range)
    if node.minimum is not None:
        in_range = _check_range(node, node.minimum, "Minimum boundary", path, result)
        exclusive = node.exclusive_minimum
        _check_bound(value, node.minimum, "greater", path, result, exclusive=exclusive, native=in_range)
    if node.maximum is not None:
        in_range = _check_range(node, node.maximum, "Maximum boundary", path, result)
        exclusive = node.exclusive_maximum
        _check_bound(value, node.maximum, "less", path, result, exclusive=exclusive, native=in_range)


def _check_range(node: SchemaNode, value: float, what: str, path: str, result: ValidationResult) -> bool:
    """``IsValueValidAgainstRange``; a bound of the schema is checked like a value."""
    kind = node.types[0] if len(node.types) == 1 else ""
    form = node.format if node.format in _FORMATS.get(kind, ()) else ""
    if kind == "integer":
        whole = isinstance(value, int) or value == math.floor(value)
        fits = whole and int(value) in (_INT32 if form == "int32" else INT64)
    else:
        fits = form != "float" or _fits_float32(value)
    if not fits:
        suffix = f"with format {form}" if form else "(default format)"
        result.add(Violation("plain", path, f"{what} value must be of type {kind} {suffix} in {path}", None))
    return fits


def _fits_float32(value: float) -> bool:
    try:
        return math.isfinite(struct.unpack("f", struct.pack("f", value))[0])
    except OverflowError:
        return False


def _check_multiple(value: float, factor: float, path: str, result: ValidationResult, *, native: bool) -> None:
    if native and isinstance(value, int):
        factor = to_int64(factor)
        wrong = factor > 0 and value % factor != 0
    else:
        value = float(value)
        ratio = 1 / factor * value if 0 < factor < 1 else value / factor if factor > 0 else 0.0
        wrong = factor > 0 and not is_float_integer(ratio)
    if factor <= 0:
        text = f"factor MultipleOf declared for {path} must be positive: {value_text(factor)}"
        result.add(Violation("", path, text, factor))
    elif wrong:
        result.add(Violation("", path, f"{path} in body should be a multiple of {value_text(factor)}", value))


def _check_bound(
    value: float, bound: float, side: str, path: str, result: ValidationResult, *, exclusive: bool, native: bool
) -> None:
    """``side`` is where the value must be of the bound: greater or less."""
    value, bound = _same_kind(value, bound, native=native)
    beyond = value < bound if side == "greater" else value > bound
    if beyond or (exclusive and value == bound):
        than = f"{side} than" if exclusive else f"{side} than or equal to"
        result.add(Violation("", path, f"{path} in body should be {than} {value_text(bound)}", value))


def _same_kind(value: float, bound: float, *, native: bool) -> tuple[float, float]:
    """Both as int64 (the bound loses its fraction) or both as float64."""
    if native and isinstance(value, int):
        return value, to_int64(bound)
    return float(value), bound
