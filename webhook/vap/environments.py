"""The variables of the expressions of admission policies, and their types (``plugin/cel/compile.go``)."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Final

from webhook.cel import COMPATIBLE, JSON_PATCH, Authorizer, Environment, ResourceCheck
from webhook.cel.types import BOOL, DYN, INT, STRING, TIMESTAMP, Type, list_of, map_of, object_of
from webhook.vap.mutating.objects import make, resolve

__all__ = ["NAMESPACE", "REQUEST", "admission_environment", "with_variables"]

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
_METADATA: Final = object_of(
    "kubernetes.NamespaceMetadata",
    {
        **dict.fromkeys(("name", "generateName", "namespace", "UID", "resourceVersion"), STRING),
        **dict.fromkeys(("labels", "annotations"), map_of(STRING, STRING)),
        **dict.fromkeys(("creationTimestamp", "deletionTimestamp"), TIMESTAMP),
        **dict.fromkeys(("deletionGracePeriodSeconds", "generation"), INT),
        "finalizers": _TEXTS,
    },
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


def with_variables(environment: Environment, types: Mapping[str, Type]) -> Environment:
    """The environment with ``variables.x``. ``types`` may grow: a variable can read the variables before it."""
    return environment.extend({"variables": object_of("kubernetes.variables", lambda: types)})
