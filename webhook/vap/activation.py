"""The values of the CEL variables for one request: ``object``, ``request``, ``authorizer`` and so on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from webhook.admission import GroupVersionKind
from webhook.cel import Authorizer, Decision, Question, ResourceCheck
from webhook.vap.attributes import Attributes, GroupVersionResource
from webhook.vap.context import AdmissionContext, Equivalent

__all__ = ["bindings_of", "namespace_value"]

_NAMESPACE_METADATA: Final = (
    "name",
    "generateName",
    "namespace",
    "uid",
    "resourceVersion",
    "generation",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "labels",
    "annotations",
    "finalizers",
)
"""The metadata of a namespace that policies can read: ownerReferences and managedFields are hidden."""


def bindings_of(
    attributes: Attributes,
    matched: Equivalent,
    context: AdmissionContext,
    params: Mapping[str, Any] | None = None,
    namespace: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """The values of all variables except ``variables``. ``matched`` is what the policy matched."""

    def decide(question: Question) -> Decision:
        return context.decide(attributes.user, question)

    resource = attributes.resource
    own = Question(
        group=resource.group,
        resource=resource.name,
        subresource=attributes.subresource,
        namespace=attributes.namespace,
        name=attributes.name,
    )
    return {
        "object": attributes.object,
        "oldObject": attributes.old_object,
        "params": params,
        "request": _request(attributes, matched),
        "namespaceObject": namespace,
        "authorizer": Authorizer(decide),
        "authorizer.requestResource": ResourceCheck(decide, own),
    }


def namespace_value(namespace: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """The value of ``namespaceObject``."""
    if namespace is None:
        return None
    metadata = namespace.get("metadata") or {}
    return {
        "metadata": {key: metadata[key] for key in _NAMESPACE_METADATA if metadata.get(key) is not None},
        "spec": namespace.get("spec") or {},
        "status": namespace.get("status") or {},
    }


def _request(attributes: Attributes, matched: Equivalent) -> dict[str, Any]:
    """``admission.k8s.io/v1`` AdmissionRequest without uid, object and oldObject; empty optional fields are absent."""
    user = attributes.user
    optional = {
        "subResource": attributes.subresource,
        "requestSubResource": attributes.subresource,
        "name": attributes.name,
        "namespace": attributes.namespace,
    }
    return {
        "kind": _kind(matched.kind),
        "resource": _resource(matched.resource),
        "requestKind": _kind(attributes.kind),
        "requestResource": _resource(attributes.resource),
        "operation": attributes.operation,
        "userInfo": {key: user[key] for key in ("username", "uid", "groups", "extra") if user.get(key)},
        "dryRun": attributes.dry_run,
        "options": attributes.options,
        **{key: value for key, value in optional.items() if value},
    }


def _kind(kind: GroupVersionKind) -> dict[str, str]:
    return {"group": kind.group, "version": kind.version, "kind": kind.kind}


def _resource(resource: GroupVersionResource) -> dict[str, str]:
    return {"group": resource.group, "version": resource.version, "resource": resource.name}
