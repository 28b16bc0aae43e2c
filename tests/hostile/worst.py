"""The worst ways to make an object of each kind costly, as the search has found them (``worst.yaml``)."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from pathlib import Path

import yaml

from tests.hostile import bodies
from tests.hostile.attacks import Attack, attack
from tests.hostile.search import Found

FILE = Path(__file__).with_name("worst.yaml")
HEAD = "# Made by `python -m tests.hostile --parts small --write`: kind, then place and filling, the costliest first.\n"
KEPT = 2


@cache
def of(kind: str) -> tuple[Attack, ...]:
    """The worst attacks by a kind."""
    found = yaml.safe_load(FILE.read_text())[kind]
    return tuple(attack(kind, each["place"], each["filling"]) for each in found)


def write(found: Iterable[Found]) -> None:
    """Keep the worst of each kind that was searched; of each, ``found`` comes worst first."""
    kept: dict[str, list[dict[str, str]]] = {}
    for each in found:
        entry = {"place": str(each.attack.place), "filling": each.attack.filling}
        entries = kept.setdefault(bodies.name_of(each.attack.known), [])
        if entry not in entries and len(entries) < KEPT:
            entries.append(entry)
    FILE.write_text(HEAD + yaml.safe_dump({**yaml.safe_load(FILE.read_text()), **kept}))
    of.cache_clear()
