"""Read members of a JSON object as Go would decode them; a value of the wrong type counts as absent.

The schema of the definition refuses wrong types, so the rules for pods only must not fail on them.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Final

from webhook.golang.errors import GoError
from webhook.golang.json import GoStruct
from webhook.golang.quantity import Quantity, parse

Json = dict[str, Any]

_WRITTEN: Final = (str, int, float)
_USUAL: Final = 32  # characters of a quantity that is worth remembering


def text(value: Json, key: str) -> str:
    """A string, "" if there is none."""
    item = value.get(key)
    return item if isinstance(item, str) else ""


def number(value: Json, key: str) -> int | None:
    """An integer, which JSON may write as 1.0; None if there is none."""
    item = value.get(key)
    return item if type(item) is int else integer(item)


def integer(item: Any) -> int | None:
    """The integer that a float is."""
    return int(item) if isinstance(item, float) and item.is_integer() else None


def flag(value: Json, key: str) -> bool | None:
    item = value.get(key)
    return item if isinstance(item, bool) else None


def field(value: Json, key: str) -> Json | None:
    """An object, None if there is none."""
    item = value.get(key)
    return item if isinstance(item, dict) else None


def texts(value: Json, key: str) -> list[str]:
    """A list of strings, in which Go reads null as ""; [] if there is none."""
    items = value.get(key)
    return [item if isinstance(item, str) else "" for item in items] if isinstance(items, list) else []


def structs(value: Json, key: str) -> Sequence[tuple[int, Json]]:
    """The objects of a list with their indexes; Go reads null as an empty one."""
    items = value.get(key)
    if not isinstance(items, list):
        return ()
    return [(index, item or {}) for index, item in enumerate(items) if item is None or isinstance(item, dict)]


def quantity(value: Any) -> Quantity | None:
    """A quantity, written as a string or a number, rounded up to a thousandth as the API server does."""
    if isinstance(value, bool) or not isinstance(value, _WRITTEN):
        return None
    text = value.strip() if isinstance(value, str) else str(integer(value) or value)
    return _remembered(text) if len(text) <= _USUAL else _read(text)


@lru_cache(1024)
def _remembered(text: str) -> Quantity | None:
    return _read(text)


def _read(text: str) -> Quantity | None:
    try:
        return parse(text).rounded_up(-3)
    except GoError:
        return None


def quantities(value: Json, key: str) -> dict[str, Quantity]:
    """The quantities of a ResourceList that can be read. Go reads null as 0."""
    amounts = {}
    for name, item in (field(value, key) or {}).items():
        amount = quantity(0 if item is None else item)
        if amount is not None:
            amounts[name] = amount
    return amounts


_SHORT: Final = (("gmsa", "GMSA"), ("seLinux", "SELinux"))
"""The beginnings of keys that Go writes in capitals."""


def go_struct(value: Json, keys: tuple[str, ...]) -> GoStruct:
    """The value as Go prints a struct without tags: with these keys of JSON, in their order, as Go names them."""
    return GoStruct({_go_name(key): value.get(key) for key in keys})


def _go_name(key: str) -> str:
    return next((key.replace(*begun) for begun in _SHORT if key.startswith(begun[0])), f"{key[0].upper()}{key[1:]}")
