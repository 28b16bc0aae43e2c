"""What a policy can look up beyond the request: params, namespaces, schemas, authorization."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from webhook.admission import GroupVersionKind, group_version
from webhook.cel import Decision, Question
from webhook.vap.attributes import CLUSTER_KINDS, GroupVersionResource
from webhook.vap.matching.selector import Selector, labels_of
from webhook.vap.models import ParamKind


class KindSchema(Protocol):
    """The schema of a kind; :class:`webhook.schema.Structural` is one."""

    @property
    def raw(self) -> Mapping[str, Any]:
        """The OpenAPI schema of the object."""
        ...

    def default(self, obj: dict[str, Any]) -> dict[str, Any]:
        """The object with the defaults of its schema; the API server applies them after every mutation."""
        ...


class Equivalent(NamedTuple):
    """A resource and kind under which the same objects are served: another version or group (extensions, apps)."""

    resource: GroupVersionResource
    kind: GroupVersionKind


class ReadReferences(Protocol):
    """``refs`` for one object: the value of each reference, computed when it is first read.

    ``unknown`` says why references that an expression has read are not known: such an expression fails.
    """

    @property
    def unknown(self) -> Sequence[str]: ...

    def __getitem__(self, name: str, /) -> Any: ...


class References(Protocol):
    """The other objects that the expressions of a policy read as ``refs.<name>``, which no policy of Kubernetes can."""

    @property
    def schema(self) -> Mapping[str, Any]:
        """The OpenAPI schema of ``refs``."""
        ...

    def over(self, obj: dict[str, Any], view: Any) -> ReadReferences:
        """What an object refers to, in what the context gives as ``view``."""
        ...


class AdmissionContext(Protocol):
    """Access to the cluster, or a stand-in for it. No method may block; callers must not change the objects."""

    @property
    def view(self) -> Any:
        """Where :class:`References` look objects up."""
        ...

    def namespace(self, name: str) -> dict[str, Any] | None:
        """The Namespace object; None if it does not exist."""
        ...

    def is_namespaced(self, kind: ParamKind) -> bool | None:
        """Whether a kind of params is namespaced; None for an unknown kind."""
        ...

    def param(self, kind: ParamKind, namespace: str, name: str) -> dict[str, Any] | None:
        """One object of a kind of params; ``namespace`` is "" for cluster scope."""
        ...

    def params(self, kind: ParamKind, namespace: str, selector: Selector) -> Sequence[dict[str, Any]]:
        """The selected objects, ordered by name."""
        ...

    def schema(self, kind: GroupVersionKind) -> KindSchema | None:
        """The schema of a kind; None for an unknown kind."""
        ...

    def equivalents(self, resource: GroupVersionResource, subresource: str) -> Sequence[Equivalent]:
        """All resources that serve the same objects; the resource itself may be among them."""
        ...

    def decide(self, user: Mapping[str, Any], question: Question) -> Decision:
        """Whether the user is authorized."""
        ...


class MemoryContext:
    """A fixed set of objects and schemas, for the command line and for tests.

    Every namespace exists: one that is not among the objects has only the label that all namespaces have.
    No user is authorized for anything.
    """

    view: Any = None

    def __init__(
        self, objects: Iterable[dict[str, Any]] = (), schemas: Mapping[GroupVersionKind, KindSchema] | None = None
    ) -> None:
        self._schemas = schemas or {}
        self._objects: dict[tuple[str, str], dict[tuple[str, str], dict[str, Any]]] = {}
        for item in objects:
            metadata = item.get("metadata") or {}
            key = (group_version(item.get("apiVersion", ""))[0], item.get("kind", ""))
            self._objects.setdefault(key, {})[metadata.get("namespace", ""), metadata.get("name", "")] = item

    def namespace(self, name: str) -> dict[str, Any] | None:
        found = self._objects.get(("", "Namespace"), {}).get(("", name))
        labels = {"kubernetes.io/metadata.name": name}
        if found is None:
            return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}}
        metadata = found["metadata"]
        return {**found, "metadata": {**metadata, "labels": labels | (metadata.get("labels") or {})}}

    def is_namespaced(self, kind: ParamKind) -> bool | None:
        key = _key(kind)
        objects = self._objects.get(key)
        if objects:
            return all(namespace for namespace, _ in objects)
        return key not in CLUSTER_KINDS

    def param(self, kind: ParamKind, namespace: str, name: str) -> dict[str, Any] | None:
        return self._objects.get(_key(kind), {}).get((namespace, name))

    def params(self, kind: ParamKind, namespace: str, selector: Selector) -> Sequence[dict[str, Any]]:
        found = sorted(self._objects.get(_key(kind), {}).items())
        return [item for (where, _), item in found if where == namespace and selector.matches(labels_of(item) or {})]

    def schema(self, kind: GroupVersionKind) -> KindSchema | None:
        return self._schemas.get(kind)

    def equivalents(self, resource: GroupVersionResource, subresource: str) -> Sequence[Equivalent]:
        del resource, subresource
        return ()

    def decide(self, user: Mapping[str, Any], question: Question) -> Decision:
        del user, question
        return Decision(False, "no user is authorized offline")


def _key(kind: ParamKind) -> tuple[str, str]:
    return group_version(kind.apiVersion)[0], kind.kind
