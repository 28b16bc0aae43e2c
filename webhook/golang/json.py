"""Go's ``encoding/json``: how the API server reads numbers and text, and how it prints values."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable
from decimal import Decimal
from json.encoder import encode_basestring
from typing import Any, Final, NoReturn

import orjson

from webhook.golang.errors import GoError
from webhook.golang.regexp import compiled
from webhook.golang.strconv import INT64, plain, shortest

_HTML: Final = str.maketrans({char: f"\\u{ord(char):04x}" for char in "<>&\u2028\u2029"})
_SURROGATE: Final = re.compile("[\ud800-\udfff]")
_ESCAPED_SURROGATE: Final = re.compile(r"\\u[dD][89a-fA-F]")
_SHORT: Final = 18  # digits of an integer that certainly fits in 64 bits
_LONG: Final = 400  # digits that no float64 has
# A whole float, an exponent, or so many digits that the number may be rounded.
_DIGITS: Final = re.compile(rb"[0-9](?:\.0+(?![0-9])|[eE]|[0-9.]{16})")
_NUMBER: Final = compiled(r"(?:^|[:,\[\s])-?[0-9]+(?:\.0+(?:[^0-9]|$)|(?:\.[0-9]+)?[eE]|[0-9.]{16})")
# What orjson writes of a whole float: a point and one zero below 1e16, an exponent from there on. Each is looked for
# alone, because a pattern that starts with a literal is found five times as fast.
_WHOLE: Final = re.compile(rb"\.0(?:[,}\]]|\Z)").search
_EXPONENT: Final = re.escape(orjson.dumps(1e16)[1:-1])  # e1 or e+1, by its release
_LARGE: Final = re.compile(_EXPONENT + rb"[678](?:[,}\]]|\Z)").search


class GoStruct(dict[str, Any]):
    """A Go struct without field tags: its keys keep the order of the fields."""


def marshal(value: Any) -> str:
    """``json.Marshal``: compact, keys sorted, ``<``, ``>`` and ``&`` escaped, floats in Go's notation."""
    match value:
        case str():
            return encode_basestring(value).translate(_HTML)
        case bool() | None:
            return json.dumps(value)
        case int():
            return str(value)
        case float():
            return _float_text(value)
        case list():
            return "[" + ",".join(map(marshal, value)) + "]"
        case dict():
            keys = value if isinstance(value, GoStruct) else sorted(value)
            return "{" + ",".join(f"{marshal(key)}:{marshal(value[key])}" for key in keys) + "}"
    raise TypeError(f"{type(value).__name__} is not a JSON value")


def _float_text(value: float) -> str:
    """``encoding/json`` writes an exponent below 1e-6 and from 1e+21 on, and e-9 where ``%v`` writes e-09."""
    if not value or 1e-6 <= abs(value) < 1e21:
        return plain(value)
    text = shortest(value)
    return text[:-2] + text[-1] if text[-4:-1] == "e-0" else text


class ValueFault(GoError):
    """A value whose syntax is that of JSON, but which cannot be read; ``end`` is where it ends."""

    def __init__(self, message: str, end: int) -> None:
        super().__init__(message)
        self.end = end


def decode(text: str, start: int, depth: int) -> tuple[Any, int]:
    """``json.Decoder``: the value at ``start``, settled, and where it ends. Half of a surrogate pair is U+FFFD.

    Raises:
        ValueFault: a number does not fit in a float64, or an object has a key twice, of which Go takes the last.
        json.JSONDecodeError: it is not JSON.
        RecursionError: it has more levels than ``depth``, or than the stack allows.
    """
    try:
        value, end = _DECODER.raw_decode(text, start)
    except GoError as error:
        raise ValueFault(str(error), _SYNTAX.raw_decode(text, start)[1]) from None
    level = [value]
    for _ in range(depth):
        level = [item for each in level for item in _members(each) if isinstance(item, dict | list)]
    if level and level != [value]:
        raise RecursionError(f"nested more than {depth} levels deep")
    return settle(value) if _ESCAPED_SURROGATE.search(text, start, end) else value, end


def _members(value: Any) -> Iterable[Any]:
    return value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()


def _object(members: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(members)
    if len(found) < len(members):
        raise GoError("an object has a key twice")
    return found


def _integer(text: str) -> int | float:
    return int(text) if len(text) <= _SHORT else settle(int(text) if len(text) <= _LONG else _finite(text))


def _finite(text: str) -> int | float:
    number = float(text)
    if math.isinf(number):
        raise GoError(f"{text[:40]} is not a JSON number: it is out of range")
    return _settle_float(number)


def _no_constant(text: str) -> NoReturn:
    raise json.JSONDecodeError(f"{text} is not JSON", text, 0)


_DECODER: Final = json.JSONDecoder(
    object_pairs_hook=_object, parse_int=_integer, parse_float=_finite, parse_constant=_no_constant
)


_SYNTAX: Final = json.JSONDecoder(parse_int=str, parse_float=str, parse_constant=_no_constant)


def read_numbers(value: Any) -> Any:
    """``value`` with integers beyond 64 bits as floats, as Go reads JSON; ``value`` itself if it has no such integer.

    Raises:
        OverflowError: a number does not fit in a double.
        RecursionError: the value is nested too deeply.
    """
    if type(value) is dict:
        changed: dict[Any, Any] = {}
        _read(value.items(), changed)
        return value | changed if changed else value
    if type(value) is list:
        changed = {}
        _read(enumerate(value), changed)
        return [changed.get(index, item) for index, item in enumerate(value)] if changed else value
    if type(value) is int and value in INT64:
        return value
    return _float64(value) if type(value) is int or type(value) is float else value


def _read(members: Iterable[tuple[Any, Any]], changed: dict[Any, Any]) -> None:
    """Add the members that change. Most are texts, and need no call."""
    for key, item in members:
        if item.__class__ is not str:
            new = read_numbers(item)
            if new is not item:
                changed[key] = new


def _float64(number: float) -> float:
    converted = number if type(number) is float else float(number)
    if not math.isfinite(converted):
        raise OverflowError(f"{converted} is not a JSON number")
    return converted


def deep_equal(left: Any, right: Any) -> bool:
    """Go's ``reflect.DeepEqual``: 1, 1.0 and true are three values."""
    if left is right:
        return True
    if type(left) is not type(right):
        return False
    if isinstance(left, dict):
        return len(left) == len(right) and all(
            key in right and deep_equal(value, right[key]) for key, value in left.items()
        )
    if isinstance(left, list):
        return len(left) == len(right) and all(map(deep_equal, left, right))
    return bool(left == right)


def has_unsettled(text: bytes) -> bool:
    """Whether a JSON text may hold a number that :func:`settle` would change.

    The API server sends no such number, so scanning the text usually saves the walk. Most UUIDs have a digit before an
    "e", so a number is then looked for where one can stand. Text within strings can give a false positive.
    """
    return _DIGITS.search(text) is not None and _NUMBER(text, 0) is not None


def settled_text(value: Any, option: int = 0) -> bytes | None:
    """The value as orjson writes it, if :func:`settle` would not change it; None if that is not certain.

    ``option`` is for orjson. Not certain are integers beyond 53 bits, whole floats, and what orjson cannot write.
    """
    try:
        text = orjson.dumps(value, option=option | orjson.OPT_STRICT_INTEGER)
    except orjson.JSONEncodeError:
        return None
    return None if _WHOLE(text) or _LARGE(text) else text


def copied(value: Any) -> Any:
    """A copy of a list or an object, without recursion."""
    result = value.copy()
    todo = [result]
    while todo:
        each = todo.pop()
        for key, item in each.items() if each.__class__ is dict else enumerate(each):
            if item.__class__ is dict or item.__class__ is list:
                each[key] = item.copy()
                todo.append(each[key])
    return result


def settle(value: Any) -> Any:
    """The value as the API server would send it back.

    The API server reads a number as int64 if its text fits, otherwise as float64. It writes a whole
    float below 1e21 without a point: ``1.0`` and ``1e3`` come back as ``1`` and ``1000``. An integer
    beyond 64 bits loses its last digits (sigs.k8s.io/json, Go's encoding/json).
    """
    if isinstance(value, str):
        return value if value.isascii() else _SURROGATE.sub("\ufffd", value)
    if isinstance(value, dict):
        return {settle(key): settle(item) for key, item in value.items()}
    if isinstance(value, list):
        return [settle(item) for item in value]
    if isinstance(value, float):
        return _settle_float(value)
    if isinstance(value, int) and value not in INT64:
        return _settle_float(float(str(value)))  # float(value) would raise if it is too large; its text gives infinity
    return value


def _settle_float(value: float) -> float:
    """The int64 that a whole float becomes: the shortest digits that read back as the same float, padded with zeros."""
    if not value.is_integer():
        return value
    whole = int(Decimal(repr(value)))
    return whole if whole in INT64 else value
