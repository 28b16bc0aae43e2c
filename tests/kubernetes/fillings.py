"""Items of lists and maps, from the schema of one: what costs most is many that are equal, wrong, or collide."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, Final, NamedTuple

from tests.hostile.places import Place, Schema

_DEEP: Final = 3
"""Objects below the item. Its lists are places of their own."""


class Text(str):
    """A text that is compared by a call, so that a search through a list takes steps that can be counted."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return str.__eq__(self, other) is True

    __hash__ = str.__hash__


class Filling(NamedTuple):
    """The text and the number of the item with an index."""

    text: Callable[[int], str]
    number: Callable[[int], int]


FILLINGS: Final = {
    "equal": Filling(lambda _: "a", lambda _: 80),
    "different": Filling(lambda index: f"a{index}", lambda index: 1 + index),
    "wrong": Filling(lambda index: f"A_{index}!", lambda index: -1 - index),
    "equal and wrong": Filling(lambda _: "A_!", lambda _: -1),
    "pairs": Filling(lambda index: f"a{index // 2}", lambda index: index // 2 % 30),
    "folders": Filling(lambda index: "a/" * (index % 7) + "b" * (index % 2), lambda index: index % 7),
    "folders of one file": Filling(
        lambda index: f"a{index}" if index % 2 else f"a{index - 1}/b", lambda index: index % 2
    ),
}


def items(place: Place, filling: Filling, count: int, kind: type[str] = str) -> Any:
    """A list or a map of so many items for a place. The texts are of this ``kind``."""
    below = place.schema.get("items", place.schema.get("additionalProperties"))
    made = [_item(below if isinstance(below, dict) else {}, filling, index, kind, 0) for index in range(count)]
    if place.schema.get("type") == "array":
        return made
    return {kind(f"{filling.text(index)}.{index}"): item for index, item in enumerate(made)}


def _item(schema: Schema, filling: Filling, index: int, kind: type[str], depth: int) -> Any:
    match schema.get("type"):
        case "string":
            return kind(filling.text(index))
        case "integer" | "number":
            return filling.number(index)
        case "boolean":
            return bool(index % 2)
        case "object" if depth < _DEEP and "properties" in schema:
            below = {key: _item(child, filling, index, kind, depth + 1) for key, child in schema["properties"].items()}
            return {key: item for key, item in below.items() if item is not None}
    return filling.number(index) if schema.get("x-kubernetes-int-or-string") else None


def calls(act: Callable[[], object]) -> int:
    """The calls that something takes, also those of functions in C: the same on each machine."""
    count = 0

    def counted(_frame: object, event: str, _argument: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(counted)
    try:
        act()
    finally:
        sys.setprofile(None)
    return count
