"""The unknown values of all objects among the files, and which looks at other objects they hide."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from webhook.cluster import ClusterView, Kind
from webhook.library.apiserver.receive import kind_of
from webhook.library.unknown.substitution import Keys, unknown_in

__all__ = ["NAMES", "Watched", "World", "any_meet"]

NAMES: Final = (("metadata", "name"), ("metadata", "namespace"), ("metadata", "generateName"))
"""By which an object is looked up."""


@dataclass(frozen=True, slots=True)
class World:
    """The unknown values of all objects among the files: by kind, their paths."""

    unknown: Mapping[Kind, tuple[Keys, ...]] = field(default_factory=dict)

    def extended(self, values: Iterable[dict[str, Any]]) -> World:
        """This world and the unknown values of further objects."""
        found = dict(self.unknown)
        for value in values:
            if paths := unknown_in(value):
                kind = Kind(kind_of(value).group, kind_of(value).kind)
                found[kind] = (*found.get(kind, ()), *paths)
        return World(found)

    def hides(self, kind: Kind, read: Iterable[Keys]) -> bool:
        """Whether a look at these fields of the objects of a kind may find an unknown value, or miss an object."""
        return any_meet(self.unknown.get(kind, ()), (*NAMES, *read))


class Watched:
    """A view that remembers which kinds are looked up."""

    def __init__(self, view: ClusterView) -> None:
        self._view = view
        self.kinds: set[Kind] = set()

    def get(self, kind: Kind, namespace: str, name: str) -> dict[str, Any] | None:
        self.kinds.add(kind)
        return self._view.get(kind, namespace, name)

    def list(self, kind: Kind, namespace: str | None = None) -> Sequence[dict[str, Any]]:
        self.kinds.add(kind)
        return self._view.list(kind, namespace)


def any_meet(paths: Iterable[Keys], others: Sequence[Keys]) -> bool:
    """Whether one of the paths is at, above or below one of the others."""
    return any(_meet(path, other) for path in paths for other in others)


def _meet(one: Keys, other: Keys) -> bool:
    """Whether one path is at, above or below the other; ``*`` is any key."""
    return all(a == b or "*" in (a, b) for a, b in zip(one, other, strict=False))
