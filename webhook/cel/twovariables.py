"""What the macros over two variables need at run time: ``cel.@mapInsert`` (cel-go's extension)."""

from __future__ import annotations

from typing import Any, Final

from webhook.cel.errors import CelError
from webhook.cel.operators import go_value
from webhook.cel.overload import Overload, free
from webhook.cel.types import map_of, param
from webhook.cel.values import from_map_key, map_key

__all__ = ["TWO_VARIABLES", "insert_all_into", "insert_into"]


def insert_into(target: dict[Any, Any], key: Any, value: Any) -> None:
    """Add an entry to a map that is being built; a backend that owns the map may call this instead.

    Raises:
        CelError: the key is there already.
    """
    found = map_key(key)
    if found in target:
        raise CelError(f"insert failed: key {go_value(key)} already exists")
    target[found] = value


def insert_all_into(target: dict[Any, Any], entries: dict[Any, Any]) -> None:
    """Add every entry of another map; raises as :func:`insert_into`."""
    for key, value in entries.items():
        insert_into(target, from_map_key(key), value)


def insert(target: dict[Any, Any], key: Any, value: Any) -> dict[Any, Any]:
    result = dict(target)
    insert_into(result, key, value)
    return result


def insert_all(target: dict[Any, Any], entries: dict[Any, Any]) -> dict[Any, Any]:
    result = dict(target)
    insert_all_into(result, entries)
    return result


_K, _V = param("K"), param("V")
_MAP: Final = map_of(_K, _V)

TWO_VARIABLES: Final[tuple[Overload, ...]] = (
    free("cel.@mapInsert", "@mapInsert_map_key_value", (_MAP, _K, _V), _MAP, insert),
    free("cel.@mapInsert", "@mapInsert_map_map", (_MAP, _MAP), _MAP, insert_all),
)
