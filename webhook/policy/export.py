"""Export a Policy as native documents, for clusters without the webhook.

Some parts have no native form: rules that read facts, derived values that follow their inputs, fractions that become
quantities, the stamp. They are omitted, and :func:`left_out` lists the rules. As with the webhook, an update is not
refused for what it does not change, and an object that is being deleted is never refused. But a value that a default
fills in during that update counts as a change by the user.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from webhook.admission import GroupVersionKind
from webhook.policy.environments import node_at
from webhook.policy.policy import Action, Policy, Profile, ValidationRule
from webhook.policy.portable import condition, defaulting, in_kubernetes_cel, is_portable, message
from webhook.policy.releases import DEFAULT_RELEASE, Release
from webhook.schema import SchemaError, load_crd

__all__ = ["Target", "left_out", "mutating", "validating", "with_rules"]

Documents = Iterator[dict[str, Any]]

_REASONS: Final = {"FieldValueForbidden": "Forbidden"}
"""Reason of a rule → StatusReason of a ValidatingAdmissionPolicy; Invalid for all others."""
_LIVING: Final = {"name": "living", "expression": "oldObject == null || !has(oldObject.metadata.deletionTimestamp)"}


@dataclass(frozen=True, slots=True)
class Target:
    """The kind and the name of exported documents. ``name`` is that of the kind: a policy may have several kinds.

    ``static``: for manifest files of the control plane, where names need a special suffix (KEP-5793). ``release``: the
    Kubernetes minor that installs them. ``alone``: other documents are about the other versions of the kind, so that
    objects of those are not converted for these.
    """

    name: str
    group: str
    versions: tuple[str, ...]
    plural: str
    static: bool = False
    release: Release = DEFAULT_RELEASE
    alone: bool = False

    def named(self, sort: str) -> str:
        return f"{self.name}-{sort}.{'static.k8s.io' if self.static else 'modelgate.dev'}"

    def document(self, kind: str, name: str, spec: Mapping[str, Any]) -> dict[str, Any]:
        """A policy or binding; empty lists are omitted."""
        spec = {key: value for key, value in spec.items() if value != []}
        return {"apiVersion": self.release.api(kind), "kind": kind, "metadata": {"name": name}, "spec": spec}

    def matching(self) -> dict[str, Any]:
        """The match constraints of every policy."""
        rule = {"apiGroups": [self.group], "apiVersions": [*self.versions], "resources": [self.plural]}
        rules = [{**rule, "operations": ["CREATE", "UPDATE"]}]
        return {
            "matchConstraints": {"matchPolicy": "Exact" if self.alone else "Equivalent", "resourceRules": rules},
            "matchConditions": [_LIVING],
        }


def left_out(policy: Policy) -> list[str]:
    """The codes of the rules that only Modelgate can evaluate."""
    rules = policy.rules
    return list(dict.fromkeys(rule.code for rule in rules if not is_portable(rule)))


def validating(policy: Policy, target: Target, profile: Profile) -> Documents:
    """ValidatingAdmissionPolicies with bindings: one that denies and one that warns, if there are such rules."""
    for action in Action:
        denies = action is Action.DENY
        rules = [each for each in policy.validations if is_portable(each) and (profile in each.denied_by) is denies]
        if rules:
            name = target.named(action.value.lower())
            spec = {
                "failurePolicy": "Fail" if denies else "Ignore",
                **target.matching(),
                "variables": _variables(policy, rules),
                "validations": [_validation(policy, rule, action) for rule in rules],
            }
            yield target.document("ValidatingAdmissionPolicy", name, spec)
            binding = {"policyName": name, "validationActions": [action.value]}
            yield target.document("ValidatingAdmissionPolicyBinding", name, binding)


def mutating(policy: Policy, target: Target) -> Documents:
    """A MutatingAdmissionPolicy with its binding, if there are portable defaults."""
    rules = [rule for rule in policy.defaults if is_portable(rule)]
    if not rules:
        return
    name = target.named("default")
    needed = {name for rule in rules for part in (rule.when, rule.value) if part for name in part.variables}
    patches = [in_kubernetes_cel(defaulting(rule)) for rule in rules]
    spec = {
        "failurePolicy": "Ignore",
        "reinvocationPolicy": "IfNeeded",
        **target.matching(),
        "variables": _declared(policy, needed),
        "mutations": [{"patchType": "JSONPatch", "jsonPatch": {"expression": patch}} for patch in patches],
    }
    yield target.document("MutatingAdmissionPolicy", name, spec)
    yield target.document("MutatingAdmissionPolicyBinding", name, {"policyName": name})


def with_rules(
    crd: Mapping[str, Any], policy: Policy, gvk: GroupVersionKind, profile: Profile
) -> tuple[dict[str, Any], list[str]]:
    """The CRD with the rules that it can express, and the codes of the denials that it cannot.

    It can express a denial that reads only its own node, new and stored, if the API server's cost estimate, which
    depends on the bounds of the schema, stays within the limits.
    """
    patched: dict[str, Any] = copy.deepcopy(dict(crd))
    (schema,) = (
        version["schema"]["openAPIV3Schema"]
        for version in patched["spec"]["versions"]
        if version["name"] == gvk.version
    )
    refused: list[str] = []
    for rule in policy.validations:
        if profile not in rule.denied_by:
            continue
        node = node_at(schema, rule.at.keys) if rule.local else None
        if not isinstance(node, dict) or not _taken(patched, node, rule):
            refused.append(rule.code)
    return patched, refused


def _taken(crd: dict[str, Any], node: dict[str, Any], rule: ValidationRule) -> bool:
    """Add the rule to the node; remove it again if the API server would refuse it."""
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


def _crd_rule(rule: ValidationRule) -> dict[str, Any]:
    """A rule for a CRD; its fieldPath must name a field of the node."""
    test = rule.rule.source if rule.when is None else f"!({rule.when.source}) || ({rule.rule.source})"
    found = {"rule": _written(test), "message": f"{rule.message} ({rule.code})", "reason": rule.reason}
    if rule.message_expression is not None and rule.message_expression.local:
        found["message"] = f"see `modelgate rule {rule.code}`"
        found["messageExpression"] = f"({_written(rule.message_expression.source)}) + ' ({rule.code})'"
    if rule.field_path:
        found["fieldPath"] = rule.field_path
    if rule.reason == "FieldValueNotSupported":
        found["reason"] = "FieldValueInvalid"  # a CRD has four reasons
    return found


def _validation(policy: Policy, rule: ValidationRule, action: Action) -> dict[str, Any]:
    fixed, expression = message(rule)
    test = _written(condition(rule, policy.reads(rule) if action is Action.DENY else None))
    found = {"expression": test, "message": fixed, "reason": _REASONS.get(rule.reason, "Invalid")}
    if expression is not None:
        found["messageExpression"] = _written(expression)
    return found


def _variables(policy: Policy, rules: Iterable[ValidationRule]) -> list[dict[str, str]]:
    parts = [part for rule in rules for part in (rule.when, rule.rule, rule.message_expression) if part is not None]
    return _declared(policy, {name for part in parts if not part.facts for name in part.variables})


def _declared(policy: Policy, needed: set[str]) -> list[dict[str, str]]:
    """The needed variables, in the order of their declaration."""
    return [
        {"name": name, "expression": _written(expression.source)}
        for name, expression in policy.variables.items()
        if name in needed
    ]


def _written(source: str) -> str:
    """The expression on one line, in Kubernetes' CEL."""
    return " ".join(line.strip() for line in in_kubernetes_cel(source).splitlines())
