"""The ClusterView protocol, the view that holds its objects in memory, and the names of resources and objects."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from operator import is_
from typing import Any, Final, NamedTuple, Protocol
from urllib.parse import quote

from webhook.ground.budget import Budget


class Kind(NamedTuple):
    """Group and kind, without version: references in the five APIs do not name one."""

    group: str
    kind: str


class Sought(Kind):
    """A kind that a reference of a policy reads: equal to the kind, and any kind at all.

    A live view lists such a kind on demand if it is not watched. Where the right to see it is missing,
    the view gives :data:`UNREADABLE`, and what reads it is not judged.
    """

    __slots__ = ()


NODE: Final = Kind("", "Node")
"""Nodes are kept as shapes: a list of them is a :class:`webhook.placement.NodeTable` in a live view."""


class Freshness(NamedTuple):
    """How current one kind of a view is: ``kind`` is group/Kind, ``silence`` the seconds since its last event (infinite
    before the first list), ``held`` the number of objects in memory.
    """

    kind: str
    silence: float
    held: int


class Unwatched(LookupError):
    """A kind is listed of which a live view reads single objects only."""


UNREADABLE: Final[dict[str, Any]] = {"apiVersion": "v1", "kind": "Status", "metadata": {}}
"""Stands for an object that the view has no right to read: it may exist."""
TOO_MANY: Final[dict[str, Any]] = {"apiVersion": "v1", "kind": "Status", "metadata": {}}
"""Stands for the objects of a :class:`Sought` kind, of which there are more than a view lists on demand."""


def is_unreadable(obj: dict[str, Any] | None) -> bool:
    return obj is UNREADABLE


class ClusterView(Protocol):
    """Other objects that facts and rules can read.

    Implementations answer from memory and must not block. Objects are shared and must not be changed. An API that is
    not installed has no objects; it is not an error.
    """

    def get(self, kind: Kind, namespace: str, name: str) -> dict[str, Any] | None:
        """The object, or None if there is none. ``namespace`` is "" for cluster scope."""
        ...

    def list(self, kind: Kind, namespace: str | None = None) -> Sequence[dict[str, Any]]:
        """All objects of the kind, in one namespace or (None) in all, ordered by namespace and name.

        Raises:
            Unwatched: the view reads objects of this kind by name only.
        """
        ...


class MemoryView:
    """A view of a fixed set of objects: from files, from cases, or empty (``MemoryView()``)."""

    def __init__(self, objects: Iterable[dict[str, Any]] = ()) -> None:
        self._objects: dict[Kind, dict[tuple[str, str], dict[str, Any]]] = {}
        for item in objects:
            kind = Kind(item["apiVersion"].rpartition("/")[0], item["kind"])
            metadata = item["metadata"]
            self._objects.setdefault(kind, {})[metadata.get("namespace", ""), metadata["name"]] = item
        self._lists: dict[tuple[Kind, str | None], Sequence[dict[str, Any]]] = {}  # made on demand

    def get(self, kind: Kind, namespace: str, name: str) -> dict[str, Any] | None:
        return self._objects.get(kind, {}).get((namespace, name))

    def list(self, kind: Kind, namespace: str | None = None) -> Sequence[dict[str, Any]]:
        found = self._lists.get((kind, namespace))
        if found is None:
            held = sorted(self._objects.get(kind, {}).items())
            found = [item for (where, _), item in held if namespace is None or where == namespace]
            self._lists[kind, namespace] = found
        return found


class Notes:
    """What was read of a view, by the arguments of the reading."""

    def __init__(self) -> None:
        self.objects: dict[tuple[Kind, str, str], dict[str, Any] | None] = {}
        self.lists: dict[tuple[Kind, str | None], Sequence[dict[str, Any]]] = {}

    def is_same_in(self, view: ClusterView) -> bool:
        """Whether a view gives the same objects for the same readings: these very ones."""
        for asked, given in self.objects.items():  # generators would take as long as the readings
            if view.get(*asked) is not given:
                return False
        return not self.lists or all(_are_same(view.list(*asked), given) for asked, given in self.lists.items())

    def names(self, name: str) -> bool:
        """Whether an object was asked for whose name has this one in it."""
        return any(name in asked for _, _, asked in self.objects)


def _are_same(objects: Sequence[dict[str, Any]], others: Sequence[dict[str, Any]]) -> bool:
    return objects is others or (len(objects) == len(others) and all(map(is_, objects, others)))


class NotedView:
    """A view that notes what is read of it."""

    __slots__ = ("_view", "notes")

    def __init__(self, view: ClusterView) -> None:
        self._view, self.notes = view, Notes()

    def get(self, kind: Kind, namespace: str, name: str) -> dict[str, Any] | None:
        given = self._view.get(kind, namespace, name)
        self.notes.objects[kind, namespace, name] = given
        return given

    def list(self, kind: Kind, namespace: str | None = None) -> Sequence[dict[str, Any]]:
        given = self._view.list(kind, namespace)
        self.notes.lists[kind, namespace] = given
        return given


class CountedView:
    """A view for the judgement of one object, which spends a step for each object that it gives."""

    __slots__ = ("_budget", "_view")

    def __init__(self, view: ClusterView, budget: Budget) -> None:
        self._view, self._budget = view, budget

    def get(self, kind: Kind, namespace: str, name: str) -> dict[str, Any] | None:
        self._budget.spend(1, kind.kind)
        return self._view.get(kind, namespace, name)

    def list(self, kind: Kind, namespace: str | None = None) -> Sequence[dict[str, Any]]:
        listed = self._view.list(kind, namespace)
        self._budget.spend(1 + len(listed), kind.kind)
        return listed


def is_name(name: object) -> bool:
    """Whether a name is a valid path segment (apimachinery, IsValidPathSegmentName)."""
    return isinstance(name, str) and 0 < len(name) <= 253 and name not in {".", ".."} and not {"/", "%"} & set(name)


@dataclass(frozen=True, slots=True, order=True)
class Key:
    """One object of a resource; ``namespace`` is "" for cluster scope."""

    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}" if self.namespace else self.name

    @classmethod
    def of(cls, obj: dict[str, Any]) -> Key:
        metadata = obj["metadata"]
        return cls(metadata.get("namespace", ""), metadata["name"])


@dataclass(frozen=True, slots=True)
class APIResource:
    """One served resource; ``group`` is "" for the core API. ``namespaced`` defaults to True."""

    group: str
    version: str
    plural: str
    kind: str
    namespaced: bool = field(default=True, compare=False)

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version

    def path(self, namespace: str = "", name: str = "", subresource: str = "") -> str:
        """The path of a collection (no name), an object, or its subresource; without a namespace, of all namespaces.

        Raises:
            ValueError: not a valid name, so that the path would be that of another resource.
        """
        if wrong := [each for each in (namespace, name) if each and not is_name(each)]:
            raise ValueError(f"{wrong[0]!r} is not a valid object name")
        root = f"/apis/{self.api_version}" if self.group else f"/api/{self.version}"
        inside = f"/namespaces/{quote(namespace, safe='')}" if namespace else ""
        tail = (part for part in (quote(name, safe=""), subresource) if part)
        return "/".join((f"{root}{inside}/{self.plural}", *tail))
