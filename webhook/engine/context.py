"""The context of Kubernetes' own policies beyond a request: from files, or from a live cluster.

Offline   the catalog and a fixed set of objects
Live      the same, and otherwise the API server, through :class:`~webhook.cluster.readthrough.RequestView`
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

import orjson

from webhook.admission import GroupVersionKind, group_version
from webhook.catalog import Catalog
from webhook.cel import Decision, Question
from webhook.cluster import (
    AccessReview,
    ClusterView,
    Kind,
    LabelSelection,
    MemoryView,
    Reference,
    RequestView,
    ServedKind,
)
from webhook.engine.options import NAMESPACE
from webhook.schema import SchemaError, load_crd
from webhook.vap import CLUSTER_KINDS, Equivalent, GroupVersionResource, KindSchema, MemoryContext, ParamKind, Selector


class Offline(MemoryContext):
    """The schemas of the catalog, and a fixed set of objects. Every permission check is denied.

    A namespace that is not among the objects is unknown. With ``assume`` it is taken as a namespace without labels,
    which is the best guess for a check of files. Unless they are ``complete``, other objects than these may exist.
    """

    def __init__(
        self,
        catalog: Catalog,
        objects: Iterable[dict[str, Any]] = (),
        *,
        assume: bool = False,
        complete: bool = True,
    ) -> None:
        given = list(objects)
        self._assume, self._complete = assume, complete
        kinds = catalog.kinds.listed  # without their rules
        self._scopes = {(gvk.group, gvk.kind): kind.namespaced for gvk, kind in kinds.items()}
        self._defined = dict(_defined(given))
        self._schemas_of_definitions: dict[GroupVersionKind, KindSchema | None] = {}
        self._scopes |= dict.fromkeys(CLUSTER_KINDS, False)
        self._scopes |= {kind: crd["spec"].get("scope") == "Namespaced" for kind, crd in self._defined.items()}
        self._names: dict[tuple[str, str], list[Equivalent]] = {}
        for gvk, kind in kinds.items():
            same = self._names.setdefault((gvk.group, kind.plural), [])
            same.append(Equivalent(GroupVersionResource(gvk.group, gvk.version, kind.plural), gvk))
        super().__init__(map(self._placed, given), {gvk: kind.schema for gvk, kind in kinds.items()})

    def scope(self, group: str, kind: str) -> bool | None:
        """Whether a kind is namespaced, by the catalog, Kubernetes or a CRD among the objects; None if unknown."""
        namespaced = self._scopes.get((group, kind))
        return True if namespaced is None and "." not in group else namespaced

    def has(self, group: str, kind: str) -> bool:
        """Whether the objects include some of the kind."""
        return (group, kind) in self._objects

    @cached_property
    def view(self) -> ClusterView:
        """Where references look objects up."""
        named = (obj for objects in self._objects.values() for (_, name), obj in objects.items() if name)
        return MemoryView(named) if self._complete else Incomplete(named)

    def live(self, reading: RequestView) -> Live:
        """The context for one request in a cluster."""
        return Live(self, reading)

    def _placed(self, obj: dict[str, Any]) -> dict[str, Any]:
        group, kind = group_version(obj["apiVersion"])[0], obj["kind"]
        if obj["metadata"].get("namespace") or not self.scope(group, kind):
            return obj
        return {**obj, "metadata": {**obj["metadata"], "namespace": NAMESPACE}}

    def namespace(self, name: str) -> dict[str, Any] | None:
        exists = self.param(ParamKind(apiVersion="v1", kind="Namespace"), "", name) is not None
        return super().namespace(name) if exists or self._assume else None

    def is_namespaced(self, kind: ParamKind) -> bool | None:
        namespaced = self.scope(group_version(kind.apiVersion)[0], kind.kind)
        return super().is_namespaced(kind) if namespaced is None else namespaced

    def schema(self, kind: GroupVersionKind) -> KindSchema | None:
        """The schema of a kind, from the catalog or from a CRD among the objects."""
        schema = super().schema(kind)
        definition = self._defined.get((kind.group, kind.kind))
        if schema is None and definition is not None:
            if kind not in self._schemas_of_definitions:
                self._schemas_of_definitions[kind] = _schema_in(definition, kind.version)
            schema = self._schemas_of_definitions[kind]
        return schema

    def equivalents(self, resource: GroupVersionResource, subresource: str) -> Sequence[Equivalent]:
        return self._names.get((resource.group, resource.name), ()) if subresource in {"", "status"} else ()


def _defined(objects: Iterable[dict[str, Any]]) -> Iterator[tuple[tuple[str, str], dict[str, Any]]]:
    """The CustomResourceDefinitions among the objects, by kind."""
    for obj in objects:
        spec = obj.get("spec")
        if obj.get("kind") == "CustomResourceDefinition" and isinstance(spec, dict):
            names = spec.get("names")
            if isinstance(names, dict):
                yield (str(spec.get("group")), str(names.get("kind"))), obj


def _schema_in(definition: dict[str, Any], version: str) -> KindSchema | None:
    try:
        served = load_crd(definition).versions.get(version)
    except SchemaError:  # the API server would refuse to create it
        return None
    return None if served is None else served.schema


class Incomplete(MemoryView):
    """The objects of files. Others may exist."""


class _Beside:
    """The objects beside the policies, and those of the cluster."""

    def __init__(self, files: ClusterView, reading: RequestView) -> None:
        self._files, self._reading = files, reading

    def get(self, kind: Kind, namespace: str, name: str) -> dict[str, Any] | None:
        return self._files.get(kind, namespace, name) or self._reading.get(kind, namespace, name)

    def list(self, kind: Kind, namespace: str | None = None) -> Sequence[dict[str, Any]]:
        beside, there = self._files.list(kind, namespace), self._reading.list(kind, namespace)
        return [*there, *beside] if beside else there


class Live:
    """A cluster, for one evaluation of one request. Objects beside the policies take precedence over the cluster's.

    Answers that are not known yet are noted in the ``reading``; the result of the evaluation must then be discarded.
    """

    def __init__(self, files: Offline, reading: RequestView) -> None:
        self._files = files
        self._reading = reading

    @property
    def view(self) -> ClusterView:
        return _Beside(self._files.view, self._reading)

    def namespace(self, name: str) -> dict[str, Any] | None:
        return self._reading.ask(Reference(Kind("", "Namespace"), "", name, "v1"))

    def is_namespaced(self, kind: ParamKind) -> bool | None:
        group, version = group_version(kind.apiVersion)
        namespaced = self._files.scope(group, kind.kind)
        if namespaced is not None or self._files.has(group, kind.kind):
            return self._files.is_namespaced(kind)
        served = self._reading.ask(ServedKind(Kind(group, kind.kind), version))
        return None if served is None else bool(served["namespaced"])

    def param(self, kind: ParamKind, namespace: str, name: str) -> dict[str, Any] | None:
        group, version = group_version(kind.apiVersion)
        beside = self._files.param(kind, namespace, name)
        return beside or self._reading.ask(Reference(Kind(group, kind.kind), namespace, name, version))

    def params(self, kind: ParamKind, namespace: str, selector: Selector) -> Sequence[dict[str, Any]]:
        group, version = group_version(kind.apiVersion)
        listed = self._reading.ask(LabelSelection(Kind(group, kind.kind), version, namespace, selector.text)) or {}
        by_name = {item["metadata"]["name"]: item for item in listed.get("items") or ()}
        by_name |= {item["metadata"]["name"]: item for item in self._files.params(kind, namespace, selector)}
        return [by_name[name] for name in sorted(by_name)]

    def schema(self, kind: GroupVersionKind) -> KindSchema | None:
        return self._files.schema(kind)

    def equivalents(self, resource: GroupVersionResource, subresource: str) -> Sequence[Equivalent]:
        return self._files.equivalents(resource, subresource)

    def decide(self, user: Mapping[str, Any], question: Question) -> Decision:
        spec = orjson.dumps(_access(user, question), option=orjson.OPT_SORT_KEYS).decode()
        status = self._reading.ask(AccessReview(spec))
        if status is None:
            return Decision(False)
        return Decision(status.get("allowed") is True, status.get("reason", ""), status.get("evaluationError"))


def _access(user: Mapping[str, Any], question: Question) -> dict[str, Any]:
    """The ``spec`` of a SubjectAccessReview."""
    if question.service_account is not None:
        namespace, name = question.service_account
        groups = ["system:serviceaccounts", f"system:serviceaccounts:{namespace}", "system:authenticated"]
        user = {"username": f"system:serviceaccount:{namespace}:{name}", "groups": groups}
    subject = {"user": user.get("username"), **{key: user[key] for key in ("uid", "groups", "extra") if user.get(key)}}
    if question.path:
        return {**subject, "nonResourceAttributes": {"path": question.path, "verb": question.verb}}
    attributes: dict[str, Any] = {
        "group": question.group,
        "version": "*",
        "resource": question.resource,
        "subresource": question.subresource,
        "namespace": question.namespace,
        "name": question.name,
        "verb": question.verb,
    }
    selectors = {"fieldSelector": question.field_selector, "labelSelector": question.label_selector}
    attributes |= {key: {"rawSelector": text} for key, text in selectors.items() if text}
    return {**subject, "resourceAttributes": {key: value for key, value in attributes.items() if value}}
