"""``'%s is %d'.format([a, b])``: cel-go's string.format as of version 2 of its string extension.

That version prints numbers by the rules of the locale en_US (``%f`` groups digits, ``%e`` is
written with a power of ten) and takes the precision of ``%e`` for a width, and so does
Kubernetes. :func:`interpolate` reads the format string for the checker as well, which
looks at types where :func:`format_string` looks at values.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Final

from webhook.cel.errors import BudgetExceeded, CelError
from webhook.cel.limits import STRING_LIMIT as _LIMIT
from webhook.cel.limits import Steps
from webhook.cel.types import Type
from webhook.cel.values import times
from webhook.cel.values.schema_aware import ABSENT, Struct
from webhook.cel.values.value import Duration, Timestamp, UInt, from_map_key, type_name, type_of_value
from webhook.golang import strconv

Render = Callable[[str, int | None, int], str]
"""(clause letter, precision, argument index) -> text; raises CelError for an argument it cannot print."""

CLAUSE_ERRORS: Final = {
    "s": "string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists, types, durations, "
    "and timestamps, was given {}",
    "d": "decimal clause can only be used on integers, was given {}",
    "f": "fixed-point clause can only be used on doubles, was given {}",
    "e": "scientific clause can only be used on doubles, was given {}",
    "b": "only integers and bools can be formatted as binary, was given {}",
    "x": "only integers, byte buffers, and strings can be formatted as hex, was given {}",
    "X": "only integers, byte buffers, and strings can be formatted as hex, was given {}",
    "o": "octal clause can only be used on integers, was given {}",
}
"""By clause, the error for an argument whose type it cannot print."""

_DEFAULT_PRECISION: Final = 6
_SUPERSCRIPTS: Final = str.maketrans(
    "0123456789-", "\u2070\u00b9\u00b2\u00b3\u2074\u2075\u2076\u2077\u2078\u2079\u207b"
)
_FLOAT_NAMES: Final = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}


def interpolate(text: str, count: int, render: Render, *, checking: bool = False) -> str:
    """Read a format string, rendering each clause with the next of ``count`` arguments.

    When ``checking``, an incomplete clause is reported before a missing argument, as cel-go's validator does.

    Raises:
        CelError: cel-go's text for a malformed clause, a missing argument, or an error of ``render``.
    """
    pieces: list[str] = []
    length = position = argument = 0
    while position < len(text):
        percent = text.find("%", position)
        if percent < 0:
            pieces.append(text[position:])
            break
        pieces.append(text[position:percent])
        if text.startswith("%%", percent):
            pieces.append("%")
            position = percent + 2
            continue
        incomplete = percent + 1 >= len(text)
        if argument >= count and not (checking and incomplete):
            raise CelError(f"index {argument} out of range")
        if incomplete:
            raise CelError("unexpected end of string")
        position, letter, precision = _clause(text, percent + 1)
        try:
            pieces.append(render(letter, precision, argument))
        except BudgetExceeded:
            raise
        except CelError as error:
            raise CelError(f"error during formatting: {error.message}") from None
        argument += 1
        length += len(pieces[-1])
        if length > _LIMIT:
            raise BudgetExceeded("operation cancelled: actual cost limit exceeded")
    return "".join(pieces)


def _clause(text: str, start: int) -> tuple[int, str, int | None]:
    position, precision = _precision(text, start)
    letter = text[position]
    if letter not in CLAUSE_ERRORS:
        first = letter.encode(errors="replace")[0]  # cel-go scans bytes
        raise CelError(f'could not parse formatting clause: unrecognized formatting clause "{chr(first)}"')
    return position + 1, letter, precision


def _precision(text: str, start: int) -> tuple[int, int | None]:
    if text[start] != ".":
        return start, None
    end = start + 1
    while end < len(text) and "0" <= text[end] <= "9":
        end += 1
    where = "could not parse formatting clause: error while parsing precision: "
    if end == len(text):
        raise CelError(where + "could not find end of precision specifier")
    digits = text[start + 1 : end]
    fault = "invalid syntax" if not digits else "value out of range" if len(digits.lstrip("0")) > 18 else None
    if fault:
        raise CelError(f'{where}error while converting precision to integer: strconv.Atoi: parsing "{digits}": {fault}')
    return end, int(digits)


def format_string(text: str, arguments: list[Any]) -> str:
    return interpolate(text, len(arguments), lambda letter, precision, i: _render(letter, precision, arguments[i]))


def _render(letter: str, precision: int | None, value: Any) -> str:
    rendered = _CLAUSES[letter](value, _DEFAULT_PRECISION if precision is None else precision)
    if rendered is None:
        raise CelError(CLAUSE_ERRORS[letter].format(type_name(type_of_value(value))))
    return rendered


def _string(value: Any, _precision: int = 0, members: _Members | None = None) -> str | None:
    if isinstance(value, str):
        return value
    if isinstance(value, (list, dict)):
        return (members or _Members()).text(value)
    return _scalar(value)


class _Members:
    """The texts of lists and maps, which values may share: each is made once, and all together are bounded."""

    def __init__(self) -> None:
        self._known: dict[int, str] = {}
        self._length = Steps(_LIMIT)

    def text(self, value: list[Any] | dict[Any, Any]) -> str:
        found = self._known.get(id(value))
        if found is None:
            made = _list(value, self) if isinstance(value, list) else _map(value, self)
            found = self._known[id(value)] = made
        return found

    def joined(self, texts: list[str]) -> str:
        """The texts with commas between them."""
        self._length.take(sum(map(len, texts)) + 2 * len(texts))
        return ", ".join(texts)


def _list(value: list[Any], members: _Members) -> str:
    return f"[{members.joined([_literal(member, members) for member in value])}]"


def _scalar(value: Any) -> str | None:
    if value is None:
        return "null"
    kind = value.__class__
    if kind is bool:
        return "true" if value else "false"
    if kind is float:
        return strconv.shortest(value)
    if kind is bytes:
        return _text_of(value)
    if kind is Timestamp:
        return times.format_timestamp(value)
    if kind is Duration:
        return times.format_duration(value)
    if kind is Type:
        return type_name(value)
    return _decimal(value)


def _text_of(value: bytes) -> str:
    try:
        return value.decode()
    except UnicodeDecodeError:
        fault = "invalid UTF-8 in bytes, cannot convert to string"
        raise CelError(f'could not convert argument "{fault}" to string') from None


def _literal(value: Any, members: _Members) -> str:
    """A value inside a list or a map, as it would be written in CEL."""
    kind = value.__class__
    if kind is float:
        special = math.isnan(value) or math.isinf(value)
        return strconv.quote(strconv.shortest(value)) if special else strconv.fixed(value, _DEFAULT_PRECISION)
    text = _string(value, members=members)
    if text is None:
        raise CelError(f"no formatting function for {type_name(type_of_value(value))}")
    if isinstance(value, str):
        return strconv.quote(text)
    if kind is bytes:
        return "b" + strconv.quote(text)
    if kind is Timestamp:
        return f"timestamp({strconv.quote(text)})"
    return f"duration({strconv.quote(text)})" if kind is Duration else text


def _map(value: dict[Any, Any], members: _Members) -> str:
    entries: list[tuple[str, str]] = []
    for key, member in value.met() if isinstance(value, Struct) else value.items():
        if member is ABSENT:
            raise CelError(f"could not find key: {strconv.quote(key)}")
        found = from_map_key(key)
        if found.__class__ not in (str, bool, int, UInt):
            raise CelError(f"no formatting function for map key of type {type_name(type_of_value(found))}")
        entries.append((_literal(found, members), _literal(member, members)))
    entries.sort(key=lambda entry: entry[0])
    return "{" + members.joined([f"{key}:{member}" for key, member in entries]) + "}"


def _integer(value: Any) -> int | None:
    return int(value) if value.__class__ is int or value.__class__ is UInt else None


def _decimal(value: Any, _precision: int = 0) -> str | None:
    number = _integer(value)
    return None if number is None else str(number)


def _binary(value: Any, _precision: int) -> str | None:
    number = int(value) if value.__class__ is bool else _integer(value)
    return None if number is None else f"{number:b}"


def _octal(value: Any, _precision: int) -> str | None:
    number = _integer(value)
    return None if number is None else f"{number:o}"


def _hex(value: Any, _precision: int) -> str | None:
    if isinstance(value, str):
        return value.encode(errors="replace").hex()
    if value.__class__ is bytes:
        return bytes(value).hex()
    number = _integer(value)
    return None if number is None else f"{number:x}"


def _upper_hex(value: Any, precision: int) -> str | None:
    text = _hex(value, precision)
    return None if text is None else text.upper()


def _float(value: Any) -> float | None:
    if value.__class__ is float:
        return value + 0.0  # x/text writes no sign before a zero
    return _FLOAT_NAMES.get(value) if value.__class__ is str else None


def _infinity(number: float) -> str | None:
    if math.isnan(number):
        return "NaN"
    if math.isinf(number):
        return "\u221e" if number > 0 else "-\u221e"
    return None


def _fixed(value: Any, precision: int) -> str | None:
    number = _float(value)
    if number is None:
        return None
    return _infinity(number) or f"{number:,.{precision % 256}f}"  # x/text keeps the precision in a byte


def _scientific(value: Any, width: int) -> str | None:
    number = _float(value)
    if number is None:
        return None
    text = _infinity(number)
    if text is None:
        mantissa, _, power = f"{number:.{_DEFAULT_PRECISION}e}".partition("e")
        text = f"{mantissa}\u00d710{power.lstrip('+').translate(_SUPERSCRIPTS)}"
    return text.rjust(width % 65_536)  # … and the width in two


_CLAUSES: Final[dict[str, Callable[[Any, int], str | None]]] = {
    "s": _string,
    "d": _decimal,
    "f": _fixed,
    "e": _scientific,
    "b": _binary,
    "x": _hex,
    "X": _upper_hex,
    "o": _octal,
}
