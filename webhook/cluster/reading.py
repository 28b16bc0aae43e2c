"""One request's way to see the cluster: from memory, and what memory does not know is read once, between two tries.

Facts are computed from memory and never wait. Where they asked for an object that memory does not
know, what they found is not used: the object is read from the API server, and they are computed anew.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from webhook.cluster.resource import is_name
from webhook.cluster.view import ClusterView, Kind

__all__ = ["ReadThrough", "Reading", "Reference"]


class Reference(NamedTuple):
    """An object by name; ``namespace`` is "" for cluster scope."""

    kind: Kind
    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.kind.kind} {self.namespace}/{self.name}" if self.namespace else f"{self.kind.kind} {self.name}"


class ReadThrough(ClusterView, Protocol):
    """A view that can look behind its memory."""

    def look(self, reference: Reference) -> tuple[bool, dict[str, Any] | None]:
        """Whether memory knows, and what; never blocks."""
        ...

    def listed(self, kind: Kind) -> bool:
        """Whether memory has once held all objects of the kind; never blocks."""
        ...

    def read(self, reference: Reference, timeout: float) -> dict[str, Any] | None:
        """The object as the API server has it, or None where it has none; blocks for ``timeout`` seconds at most.

        Raises:
            Unavailable: the API server does not say.
        """
        ...

    def unready(self) -> list[str]:
        """Why what memory holds should not be relied on; empty when it may."""
        ...


class Reading:
    """A ClusterView that notes what it could not answer.

    ``known`` is what has been read for this request already, so that every try gets further.
    """

    def __init__(self, view: ReadThrough, known: Mapping[Reference, dict[str, Any] | None]) -> None:
        self._view = view
        self._known = known
        self.unread: dict[Reference, None] = {}
        self.unlisted: dict[Kind, None] = {}

    def get(self, kind: Kind, namespace: str, name: str) -> dict[str, Any] | None:
        if not (isinstance(namespace, str) and is_name(name)):
            return None  # no such object can be, and its path could be that of something else
        reference = Reference(kind, namespace, name)
        if reference in self._known:
            return self._known[reference]
        sure, found = self._view.look(reference)
        if not sure:
            self.unread[reference] = None
        return found

    def list(self, kind: Kind, namespace: str | None = None) -> Sequence[dict[str, Any]]:
        if not self._view.listed(kind):
            self.unlisted[kind] = None
        return self._view.list(kind, namespace)
