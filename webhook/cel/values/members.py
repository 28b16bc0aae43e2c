"""Reading a member of a value whose schema is not known, and what else is asked of lists and maps.

``a.b``, ``a[b]`` and ``has(a.b)`` follow the rules of cel-go's qualifiers (``interpreter/attributes.go``). :func:`find`
returns :data:`ABSENT` where the member is not there, and raises where the question itself is wrong (a list asked for a
string index). ``c[k]``, ``c[?k]``, ``in`` and ``size``, as functions, follow the rules of its containers
(``common/types``).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from webhook.cel.errors import CelError
from webhook.cel.types import Type
from webhook.cel.values.natives import Empty
from webhook.cel.values.schema_aware import Struct, reveal
from webhook.cel.values.value import (
    FALSE_KEY,
    INT_MAX,
    INT_MIN,
    NONE,
    RECEIVERS,
    TRUE_KEY,
    Comparison,
    Duration,
    Opt,
    Timestamp,
    UInt,
    map_key,
    type_name,
    type_of_value,
)
from webhook.golang.fmt import type_text
from webhook.golang.strconv import shortest

ABSENT: Final = object()

_GO_TYPES: Final = {
    bytes: "types.Bytes",
    Timestamp: "types.Timestamp",
    Duration: "types.Duration",
    Opt: "*types.Optional",
    Type: "*types.Type",
}


def member(value: Any, key: Any) -> Any:
    """``value.key`` or ``value[key]``.

    Raises:
        CelError: "no such key: k", "index out of bounds: 3" and their like.
    """
    found = find(value, key)
    if found is ABSENT:
        raise missing(value, key)
    return found


def missing(value: Any, key: Any) -> CelError:
    if isinstance(value, list):
        return CelError(f"index out of bounds: {key_text(key)}")
    return CelError(f"no such key: {key_text(key)}")


def find(value: Any, key: Any) -> Any:
    """The member, or ABSENT; a value without members has none."""
    if not isinstance(key, (str, int, float)):
        raise CelError(f"invalid qualifier type: {_key_type(key)}")
    if isinstance(value, dict):
        return _find_in_map(value, key)
    if isinstance(value, list):
        return _find_in_list(value, key)
    if value.__class__ is Empty:
        raise CelError(f"no such field '{key_text(key)}'")
    if isinstance(value, Mapping):  # variables that are computed when they are read
        return value.get(key, ABSENT)
    return ABSENT


def _key_type(key: Any) -> str:
    """The Go type of a value that cannot be a key: JSON's own, or cel-go's."""
    if key is None or isinstance(key, (list, dict)):
        return type_text(key)
    return _GO_TYPES.get(key.__class__) or f"cel.{key.__class__.__name__}"


def _find_in_map(value: dict[Any, Any], key: Any) -> Any:
    if value.__class__ is dict:
        return value.get(key if key.__class__ is str else map_key(key), ABSENT)
    if key.__class__ is not str:
        raise CelError("no such overload")
    if isinstance(value, Struct):
        found = value.find(key)
        return ABSENT if found is None else reveal(found)
    return reveal(value.get(key, ABSENT))


def _find_in_list(value: list[Any], key: Any) -> Any:
    index = _index(key)
    return reveal(value[index]) if 0 <= index < len(value) else ABSENT


def _index(key: Any) -> int:
    if key.__class__ is int or key.__class__ is UInt:
        return int(key)
    if key.__class__ is float:
        if key.is_integer():
            return int(key)
        raise CelError(f"unsupported index value {shortest(key)} in list")
    raise CelError(f"unsupported index type '{type_name(type_of_value(key))}' in list")


def key_text(key: Any) -> str:
    """A key as Go's ``%v`` prints it."""
    if key is True or key is TRUE_KEY:
        return "true"
    if key is False or key is FALSE_KEY:
        return "false"
    if key.__class__ is float:
        return shortest(key)
    return str(int(key)) if key.__class__ is UInt else str(key)


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
