"""``yaml(text)`` and ``json(text)``: what a text says, as an optional value; none where it is not such a text.

Only Modelgate's policies have them. The text may come from any user: it is short, has no aliases, and what it says has
the types of JSON.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from datetime import date
from typing import Any, Final

import orjson

from webhook.cel.overload import Overload
from webhook.cel.types import DYN, STRING, optional_of
from webhook.cel.values.value import NONE, Opt

_LONGEST_YAML: Final = 16 << 10
"""Characters: read in Python's loader, 16 KiB take 20 ms."""
_LONGEST_JSON: Final = 256 << 10
_DEPTH: Final = 100
_EVENTS: Final = 5_000
"""Values, and begins and ends of lists and maps, of YAML."""
_UNITS: Final = {"yaml": 4, "json": 1}
"""Cost units for a character: a unit is 0.3 µs."""
_INTEGERS: Final = 1 << 63


class _NotJSONError(ValueError):
    """A value that JSON does not have."""


def _yaml(text: str) -> Opt:
    import yaml  # noqa: PLC0415 - most processes read no text of a rule, and load it later

    if len(text) > _LONGEST_YAML or "\0" in text:
        return NONE
    try:
        if not _is_simple(yaml.parse(text, Loader=yaml.CSafeLoader)):
            return NONE
        return Opt.of(_plain(yaml.load(text, Loader=yaml.CSafeLoader), _DEPTH))
    except (yaml.YAMLError, ValueError, RecursionError, OverflowError):
        return NONE


def _is_simple(events: Iterable[Any]) -> bool:
    """Whether a text has few values, no aliases, and is not deep: the loader goes down without a limit."""
    depth = 0
    for count, event in enumerate(events):
        name = type(event).__name__
        depth += name.endswith("StartEvent") - name.endswith("EndEvent")
        if name == "AliasEvent" or depth > _DEPTH or count > _EVENTS:
            return False
    return True


def _json(text: str) -> Opt:
    if len(text) > _LONGEST_JSON:
        return NONE
    try:
        return Opt.of(_plain(orjson.loads(text), _DEPTH))
    except (ValueError, RecursionError):
        return NONE


def _plain(value: Any, depth: int) -> Any:
    """A value with the types of JSON, as CEL has them."""
    if depth == 0:
        raise _NotJSONError
    if isinstance(value, dict):
        if not all(isinstance(key, str) for key in value):
            raise _NotJSONError
        return {key: _plain(item, depth - 1) for key, item in value.items()}
    if isinstance(value, list):
        return [_plain(item, depth - 1) for item in value]
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, float) and not math.isfinite(value):
        raise _NotJSONError
    if isinstance(value, int) and not -_INTEGERS <= value < _INTEGERS:
        raise _NotJSONError
    if value is not None and not isinstance(value, str | int | float):
        raise _NotJSONError
    return value


def _overload(name: str, read: Any) -> Overload:
    def checked(text: Any) -> Opt:
        opt: Opt = read(text) if isinstance(text, str) else NONE
        return opt

    def cost(args: tuple[Any, ...], _result: Any) -> int:
        return 1 + _UNITS[name] * len(args[0]) if isinstance(args[0], str) else 1

    return Overload(name, f"modelgate_{name}_string", (STRING,), optional_of(DYN), False, checked, cost)


TEXTS: Final[tuple[Overload, ...]] = (_overload("yaml", _yaml), _overload("json", _json))
