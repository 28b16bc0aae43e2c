"""The objects of all files of a workspace, as a cluster would store them. Those of one file change at a time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from webhook.cluster import ClusterView, Kind

_Name = tuple[str, str]
"""Namespace and name."""


class Held(NamedTuple):
    """An object, and the number of the ruling by which it is judged."""

    number: int
    value: dict[str, Any]


class Objects:
    """All objects, by the name of their file. Of two with one name, the one in the later file counts."""

    def __init__(self) -> None:
        self._files = dict[str, set[tuple[Kind, _Name]]]()
        self._held = dict[Kind, dict[_Name, dict[str, Held]]]()
        self._lists = dict[Kind, dict[tuple[int, str | None], Sequence[dict[str, Any]]]]()

    def replace(self, source: str, objects: Iterable[Held]) -> None:
        """Replace the objects of a file."""
        for kind, name in self._files.pop(source, ()):
            self._lists.pop(kind, None)
            homonyms = self._held[kind][name]
            homonyms.pop(source, None)
            if not homonyms:
                del self._held[kind][name]
        for held in objects:
            metadata = held.value["metadata"]
            kind = Kind(held.value["apiVersion"].rpartition("/")[0], held.value["kind"])
            name = (metadata.get("namespace", ""), metadata["name"])
            self._files.setdefault(source, set()).add((kind, name))
            self._held.setdefault(kind, {}).setdefault(name, {})[source] = held
            self._lists.pop(kind, None)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        names = (homonyms for objects in self._held.values() for homonyms in objects.values())
        return (held.value for homonyms in names for held in homonyms.values())

    def sources(self, kind: Kind, name: _Name) -> list[str]:
        """The files that have an object."""
        return [*self._held.get(kind, {}).get(name, ())]

    def view(self, number: int) -> ClusterView:
        """What a ruling sees: of two objects with one name, its own one."""
        return _View(self, number)

    def get(self, number: int, kind: Kind, name: _Name) -> dict[str, Any] | None:
        homonyms = self._held.get(kind, {}).get(name)
        return _chosen(homonyms, number) if homonyms else None

    def list(self, number: int, kind: Kind, namespace: str | None) -> Sequence[dict[str, Any]]:
        lists = self._lists.setdefault(kind, {})
        listed = lists.get((number, namespace))
        if listed is None:
            names = sorted(self._held.get(kind, {}).items())
            inside = (homonyms for (where, _), homonyms in names if namespace in {None, where})
            listed = [_chosen(homonyms, number) for homonyms in inside]
            lists[number, namespace] = listed
        return listed


def _chosen(homonyms: dict[str, Held], number: int) -> dict[str, Any]:
    if len(homonyms) == 1:
        return next(iter(homonyms.values())).value
    return max(homonyms.items(), key=lambda entry: (entry[1].number == number, entry[0]))[1].value


class _View:
    """The objects as a ruling sees them."""

    __slots__ = ("_number", "_objects")

    def __init__(self, objects: Objects, number: int) -> None:
        self._objects, self._number = objects, number

    def get(self, kind: Kind, namespace: str, name: str) -> dict[str, Any] | None:
        return self._objects.get(self._number, kind, (namespace, name))

    def list(self, kind: Kind, namespace: str | None = None) -> Sequence[dict[str, Any]]:
        return self._objects.list(self._number, kind, namespace)
