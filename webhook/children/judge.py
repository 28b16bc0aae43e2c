"""What the API server says of a child: by Kubernetes' own rules, with its Pods, or by the definition of its kind."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

import orjson

from webhook.admission import GroupVersionKind, kind_of
from webhook.cel import RUNTIME_BUDGET
from webhook.cel import Budget as CostBudget
from webhook.children.builtin import builtin_errors, completed, decode_builtin, is_builtin, name_rule, template_of
from webhook.golang.names import dns_1123_subdomain
from webhook.ground.budget import Budget
from webhook.kubernetes import object_errors, warned
from webhook.schema import (
    OMIT,
    RULES_NOT_RUN,
    DecodeError,
    FieldError,
    Structural,
    decode_metadata_leniently,
    validate_metadata,
)
from webhook.vap import CLUSTER_KINDS

_DEFAULT: Final = "default"
_LABELS: Final = {"a": "b"}
"""What a workload of any template is selected by."""
_OF_SET: Final = ("spec", "leaderWorkerTemplate")
_TEMPLATES: Final = {"LeaderWorkerSet": ((*_OF_SET, "leaderTemplate"), (*_OF_SET, "workerTemplate"))}
"""By kind that Kubernetes does not have, where the templates of its pods are."""
_BYTES: Final = 16
"""Bytes of a child for which its decoding takes a step."""


def placed(child: dict[str, Any], namespace: str) -> dict[str, Any]:
    """A child as it is sent, in the namespace of its owner, unless it says another or is of the cluster.

    The description of one whose kind is not built in says that it is of the cluster by an empty namespace.
    """
    metadata = child.get("metadata")
    metadata = dict(metadata) if isinstance(metadata, Mapping) else {}
    if not _is_of_cluster(kind_of(child)):
        metadata.setdefault("namespace", namespace or _DEFAULT)
    metadata = {key: value for key, value in metadata.items() if key != "namespace" or value}
    return {key: _as_sent(value) for key, value in {**child, "metadata": metadata}.items()}


def _as_sent(value: Any) -> Any:
    """A value as Go writes it: a whole float as an integer."""
    if isinstance(value, dict):
        return {key: item if item.__class__ is str else _as_sent(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_as_sent(item) for item in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def child_errors(child: dict[str, Any], budget: Budget) -> Iterator[FieldError]:
    """What the API server refuses of a child of a built-in kind that is :func:`placed`.

    Raises:
        SpentError, DeadlineExceeded: from the budget.
    """
    budget.spend(1 + _size(child) // _BYTES, child["kind"])
    kind = kind_of(child)
    decoded, errors = decode_builtin(kind, child)
    yield from errors
    yield from _metadata_errors(child, namespaced=not _is_of_cluster(kind), name_rule=name_rule(kind))
    if not errors:  # the decoder refuses it before anything else is looked at
        yield from builtin_errors(decoded, budget=budget)


def defined_errors(
    child: dict[str, Any], schema: Structural, budget: Budget, *, namespaced: bool
) -> Iterator[FieldError]:
    """What the API server refuses of a child of a kind with a definition that is :func:`placed`.

    Raises:
        SpentError, DeadlineExceeded: from the budget.
    """
    budget.spend(1 + _size(child) // _BYTES, child["kind"])
    try:
        decoded = schema.decode(child)
    except DecodeError as error:
        yield FieldError("FieldValueInvalid", "", str(error), OMIT)
        return
    yield from (FieldError("FieldValueInvalid", path, "unknown field", OMIT) for path in decoded.unknown)
    yield from _metadata_errors(child, namespaced=namespaced)
    cost = CostBudget(RUNTIME_BUDGET, interrupt=budget.tick)
    for fault in schema.check(schema.default(decoded.object), None, cost).errors:
        if fault.detail != RULES_NOT_RUN:
            yield replace(fault, field="") if fault.field == "<nil>" else fault


def _metadata_errors(
    child: dict[str, Any], *, namespaced: bool, name_rule: Callable[[str], list[str]] = dns_1123_subdomain
) -> Iterator[FieldError]:
    metadata, unknown = decode_metadata_leniently(child.get("metadata"))
    yield from (FieldError("FieldValueInvalid", f"metadata.{path}", "unknown field") for path in unknown)
    yield from validate_metadata(metadata or {}, namespaced=namespaced, name_rule=name_rule)


def pod_errors(child: dict[str, Any], budget: Budget) -> Iterator[FieldError]:
    """What only the Pods of a child are refused for, at its places."""
    path, template = template_of(child)
    if template is None:
        return
    pod = {"apiVersion": "v1", "kind": "Pod", **template}
    decoded, errors = decode_builtin(kind_of(pod), pod)
    if not errors:
        for error in object_errors(completed(decoded), budget=budget):
            yield FieldError(error.type, f"{path}.{error.field}", error.detail, error.bad_value)


def judges_pods(child: dict[str, Any]) -> bool:
    """Whether the parts of pods in a child are judged as such: a definition says little of them."""
    return is_builtin(kind_of(child)) or child["kind"] in _TEMPLATES


def template_errors(child: dict[str, Any], budget: Budget) -> Iterator[FieldError]:
    """What Kubernetes refuses of the pods of a child of another kind, whose controller makes workloads of them.

    Raises:
        SpentError, DeadlineExceeded: from the budget.
    """
    for path in _TEMPLATES.get(child["kind"], ()):
        template: Any = child
        for key in path:
            template = template.get(key) if isinstance(template, Mapping) else None
        if not isinstance(template, dict):
            continue
        metadata = template.get("metadata")
        labels = metadata.get("labels") if isinstance(metadata, Mapping) else None
        labels = {**labels, **_LABELS} if isinstance(labels, Mapping) else _LABELS
        spec = {"selector": {"matchLabels": _LABELS}, "template": {**template, "metadata": {"labels": labels}}}
        metadata = {"name": "a", "namespace": _DEFAULT}
        workload = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": spec}
        errors = [*child_errors(workload, budget)] or [*pod_errors(workload, budget)]
        prefix = "spec.template"
        for error in errors:
            yield replace(error, field=f"{'.'.join(path)}{error.field.removeprefix(prefix)}")


def pod_warnings(child: dict[str, Any], budget: Budget) -> Iterator[tuple[str, str]]:
    """Fields and texts: what the API server warns of, in the pods of a child."""
    path, template = template_of(child)
    if template is not None:
        for field, text in warned("PodSpec", template.get("spec"), budget=budget):
            yield f"{path}.spec.{field}" if field else f"{path}.spec", text


def _size(child: dict[str, Any]) -> int:
    try:
        return len(orjson.dumps(child))
    except TypeError:  # an integer of more than 64 bits, or half of a surrogate pair
        return _BYTES


def _is_of_cluster(kind: GroupVersionKind) -> bool:
    return (kind.group, kind.kind) in CLUSTER_KINDS
