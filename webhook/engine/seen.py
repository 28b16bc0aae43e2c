"""A memory of judgements: of the same object, beside the same others, none is made twice.

Children, pods and what is asked of nodes are remembered here. The key is made where the judgement is: it holds all that
the judgement reads of the object. What it reads of others is noted by the view, and compared when the answer is used.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple, TypeAlias

import orjson

from webhook.cluster import ClusterView, Notes
from webhook.facts.nodes import mapping

LIMIT: Final = 2 * 2**20
"""Bytes of JSON, and of what was said: of two hundred objects with 10 KB each."""
MOST: Final = 512
"""Objects. Each keeps what was read for it in memory, even after the cluster has another version of that."""

Key: TypeAlias = tuple[bytes | str | int, ...]
"""What identifies an object; the JSON is last. Without one, nothing is remembered."""

_READ: Final = ("namespace", "labels", "annotations")
"""The metadata that a judgement reads, beside the name."""


class _Judged(NamedTuple):
    verdict: Any
    same: tuple[object, ...]
    notes: Notes
    size: int


class Judgements:
    """What was said of objects, by their JSON, by values that are the same, and by what a view gave for them.

    A full memory is emptied; what another thread adds meanwhile may be lost.
    """

    def __init__(self) -> None:
        self.empty()

    def empty(self) -> None:
        """Remember nothing."""
        self._held, self._size = dict[tuple[object, ...], _Judged](), 0

    def __len__(self) -> int:
        return len(self._held)

    def verdict(self, key: Key, view: ClusterView, *same: object) -> Any:
        """What was said of an object; None if it is not remembered, or the view gives something else by now."""
        held = self._held.get((key, *map(id, same)))
        return held.verdict if held is not None and held.notes.is_same_in(view) else None

    def add(self, key: Key, notes: Notes, verdict: object, *same: object) -> None:
        """Remember what was said, not None. What is known by its identity is kept, so that nothing else gets it."""
        size = sum(len(part) for part in key if isinstance(part, bytes)) + len(repr(verdict))
        if not key[-1] or size > LIMIT:
            return
        if self._size + size > LIMIT or len(self._held) >= MOST:
            self.empty()
        identified = (key, *map(id, same))
        before = self._held.get(identified)
        self._size += size - (0 if before is None else before.size)
        self._held[identified] = _Judged(verdict, same, notes, size)


RIGHT: Final = Judgements()
"""Parts of objects, and objects that an operator makes, in which Kubernetes found no fault."""


def nameless(obj: dict[str, Any]) -> bytes:
    """What identifies an object for rules, pods and nodes, but for its name.

    An object that an operator makes needs its name and all metadata in its key: Kubernetes judges them, too.
    """
    metadata = mapping(obj, "metadata")
    return json_of(
        [(key, part) for key, part in obj.items() if key != "metadata"], [metadata.get(key) for key in _READ]
    )


def json_of(*values: Any) -> bytes:
    """What identifies values; empty for those that have no JSON."""
    try:
        return orjson.dumps(values)
    except TypeError:  # an integer of more than 64 bits, or half of a surrogate pair
        return b""
