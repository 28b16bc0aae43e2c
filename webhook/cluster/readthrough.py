"""Read-through: one request's view of the cluster, from memory, with one read for each object that is missing there.

Facts are computed from memory and never wait. If they ask for an object that is not in memory, their result is
discarded: the object is read from the API server, and they are computed again. Admission policies ask for objects of
any kind, scopes of kinds, and permissions.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple, Protocol
from urllib.parse import urlencode

import orjson

from webhook.cluster.api import Reader
from webhook.cluster.view import (
    TOO_MANY,
    UNREADABLE,
    APIResource,
    ClusterView,
    Key,
    Kind,
    Sought,
    is_name,
    is_unreadable,
)


class Reference(NamedTuple):
    """An object by name; ``namespace`` is "" for cluster scope.

    Facts name no version, because any version serves, and read only the kinds that they declare. Admission policies
    read any kind, in a ``version``. ``is_sought``: by a reference of a policy, see :class:`Sought`.
    """

    kind: Kind
    namespace: str
    name: str
    version: str = ""
    is_sought: bool = False

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
    """The objects of a kind and version that match a label selector; the answer has ``items``.

    Without a version they are of a :class:`Sought` kind, in any version, and the answer has :data:`MOST` at most.
    """

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

MOST: Final = 500
"""Objects of a :class:`Sought` kind that are listed on demand: at 10 KB each some MB, for a second."""

LISTED: Final = {
    Kind("", "LimitRange"): "v1",
    Kind("", "ResourceQuota"): "v1",
    Kind("resource.k8s.io", "DeviceClass"): "v1",
}
"""Kinds of which a view lists all objects, or those of a namespace, on demand; and their version."""

_OPTIONAL: Final = frozenset(
    [
        *LISTED,
        Kind("apiextensions.k8s.io", "CustomResourceDefinition"),
        Kind("node.k8s.io", "RuntimeClass"),
        Kind("scheduling.k8s.io", "PriorityClass"),
        Kind("storage.k8s.io", "StorageClass"),
    ]
)
_AUTOSCALER: Final = Reference(Kind("", "ConfigMap"), "kube-system", "cluster-autoscaler-status")


def is_optional(question: ClusterQuestion) -> bool:
    """Whether a question is about the surroundings of pods: without the right to ask it, nothing is said of them."""
    if isinstance(question, Reference):
        return not question.version and (question.kind in _OPTIONAL or question == _AUTOSCALER)
    return isinstance(question, LabelSelection) and question.kind in LISTED and not question.selector


def may_be_denied(question: ClusterQuestion) -> bool:
    """Whether the right to ask a question may be missing: then what reads the answer is not judged."""
    is_sought = isinstance(question, Reference) and question.is_sought
    return is_sought or is_optional(question) or (isinstance(question, LabelSelection) and not question.version)


class ReadThrough(ClusterView, Protocol):
    """A view that can read what is not in memory."""

    def cached(self, question: ClusterQuestion) -> tuple[bool, ClusterAnswer]:
        """Whether the answer is in memory, and the answer; never blocks."""
        ...

    def listed(self, kind: Kind) -> bool:
        """Whether all objects of the kind have been listed; never blocks."""
        ...

    def follows(self, kind: Kind) -> bool:
        """Whether all objects of the kind are in memory, once they have been listed."""
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
        return self.ask(Reference(kind, namespace, name, is_sought=isinstance(kind, Sought)))

    def ask(self, question: ClusterQuestion) -> ClusterAnswer:
        """The answer; None if it is not known yet, which is noted in ``unread``."""
        if question in self._known:
            return self._known[question]
        sure, found = self._view.cached(question)
        if not sure:
            self.unread[question] = None
        return found

    def list(self, kind: Kind, namespace: str | None = None) -> Sequence[dict[str, Any]]:
        if kind in LISTED or (isinstance(kind, Sought) and not self._view.follows(kind)):
            return self._on_demand(kind, namespace or "")
        if not self._view.listed(kind):
            self.unlisted[kind] = None
        return self._view.list(kind, namespace)

    def _on_demand(self, kind: Kind, namespace: str) -> Sequence[dict[str, Any]]:
        """The objects; only :data:`UNREADABLE` if they may not be read, or :data:`TOO_MANY`."""
        answer = self.ask(LabelSelection(kind, LISTED.get(kind, ""), namespace, ""))
        if is_unreadable(answer):
            return [UNREADABLE]
        if answer is TOO_MANY:
            return [TOO_MANY]
        listed = (answer or {}).get("items")
        return listed if isinstance(listed, list) else []


def find(api: Reader, kind: Kind, timeout: float | None = None, version: str = "") -> APIResource | None:
    """The resource of a kind in a version (default: any), or None if its API is not installed.

    Every authenticated caller may do this (ClusterRole system:discovery).

    Raises:
        ApiError: the API server does not answer, so the kind may or may not be installed.
    """
    for each in [version] if version else _versions(api, kind.group, timeout):
        path = f"/apis/{kind.group}/{each}" if kind.group else f"/api/{each}"
        served = api.document(path, timeout) or {}
        for resource in served.get("resources") or ():
            if resource["kind"] == kind.kind and "/" not in resource["name"]:  # not a subresource
                return APIResource(kind.group, each, resource["name"], kind.kind, resource.get("namespaced", True))
    return None


def _versions(api: Reader, group: str, timeout: float | None) -> list[str]:
    """The versions of a group, the preferred one first; the API server sorts the others by maturity."""
    if not group:
        return ["v1"]
    served = api.document(f"/apis/{group}", timeout) or {}
    preferred = (served.get("preferredVersion") or {}).get("version")
    versions: list[str] = [each["version"] for each in served.get("versions") or ()]
    return sorted(versions, key=lambda version: version != preferred)


MIN_TIMEOUT: Final = 0.01
"""Seconds: urllib3 rejects a timeout of zero."""


def ask(api: Reader, question: ClusterQuestion, timeout: float, clock: Callable[[], float]) -> ClusterAnswer:
    """The answer, within ``timeout`` seconds.

    Raises:
        ApiError: the API server refuses or does not answer.
    """
    end = clock() + timeout
    if isinstance(question, AccessReview):
        return api.review(orjson.loads(question.spec), timeout)
    resource = find(api, question.kind, timeout, question.version)
    if resource is None:
        return None
    if isinstance(question, ServedKind):
        return {"namespaced": resource.namespaced}
    left = max(MIN_TIMEOUT, end - clock())
    if isinstance(question, LabelSelection):
        return _selected(api, question, resource, left)
    return api.get(resource, question.namespace, question.name, left)


def _selected(api: Reader, selection: LabelSelection, resource: APIResource, timeout: float) -> ClusterAnswer:
    if selection.namespace and not is_name(selection.namespace):
        return None
    query = {"labelSelector": selection.selector} if selection.selector else {}
    if selection.version:
        return api.document(f"{resource.path(selection.namespace)}{'?' if query else ''}{urlencode(query)}", timeout)
    query["limit"] = str(MOST)
    listed = api.document(f"{resource.path(selection.namespace)}?{urlencode(query)}", timeout) or {}
    if (listed.get("metadata") or {}).get("continue"):
        return TOO_MANY
    return {"items": [light(item, resource) for item in listed.get("items") or ()]}


LAST_APPLIED: Final = "kubectl.kubernetes.io/last-applied-configuration"


def light(obj: dict[str, Any], resource: APIResource) -> dict[str, Any]:
    """An object without the parts that facts never read, and with the kind, which lists of built-in kinds omit.

    ``managedFields`` and kubectl's copy of the object are each as large as the object itself. Of nodes (thousands in a
    cluster, each with a list of images) only labels, taints and capacity are read.
    """
    if resource.kind == "Node" and not resource.group:
        spec, status = obj.get("spec") or {}, obj.get("status") or {}
        obj = {
            "metadata": obj["metadata"],
            "spec": {key: spec.get(key) for key in ("taints", "unschedulable")},
            "status": {key: status.get(key) for key in ("allocatable", "capacity")},
        }
    metadata = {key: value for key, value in obj["metadata"].items() if key != "managedFields"}
    annotations = metadata.get("annotations") or {}
    if LAST_APPLIED in annotations:
        metadata["annotations"] = {key: value for key, value in annotations.items() if key != LAST_APPLIED}
    return {**obj, "apiVersion": resource.api_version, "kind": resource.kind, "metadata": metadata}
