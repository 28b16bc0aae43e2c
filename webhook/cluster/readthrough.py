"""Read-through: one request's view of the cluster, from memory, with one read for each object that is missing there.

Facts are computed from memory and never wait. If they ask for an object that is not in memory, their result is
discarded: the object is read from the API server, and they are computed again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from webhook.cluster.resource import Key, is_name
from webhook.cluster.view import ClusterView, Kind


class Reference(NamedTuple):
    """An object by name; ``namespace`` is "" for cluster scope.

    Facts name no version, because any version serves, and read only the kinds that they declare. Admission policies
    read any kind, in a ``version``.
    """

    kind: Kind
    namespace: str
    name: str
    version: str = ""

    @property
    def key(self) -> Key:
        return Key(self.namespace, self.name)

    def __str__(self) -> str:
        return f"{self.kind.kind} {self.namespace}/{self.name}" if self.namespace else f"{self.kind.kind} {self.name}"


class ServedKind(NamedTuple):
    """Whether the API server serves a version of a kind; the answer says whether it is ``namespaced``."""

    kind: Kind
    version: str

    def __str__(self) -> str:
        return f"the scope of {self.kind.kind}"


class LabelSelection(NamedTuple):
    """The objects of a kind and version that match a label selector; the answer has ``items``."""

    kind: Kind
    version: str
    namespace: str
    selector: str

    def __str__(self) -> str:
        where = f" in {self.namespace}" if self.namespace else ""
        return f"every {self.kind.kind}{where} with {self.selector or 'any labels'}"


class AccessReview(NamedTuple):
    """A permission check: the ``spec`` of a SubjectAccessReview, as JSON; the answer is its status."""

    spec: str

    def __str__(self) -> str:
        return f"a SubjectAccessReview of {self.spec}"


ClusterQuestion = Reference | ServedKind | LabelSelection | AccessReview
ClusterAnswer = dict[str, Any] | None


class ReadThrough(ClusterView, Protocol):
    """A view that can read what is not in memory."""

    def cached(self, question: ClusterQuestion) -> tuple[bool, ClusterAnswer]:
        """Whether the answer is in memory, and the answer; never blocks."""
        ...

    def listed(self, kind: Kind) -> bool:
        """Whether all objects of the kind have been listed; never blocks."""
        ...

    def read(self, question: ClusterQuestion, timeout: float) -> ClusterAnswer:
        """The API server's answer, None if the object does not exist; blocks for ``timeout`` seconds at most.

        Raises:
            Unavailable: the API server does not answer.
        """
        ...

    def unready(self) -> list[str]:
        """Why the objects in memory may be out of date; empty if they are current."""
        ...


class RequestView:
    """A ClusterView that notes the questions it cannot answer.

    ``known`` is what has been read for this request already, so that each evaluation gets further.
    """

    def __init__(self, view: ReadThrough, known: Mapping[ClusterQuestion, ClusterAnswer]) -> None:
        self._view = view
        self._known = known
        self.unread: dict[ClusterQuestion, None] = {}
        self.unlisted: dict[Kind, None] = {}

    def get(self, kind: Kind, namespace: str, name: str) -> dict[str, Any] | None:
        if not (isinstance(namespace, str) and is_name(name)):
            return None  # not a valid name: its path could be that of another resource
        return self.ask(Reference(kind, namespace, name))

    def ask(self, question: ClusterQuestion) -> ClusterAnswer:
        """The answer; None if it is not known yet, which is noted in ``unread``."""
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
