"""Kyverno's policies in CEL: their specifications are Kubernetes' own, with more about when Kyverno evaluates them.

Source: the definitions of ``policies.kyverno.io`` and ``pkg/cel`` of Kyverno 1.16.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from webhook.cli.policies.converted import Converted, Untranslated, bound
from webhook.facts.nodes import at
from webhook.manifests.documents import Document
from webhook.policy import Release

GROUP: Final = "policies.kyverno.io"
_KINDS: Final = {
    "ValidatingPolicy": "Validating",
    "NamespacedValidatingPolicy": "Validating",
    "MutatingPolicy": "Mutating",
    "NamespacedMutatingPolicy": "Mutating",
}
_SHARED: Final = ("failurePolicy", "matchConstraints", "matchConditions", "variables")
_OWN: Final = {
    "Validating": (*_SHARED, "validations", "auditAnnotations"),
    "Mutating": (*_SHARED, "mutations", "reinvocationPolicy"),
}
"""The fields that a native policy has, too."""
_DROPPED: Final = ("validationActions", "evaluation", "autogen", "webhookConfiguration")
"""The fields that are about Kyverno, or belong to the binding."""
_ALL_OPERATIONS: Final = ["CREATE", "UPDATE", "DELETE", "CONNECT"]
_NAMESPACE: Final = "kubernetes.io/metadata.name"
_EVALUATION: Final = {
    "admission.enabled": (False, "it is not evaluated at admission, only on stored objects", True),
    "useServerSideApply": (True, "a MutatingAdmissionPolicy cannot set a part of an atomic list or map", True),
    "mutateExisting.enabled": (True, "stored objects stay as they are until they are written again", False),
    "background.enabled": (True, "stored objects are not examined until they are written again", False),
}
"""By field of ``evaluation``: the value that does not translate, why, and whether the policy is left out for it."""
_TARGETS: Final = "the mutation is of other objects than the one in the request"


def converted(document: Document, release: Release) -> Converted | None:
    """A policy of :data:`GROUP` as native documents for a release; None if the document is of another kind."""
    sort = _KINDS.get(str(document.value.get("kind")))
    if sort is None:
        return None
    spec = document.value.get("spec")
    if not isinstance(spec, dict):
        return Converted(document, (), (Untranslated(document, "spec", "expected an object"),))
    remarks = tuple(_remarks(document, spec, sort))
    own = {key: value for key, value in spec.items() if key in _OWN[sort] and value is not None}
    own |= {"reinvocationPolicy": own.get("reinvocationPolicy", "Never")} if sort == "Mutating" else {}
    namespace = str(document.value["metadata"].get("namespace") or "default")
    scoped = str(document.value["kind"]).startswith("Namespaced")
    if isinstance(own.get("matchConstraints"), dict):
        own["matchConstraints"] = _constraints(own["matchConstraints"], namespace if scoped else "")
    actions = (spec.get("validationActions") or ["Deny"]) if sort == "Validating" else None
    name = str(document.value["metadata"].get("name"))
    name = f"{name}.{namespace}" if scoped else name
    return Converted(document, bound(sort, name, own, release, actions), remarks)


def _remarks(document: Document, spec: Mapping[str, Any], sort: str) -> Iterator[Untranslated]:
    for key in spec:
        if key not in (*_DROPPED, *_OWN[sort]):
            reason = _TARGETS if key.startswith("target") else f"a {sort}AdmissionPolicy has no such field"
            yield Untranslated(document, f"spec.{key}", reason)
    mode = _at(spec, "evaluation.mode")
    if mode not in (None, "Kubernetes"):
        yield Untranslated(
            document, "spec.evaluation.mode", f'"{mode}": the API server evaluates requests for objects only'
        )
    for path, (value, reason, whole) in _EVALUATION.items():
        if _at(spec, f"evaluation.{path}") is value:
            yield Untranslated(document, f"spec.evaluation.{path}", reason, whole=whole)
    if "webhookConfiguration" in spec:
        reason = "the API server evaluates policies itself, without a timeout for one"
        yield Untranslated(document, "spec.webhookConfiguration", reason, whole=False)
    if _about_pods(spec) and _at(spec, "autogen.podControllers.controllers") != []:
        at = "spec.autogen" if "autogen" in spec else "spec.matchConstraints.resourceRules"
        reason = (
            "pods are covered, but not the Deployments, Jobs and others that make them, which Kyverno adds (autogen)"
        )
        yield Untranslated(document, at, reason, whole=False)


def _at(spec: Mapping[str, Any], path: str) -> Any:
    return at(spec, *path.split("."))


def _about_pods(spec: Mapping[str, Any]) -> bool:
    """Whether the policy is about pods alone: only such a policy gets rules for the controllers of pods."""
    rules = _at(spec, "matchConstraints.resourceRules")
    return isinstance(rules, list) and [_at(rule, "resources") for rule in rules] == [["pods"]]


def _constraints(constraints: Mapping[str, Any], namespace: str) -> dict[str, Any]:
    """The match constraints: a rule without operations is about all of them; of one namespace, if one is given."""
    lists = {
        key: [{"operations": _ALL_OPERATIONS, **rule} if isinstance(rule, dict) else rule for rule in constraints[key]]
        for key in ("resourceRules", "excludeResourceRules")
        if isinstance(constraints.get(key), list)
    }
    selected = {**constraints, **lists}
    if namespace:
        expressions = _at(constraints, "namespaceSelector.matchExpressions")
        labels = _at(constraints, "namespaceSelector.matchLabels")
        labels = labels if isinstance(labels, dict) else {}
        selected["namespaceSelector"] = {"matchLabels": {**labels, _NAMESPACE: namespace}}
        selected["namespaceSelector"] |= {"matchExpressions": expressions} if expressions else {}
    return selected
