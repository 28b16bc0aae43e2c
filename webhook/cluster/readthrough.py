"""One request's way to see the cluster: from memory, and what memory does not know is read once, between two tries.

Facts are computed from memory and never wait. Where they asked for an object that memory does not
know, what they found is not used: the object is read from the API server, and they are computed anew.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from webhook.cluster.resource import is_name
from webhook.cluster.view import ClusterView, Kind

__all__ = [
    "AccessReview",
    "ClusterAnswer",
    "ClusterQuestion",
    "LabelSelection",
    "ReadThrough",
    "Reference",
    "RequestView",
    "ServedKind",
]


class Reference(NamedTuple):
    """An object by name; ``namespace`` is "" for cluster scope.

    Facts name no version, because any will do, and read only the kinds that they declare. What
    admission policies read may be of any kind, and has a ``version``.
    """

    kind: Kind
    namespace: str
    name: str
    version: str = ""

    def __str__(self) -> str:
        return f"{self.kind.kind} {self.namespace}/{self.name}" if self.namespace else f"{self.kind.kind} {self.name}"


class ServedKind(NamedTuple):
    """Whether the API server serves a version of a kind; the answer says whether it is ``namespaced``."""

    kind: Kind
    version: str

    def __str__(self) -> str:
        return f"the scope of {self.kind.kind}"


class LabelSelection(NamedTuple):
    """The objects of a version of a kind whose labels a selector selects: ``items``."""

    kind: Kind
    version: str
    namespace: str
    selector: str

    def __str__(self) -> str:
        where = f" in {self.namespace}" if self.namespace else ""
        return f"every {self.kind.kind}{where} with {self.selector or 'any labels'}"


class AccessReview(NamedTuple):
    """Whether somebody may do something: the ``spec`` of a SubjectAccessReview, as JSON; the answer is its status."""

    spec: str

    def __str__(self) -> str:
        return f"a SubjectAccessReview of {self.spec}"


ClusterQuestion = Reference | ServedKind | LabelSelection | AccessReview
ClusterAnswer = dict[str, Any] | None


class ReadThrough(ClusterView, Protocol):
    """A view that can look behind its memory."""

    def cached(self, question: ClusterQuestion) -> tuple[bool, ClusterAnswer]:
        """Whether memory knows, and what; never blocks."""
        ...

    def listed(self, kind: Kind) -> bool:
        """Whether memory has once held all objects of the kind; never blocks."""
        ...

    def read(self, question: ClusterQuestion, timeout: float) -> ClusterAnswer:
        """What the API server answers, None where there is no such thing; blocks for ``timeout`` seconds at most.

        Raises:
            Unavailable: the API server does not say.
        """
        ...

    def unready(self) -> list[str]:
        """Why what memory holds should not be relied on; empty when it may."""
        ...


class RequestView:
    """A ClusterView that notes what it could not answer.

    ``known`` is what has been read for this request already, so that every try gets further.
    """

    def __init__(self, view: ReadThrough, known: Mapping[ClusterQuestion, ClusterAnswer]) -> None:
        self._view = view
        self._known = known
        self.unread: dict[ClusterQuestion, None] = {}
        self.unlisted: dict[Kind, None] = {}

    def get(self, kind: Kind, namespace: str, name: str) -> dict[str, Any] | None:
        if not (isinstance(namespace, str) and is_name(name)):
            return None  # no such object can be, and its path could be that of something else
        return self.ask(Reference(kind, namespace, name))

    def ask(self, question: ClusterQuestion) -> ClusterAnswer:
        """The answer; None also where it is not known yet, which is noted."""
        if question in self._known:
            return self._known[question]
        sure, found = self._view.cached(question)
        if not sure:
            self.unread[question] = None
        return found

    def list(self, kind: Kind, namespace: str | None = None) -> Sequence[dict[str, Any]]:
        if not self._view.listed(kind):
            self.unlisted[kind] = None
        return self._view.list(kind, namespace)
