"""The floors of the house: the contracts of import-linter, and the table of docs/architecture.md."""

from __future__ import annotations

import re
import tomllib

from tests.house.tree import House

PAGE = "docs/architecture.md"


def contracts(house: House) -> list[set[str]]:
    """The rooms of each floor by pyproject.toml, the lowest first."""
    for contract in tomllib.loads(house.text("pyproject.toml"))["tool"]["importlinter"]["contracts"]:
        if contract["type"] == "layers" and contract.get("containers") == ["webhook"]:
            return [
                {f"webhook.{room.strip()}" for room in re.split("[:|]", layer)} for layer in contract["layers"][::-1]
            ]
    raise LookupError("pyproject.toml has no contract of layers for webhook")


def of_page(house: House) -> list[set[str]]:
    """The rooms of each floor by the page, the lowest first: rows ``| 3 | `webhook/cel` | …``."""
    floors: dict[int, set[str]] = {}
    for floor, room in re.findall(r"^\| (\d+) \| `([a-z/]+)` \|", house.text(PAGE), re.MULTILINE):
        floors.setdefault(int(floor), set()).add(room.replace("/", "."))
    assert sorted(floors) == list(range(1, len(floors) + 1)), f"{PAGE}: the floors are not numbered from 1"
    return [floors[floor] for floor in sorted(floors)]


def heights(house: House) -> dict[str, int]:
    """Room → floor. The front door is above all, and certs, which imports nothing, below all. Only the command line
    is above the reconciler.
    """
    floors = contracts(house)
    height = {room: floor for floor, rooms in enumerate(floors, 1) for room in rooms}
    top = len(floors)
    return {**height, "certs": 0, "reconciler": top - 1, "webhook": 0, "webhook.__main__": top, "modelgate": top + 1}
