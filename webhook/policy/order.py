"""The order of defaults: each comes after those that it reads. A cycle is an error."""

from __future__ import annotations

from collections.abc import Sequence
from graphlib import TopologicalSorter

from webhook.policy.reads import OBJECT, Keys, Reads

__all__ = ["in_order"]


def in_order(rules: Sequence[tuple[Keys, Reads]]) -> list[int]:
    """The indices of the rules, each (the path it sets, what it reads) after those it depends on.

    Independent rules keep their order. ``graphlib.CycleError`` names the indices of a cycle.
    """
    sorter: TopologicalSorter[int] = TopologicalSorter()
    for index, (path, reads) in enumerate(rules):
        inputs = [
            other for other, (set_there, _) in enumerate(rules) if set_there != path and (OBJECT, *set_there) in reads
        ]
        sorter.add(index, *inputs)
    sorter.prepare()
    found: list[int] = []
    while sorter.is_active():
        ready = sorted(sorter.get_ready())
        found += ready
        sorter.done(*ready)
    return found
