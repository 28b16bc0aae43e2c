"""The variables of the expressions of admission policies: their types (``plugin/cel/compile.go``), and their values."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any, Final

from webhook.cel import COMPATIBLE, JSON_PATCH, Authorizer, Decision, Environment, Question, ResourceCheck
from webhook.cel.types import BOOL, DYN, INT, STRING, TIMESTAMP, Type, list_of, map_of, object_of
from webhook.vap.attributes import Attributes, GroupVersionResource
from webhook.vap.context import AdmissionContext, Equivalent, References
from webhook.vap.mutating.objects import make, resolve

_TEXTS: Final = list_of(STRING)
_KIND: Final = object_of("kubernetes.GroupVersionKind", {"group": STRING, "version": STRING, "kind": STRING})
_RESOURCE: Final = object_of(
    "kubernetes.GroupVersionResource", {"group": STRING, "version": STRING, "resource": STRING}
)
_USER: Final = object_of(
    "kubernetes.UserInfo", {"username": STRING, "uid": STRING, "groups": _TEXTS, "extra": map_of(STRING, _TEXTS)}
)
REQUEST: Final = object_of(
    "kubernetes.AdmissionRequest",
    {
        "kind": _KIND,
        "resource": _RESOURCE,
        "subResource": STRING,
        "requestKind": _KIND,
        "requestResource": _RESOURCE,
        "requestSubResource": STRING,
        "name": STRING,
        "namespace": STRING,
        "operation": STRING,
        "userInfo": _USER,
        "dryRun": BOOL,
        "options": DYN,
    },
)
_CONDITION: Final = object_of(
    "kubernetes.NamespaceCondition",
    {"status": STRING, "type": STRING, "lastTransitionTime": TIMESTAMP, "message": STRING, "reason": STRING},
)
_METADATA_FIELDS: Final = {
    **dict.fromkeys(("name", "generateName", "namespace", "uid", "resourceVersion"), STRING),
    "generation": INT,
    **dict.fromkeys(("creationTimestamp", "deletionTimestamp"), TIMESTAMP),
    "deletionGracePeriodSeconds": INT,
    **dict.fromkeys(("labels", "annotations"), map_of(STRING, STRING)),
    "finalizers": _TEXTS,
}
"""The metadata of a namespace that policies can read: ownerReferences and managedFields are hidden."""
_METADATA: Final = object_of(
    "kubernetes.NamespaceMetadata",
    {"UID" if name == "uid" else name: of for name, of in _METADATA_FIELDS.items()},
)
NAMESPACE: Final = object_of(
    "kubernetes.Namespace",
    {
        "metadata": _METADATA,
        "spec": object_of("kubernetes.NamespaceSpec", {"finalizers": _TEXTS}),
        "status": object_of("kubernetes.NamespaceStatus", {"conditions": list_of(_CONDITION), "phase": STRING}),
    },
)


@cache
def admission_environment(
    version: tuple[int, int] = COMPATIBLE,
    *,
    stored: bool = True,
    params: bool = False,
    authorizer: bool = False,
    patches: bool = False,
) -> Environment:
    """The environment of one sort of expression.

    ``params``: the policy has a paramKind. ``authorizer``: all expressions except messages. ``patches``: mutations,
    which can construct ``Object{}`` and ``JSONPatch{}``.
    """
    variables: dict[str, Type] = {"object": DYN, "oldObject": DYN, "namespaceObject": NAMESPACE, "request": REQUEST}
    if params:
        variables["params"] = DYN
    if authorizer:
        variables["authorizer"] = Authorizer.cel_type
        variables["authorizer.requestResource"] = ResourceCheck.cel_type
    environment = Environment(version, stored=stored, variables=variables)
    if not patches:
        return environment
    return environment.extend(types=resolve, make=make, functions=JSON_PATCH)


def with_references(environment: Environment, references: References) -> Environment:
    """The environment with ``refs.x``."""
    return environment.with_schema("refs", references.schema, type_name="refs", whole_floats=True)


def with_variables(environment: Environment, types: Mapping[str, Type]) -> Environment:
    """The environment with ``variables.x``. ``types`` may grow: a variable can read the variables before it."""
    return environment.extend({"variables": object_of("kubernetes.variables", lambda: types)})


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
        "metadata": {key: metadata[key] for key in _METADATA_FIELDS if metadata.get(key) is not None},
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
        "kind": matched.kind._asdict(),
        "resource": _resource(matched.resource),
        "requestKind": attributes.kind._asdict(),
        "requestResource": _resource(attributes.resource),
        "operation": attributes.operation,
        "userInfo": {key: user[key] for key in ("username", "uid", "groups", "extra") if user.get(key)},
        "dryRun": attributes.dry_run,
        "options": attributes.options,
        **{key: value for key, value in optional.items() if value},
    }


def _resource(resource: GroupVersionResource) -> dict[str, str]:
    return {"group": resource.group, "version": resource.version, "resource": resource.name}
