"""What the macros over two variables need at run time: ``cel.@mapInsert`` (cel-go's extension)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from webhook.cel.errors import CelError
from webhook.cel.interpreter.frame import COST, Frame, Run
from webhook.cel.overload import Overload, free, no_overload
from webhook.cel.types import map_of, param
from webhook.cel.values.containers import go_value
from webhook.cel.values.value import from_map_key, map_key

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["TWO_VARIABLES", "insert_all_into", "insert_into", "insertion"]


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


def insertion(parts: list[Run]) -> Callable[[Frame, dict[Any, Any]], None]:
    """A call of ``cel.@mapInsert`` on a map that may grow in place; ``parts`` are key and value, or a map."""
    if len(parts) == 2:
        read_key, read_value = parts

        def insert(frame: Frame, built: dict[Any, Any]) -> None:
            key = read_key(frame)
            frame[COST] += 1  # also if the value is an error
            insert_into(built, key, read_value(frame))

        return insert

    (read_entries,) = parts

    def insert_entries(frame: Frame, built: dict[Any, Any]) -> None:
        frame[COST] += 1
        entries = read_entries(frame)
        if not isinstance(entries, dict):
            raise no_overload("cel.@mapInsert", (built, entries))
        insert_all_into(built, entries)

    return insert_entries


_K, _V = param("K"), param("V")
_MAP: Final = map_of(_K, _V)

TWO_VARIABLES: Final[tuple[Overload, ...]] = (
    free("cel.@mapInsert", "@mapInsert_map_key_value", (_MAP, _K, _V), _MAP, insert),
    free("cel.@mapInsert", "@mapInsert_map_map", (_MAP, _MAP), _MAP, insert_all),
)
