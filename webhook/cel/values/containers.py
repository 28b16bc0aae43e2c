"""Lists and maps: ``c[k]``, ``c[?k]``, ``in`` and ``size``."""

from __future__ import annotations

from typing import Any

from webhook.cel.errors import CelError
from webhook.cel.values.value import (
    INT_MAX,
    INT_MIN,
    NONE,
    RECEIVERS,
    Comparison,
    Opt,
    UInt,
    map_key,
    type_name,
    type_of_value,
)
from webhook.golang.strconv import shortest

__all__ = ["contains", "go_value", "index", "list_index", "optional_index", "size"]


def index(container: Any, key: Any) -> Any:
    """``container[key]``.

    Raises:
        CelError: "no such key: …" or "index out of bounds: …".
    """
    if container.__class__ is Opt:
        return optional_index(container, key)
    if isinstance(container, list):
        position = list_index(key)
        if 0 <= position < len(container):
            return container[position]
        raise CelError(f"index out of bounds: {go_value(key)}")
    if isinstance(container, dict):
        found = map_key(key)
        if found in container:
            return container[found]
    raise CelError(f"no such key: {go_value(key)}")


def optional_index(container: Any, key: Any) -> Opt:
    """``container[?key]`` and ``container.?key``: what is there, as an optional; an optional container is opened."""
    if container.__class__ is Opt:
        return optional_index(container.value, key) if container.present else NONE
    if isinstance(container, list):
        position = list_index(key)
        return Opt.of(container[position]) if 0 <= position < len(container) else NONE
    if isinstance(container, dict):
        found = map_key(key)
        return Opt.of(container[found]) if found in container else NONE
    return NONE


def list_index(key: Any) -> int:
    """The position that a value means: an integer, or a number of another type that is one."""
    if key.__class__ is int:
        return int(key)
    if key.__class__ is UInt and key <= INT_MAX:
        return int(key)
    if key.__class__ is float and key.is_integer() and INT_MIN < key < INT_MAX:
        return int(key)
    if key.__class__ in (float, UInt):
        raise CelError(f"unsupported index value {go_value(key)} in list")
    raise CelError(f"unsupported index type '{type_name(type_of_value(key))}' in list")


def contains(element: Any, container: Any, comparison: Comparison | None = None) -> bool:
    """``element in container``; a ``comparison`` counts the steps of several of these."""
    if isinstance(container, dict):
        return map_key(element) in container
    if isinstance(container, list):
        if element.__class__ is str:
            return element in container  # no value of another type equals a string
        holds = (comparison or Comparison()).holds
        return any(holds(element, item) for item in container)
    raise CelError("no such overload")


def size(value: Any) -> int:
    if isinstance(value, (str, bytes, list, dict)):
        return len(value)
    raise CelError("no such overload" if value.__class__ in RECEIVERS else "no such overload: size")


def go_value(value: Any) -> str:
    """A value in an error message, as Go prints it with ``%v``."""
    if value.__class__ is bool:
        return "true" if value else "false"
    if value is None:
        return "0"  # protobuf's NULL_VALUE
    if value.__class__ is float:
        return shortest(value)
    return str(int(value)) if value.__class__ is UInt else str(value)
