"""Reading a member of a value whose schema is not known: ``a.b``, ``a[b]``, ``has(a.b)``.

The rules of cel-go's qualifiers (``interpreter/attributes.go``). Each function takes the
value and the key and returns the member; ``find_*`` return :data:`ABSENT` where it is not
there, and raise where the question itself is wrong (a list asked for a string index).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from webhook.cel.errors import CelError
from webhook.cel.types import Type
from webhook.cel.values.natives import Empty
from webhook.cel.values.scalars import go_type
from webhook.cel.values.schema_aware import Struct, reveal
from webhook.cel.values.value import (
    FALSE_KEY,
    TRUE_KEY,
    Duration,
    Opt,
    Timestamp,
    UInt,
    map_key,
    type_name,
    type_of_value,
)
from webhook.golang.strconv import shortest

__all__ = ["ABSENT", "find", "key_text", "member", "missing"]

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
        return go_type(key)
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
