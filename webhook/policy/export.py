"""A policy of ours as documents that Kubernetes knows: for clusters, or times, without the gate.

What cannot be told to the API server (rules that read facts, derived values that follow their
inputs, the stamp) stays out, and :func:`left_out` says so. As with the gate, an update is not
refused for what it leaves alone, and an object that is being deleted not at all; but what a default
fills in during that update is no longer told from a change of the user's.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from webhook.admission.request import GroupVersionKind
from webhook.policy.document import Action, Profile
from webhook.policy.path import Path
from webhook.policy.policy import DefaultRule, Policy, ValidationRule
from webhook.policy.portable import condition, defaulting, is_portable, message
from webhook.schema import SchemaError, load_crd

__all__ = ["Target", "left_out", "mutating", "validating", "with_rules"]

Documents = Iterator[dict[str, Any]]

API: Final = "admissionregistration.k8s.io/v1"
_REASONS: Final = {"FieldValueForbidden": "Forbidden"}
"""Ours → the StatusReasons that a ValidatingAdmissionPolicy may give; Invalid for all others."""
_LIVING: Final = {"name": "living", "expression": "oldObject == null || !has(oldObject.metadata.deletionTimestamp)"}


@dataclass(frozen=True, slots=True)
class Target:
    """What documents are about, and how they are called: ``name`` is the kind's own, as a policy may have several.

    ``static``: they come from files of the control plane, where names end in a suffix of their own (KEP-5793).
    """

    name: str
    gvk: GroupVersionKind
    plural: str
    static: bool = False

    def named(self, sort: str) -> str:
        return f"{self.name}-{sort}.{'static.k8s.io' if self.static else 'modelgate.dev'}"

    def matching(self) -> dict[str, Any]:
        """The constraints that every policy begins with."""
        rule = {"apiGroups": [self.gvk.group], "apiVersions": [self.gvk.version], "resources": [self.plural]}
        rules = [{**rule, "operations": ["CREATE", "UPDATE"]}]
        return {
            "matchConstraints": {"matchPolicy": "Equivalent", "resourceRules": rules},
            "matchConditions": [_LIVING],
        }


def left_out(policy: Policy) -> list[str]:
    """The codes of the rules that only the gate can evaluate."""
    rules: list[DefaultRule | ValidationRule] = [*policy.defaults, *policy.validations]
    return [rule.code for rule in rules if not is_portable(rule)]


def validating(policy: Policy, target: Target, profile: Profile) -> Documents:
    """ValidatingAdmissionPolicies with their bindings: one that denies, one that warns, as far as there are rules."""
    for action in Action:
        rules = [rule for rule in policy.validations if is_portable(rule) and rule.action_under(profile) is action]
        if rules:
            name = target.named(action.value.lower())
            spec = {
                "failurePolicy": "Fail" if action is Action.DENY else "Ignore",
                **target.matching(),
                "variables": _variables(policy, rules),
                "validations": [_validation(rule, action) for rule in rules],
            }
            yield _document("ValidatingAdmissionPolicy", name, spec)
            binding = {"policyName": name, "validationActions": [action.value]}
            yield _document("ValidatingAdmissionPolicyBinding", name, binding)


def mutating(policy: Policy, target: Target) -> Documents:
    """A MutatingAdmissionPolicy with its binding, if there are defaults to express."""
    rules = [rule for rule in policy.defaults if is_portable(rule)]
    if not rules:
        return
    name = target.named("default")
    needed = {name for rule in rules for part in (rule.when, rule.value) if part for name in part.variables}
    spec = {
        "failurePolicy": "Ignore",
        "reinvocationPolicy": "IfNeeded",
        **target.matching(),
        "variables": _declared(policy, needed),
        "mutations": [{"patchType": "JSONPatch", "jsonPatch": {"expression": defaulting(rule)}} for rule in rules],
    }
    yield _document("MutatingAdmissionPolicy", name, spec)
    yield _document("MutatingAdmissionPolicyBinding", name, {"policyName": name})


def with_rules(
    crd: Mapping[str, Any], policy: Policy, gvk: GroupVersionKind, profile: Profile
) -> tuple[dict[str, Any], list[str]]:
    """The CRD with the rules that a CRD can hold, and the codes of those denials that it cannot.

    It can hold what denies and looks at nothing but its own node, new and stored, as long as the API server's
    estimate of the cost, which depends on the bounds of the schema, stays within its limits.
    """
    patched: dict[str, Any] = copy.deepcopy(dict(crd))
    (schema,) = (
        version["schema"]["openAPIV3Schema"]
        for version in patched["spec"]["versions"]
        if version["name"] == gvk.version
    )
    refused: list[str] = []
    for rule in policy.validations:
        if rule.action_under(profile) is not Action.DENY:
            continue
        node = _node(schema, rule.at) if rule.local else None
        if node is None or not _taken(patched, node, rule):
            refused.append(rule.code)
    return patched, refused


def _taken(crd: dict[str, Any], node: dict[str, Any], rule: ValidationRule) -> bool:
    """Add the rule to the node; take it off again where the API server would not have it."""
    before = node.get("x-kubernetes-validations")
    node["x-kubernetes-validations"] = [*(before or ()), _crd_rule(rule)]
    if _accepted(crd):
        return True
    if before is None:
        del node["x-kubernetes-validations"]
    else:
        node["x-kubernetes-validations"] = before
    return False


def _accepted(crd: dict[str, Any]) -> bool:
    try:
        load_crd(crd)
    except SchemaError:
        return False
    return True


def _node(schema: dict[str, Any], at: Path) -> dict[str, Any] | None:
    """The schema at a path; None where it says nothing, as of metadata."""
    node: dict[str, Any] | None = schema
    for key in at.keys:
        if node is None:
            return None
        inner = node.get("items") if key == "*" else node.get("properties", {}).get(key)
        node = node.get("additionalProperties") if inner is None else inner
    return node


def _crd_rule(rule: ValidationRule) -> dict[str, Any]:
    """A rule in the words of a CRD, whose fieldPath must name a field that the node has."""
    test = rule.rule.source if rule.when is None else f"!({rule.when.source}) || ({rule.rule.source})"
    found = {"rule": _one_line(test), "message": f"{rule.message} ({rule.code})", "reason": rule.reason}
    if rule.message_expression is not None and rule.message_expression.local:
        found["message"] = f"see `modelgate rule {rule.code}`"
        found["messageExpression"] = f"({_one_line(rule.message_expression.source)}) + ' ({rule.code})'"
    if rule.field_path:
        found["fieldPath"] = rule.field_path
    if rule.reason == "FieldValueNotSupported":
        found["reason"] = "FieldValueInvalid"  # a CRD knows four reasons
    return found


def _validation(rule: ValidationRule, action: Action) -> dict[str, Any]:
    fixed, expression = message(rule)
    test = _one_line(condition(rule, denies=action is Action.DENY))
    found = {"expression": test, "message": fixed, "reason": _REASONS.get(rule.reason, "Invalid")}
    if expression is not None:
        found["messageExpression"] = _one_line(expression)
    return found


def _variables(policy: Policy, rules: Iterable[ValidationRule]) -> list[dict[str, str]]:
    parts = [part for rule in rules for part in (rule.when, rule.rule, rule.message_expression) if part is not None]
    return _declared(policy, {name for part in parts if not part.facts for name in part.variables})


def _declared(policy: Policy, needed: set[str]) -> list[dict[str, str]]:
    """The variables in the order of their declaration."""
    return [
        {"name": name, "expression": _one_line(expression.source)}
        for name, expression in policy.variables.items()
        if name in needed
    ]


def _document(kind: str, name: str, spec: dict[str, Any]) -> dict[str, Any]:
    spec = {key: value for key, value in spec.items() if value != []}
    return {"apiVersion": API, "kind": kind, "metadata": {"name": name}, "spec": spec}


def _one_line(source: str) -> str:
    return " ".join(line.strip() for line in source.splitlines())
