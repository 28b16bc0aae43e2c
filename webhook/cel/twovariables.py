"""What the macros over two variables need at run time: ``cel.@mapInsert`` (cel-go's extension)."""

from __future__ import annotations

from typing import Any, Final

from webhook.cel.errors import CelError
from webhook.cel.operators import go_value
from webhook.cel.overload import Overload, free
from webhook.cel.types import map_of, param
from webhook.cel.values import from_map_key, map_key

__all__ = ["TWO_VARIABLES", "insert_into"]


def insert_into(target: dict[Any, Any], key: Any, value: Any) -> None:
    """Add an entry to a map that is being built; a backend that owns the map may call this instead.

    Raises:
        CelError: the key is there already.
    """
    found = map_key(key)
    if found in target:
        raise CelError(f"insert failed: key {go_value(key)} already exists")
    target[found] = value


class _Growing(dict[Any, Any]):
    """A map that a macro is still building: nothing else has it yet, so it may grow in place."""

    __slots__ = ()


def insert(target: dict[Any, Any], key: Any, value: Any) -> dict[Any, Any]:
    growing = target if target.__class__ is _Growing else _Growing(target)
    insert_into(growing, key, value)
    return growing


def insert_all(target: dict[Any, Any], entries: dict[Any, Any]) -> dict[Any, Any]:
    growing = target if target.__class__ is _Growing else _Growing(target)
    for key, value in entries.items():
        insert_into(growing, from_map_key(key), value)
    return growing


_K, _V = param("K"), param("V")
_MAP: Final = map_of(_K, _V)

TWO_VARIABLES: Final[tuple[Overload, ...]] = (
    free("cel.@mapInsert", "@mapInsert_map_key_value", (_MAP, _K, _V), _MAP, insert),
    free("cel.@mapInsert", "@mapInsert_map_map", (_MAP, _MAP), _MAP, insert_all),
)
