"""Where a pod may run: affinity, spread, tolerations, and selectors of labels."""

from __future__ import annotations

from typing import Final

from webhook.golang.names import dns_1123_label, dns_1123_subdomain, label_key, label_value
from webhook.ground.fieldpath import FieldPath
from webhook.kubernetes.judge import Judge, rule
from webhook.kubernetes.shown import cut
from webhook.kubernetes.values import Json, field, number, structs, text, texts
from webhook.schema.fielderror import duplicate, forbidden, invalid, not_supported, required

_OPERATORS: Final = ("Equal", "Exists")
_COMPARISONS: Final = ("Lt", "Gt")


def _check_operator(judge: Judge, value: Json, at: FieldPath, *, node: bool) -> None:
    """The operator of a requirement, and how many values it takes."""
    operator, values = text(value, "operator"), texts(value, "values")
    if operator in ("In", "NotIn"):
        if not values:
            judge.add(required(at.child("values"), "must be specified when `operator` is 'In' or 'NotIn'"))
    elif operator in ("Exists", "DoesNotExist"):
        if values:
            why = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
            judge.add(forbidden(at.child("values"), why))
    elif operator in ("Gt", "Lt") and node:
        if len(values) != 1:
            judge.add(required(at.child("values"), "must be specified single value when `operator` is 'Lt' or 'Gt'"))
    else:
        judge.add(invalid(at.child("operator"), operator, "not a valid selector operator"))


@rule("LabelSelectorRequirement")
def _label_requirement(judge: Judge, value: Json, at: FieldPath) -> None:
    _check_operator(judge, value, at, node=False)


@rule("NodeSelectorRequirement")
@rule("PreferredRequirement")
def _node_requirement(judge: Judge, value: Json, at: FieldPath) -> None:
    _check_operator(judge, value, at, node=True)


@rule("NodeFieldSelectorRequirement")
def _field_requirement(judge: Judge, value: Json, at: FieldPath) -> None:
    operator, key, values = text(value, "operator"), text(value, "key"), texts(value, "values")
    if operator not in ("In", "NotIn"):
        judge.add(invalid(at.child("operator"), operator, "not a valid selector operator"))
    elif len(values) != 1:
        why = "must be only one value when `operator` is 'In' or 'NotIn' for node field selector"
        judge.add(required(at.child("values"), why))
    if key != "metadata.name":
        judge.add(invalid(at.child("key"), key, "not a valid field selector key"))
        return
    for index, name in enumerate(values):
        judge.add_invalid(dns_1123_subdomain(name), name, at.child("values").index(index))


@rule("PodAffinityTerm")
def _affinity_term(judge: Judge, value: Json, at: FieldPath) -> None:
    for name in texts(value, "namespaces"):
        judge.add_invalid(dns_1123_label(name), name, at, "namespace")
    _check_label_keys(judge, value, at)


def _check_label_keys(judge: Judge, value: Json, at: FieldPath, *, mismatch: bool = True) -> None:
    """``ValidateMatchLabelKeysAndMismatchLabelKeys``."""
    selector, matched = field(value, "labelSelector"), texts(value, "matchLabelKeys")
    mismatched = texts(value, "mismatchLabelKeys") if mismatch else []
    for key, names in (("matchLabelKeys", matched), ("mismatchLabelKeys", mismatched)):
        if names and selector is None:
            why = "must not be specified when labelSelector is not set"
            judge.add(forbidden(at.child(key), why), only_if_complete=True)
        elif names:
            for index, name in enumerate(names):
                judge.add_invalid(label_key(name), name, at.child(key).index(index))
    _check_selected_keys(judge, selector or {}, matched, at)
    both = set(matched).intersection(mismatched)
    for index, name in enumerate(matched if both else ()):
        if name in both:
            why = "exists in both matchLabelKeys and mismatchLabelKeys"
            judge.add(invalid(at.child("matchLabelKeys").index(index), name, why))


def _check_selected_keys(judge: Judge, selector: Json, matched: list[str], at: FieldPath) -> None:
    """Kubernetes merges the keys into the selector, so it looks for keys that the selector has twice."""
    places, seen = {name: index for index, name in enumerate(matched)}, set(field(selector, "matchLabels") or {})
    for _, requirement in structs(selector, "matchExpressions"):
        key = text(requirement, "key")
        if key in places and key in seen:
            why = "exists in both matchLabelKeys and labelSelector"
            judge.add(invalid(at.index(places[key]), key, why))
        seen.add(key)


@rule("TopologySpreadConstraint")
def _spread(judge: Judge, value: Json, at: FieldPath) -> None:
    domains, action = number(value, "minDomains"), text(value, "whenUnsatisfiable")
    if domains is not None and action != "DoNotSchedule":
        why = f"can only use minDomains if whenUnsatisfiable=DoNotSchedule, not {cut(action)}"
        judge.add(invalid(at.child("minDomains"), domains, why))
    _check_label_keys(judge, value, at, mismatch=False)


def check_spread(judge: Judge, spec: Json, at: FieldPath) -> None:
    """No two constraints may have one topology key and one action."""
    if judge.part:
        return
    pairs = [
        (index, text(constraint, "topologyKey"), text(constraint, "whenUnsatisfiable"))
        for index, constraint in structs(spec, "topologySpreadConstraints")
    ]
    last = {(key, action): index for index, key, action in pairs}
    for index, key, action in pairs:
        if index < last[key, action]:
            own = at.child("topologySpreadConstraints").index(index).child("{topologyKey, whenUnsatisfiable}")
            judge.add(duplicate(own, f"{{{cut(key)}, {cut(action)}}}"))


@rule("Toleration")
def _toleration(judge: Judge, value: Json, at: FieldPath) -> None:
    operator, content, effect = text(value, "operator"), text(value, "value"), text(value, "effect")
    if not text(value, "key") and operator != "Exists":
        why = 'operator must be Exists when `key` is empty, which means "match all values and all keys"'
        judge.add(invalid(at.child("operator"), operator, why))
    if number(value, "tolerationSeconds") is not None and effect != "NoExecute":
        judge.add(invalid(at.child("effect"), effect, "effect must be 'NoExecute' when `tolerationSeconds` is set"))
    problems = label_value(content) if operator in ("Equal", "") else []
    if problems:
        judge.add(invalid(at.child("operator"), content, ";".join(problems)))
    if operator == "Exists" and content:
        judge.add(invalid(at.child("operator"), content, "value must be empty when `operator` is 'Exists'"))
    if operator in _COMPARISONS:
        judge.add(not_supported(at.child("operator"), operator, _OPERATORS + _COMPARISONS))
    elif operator and operator not in _OPERATORS:
        judge.add(not_supported(at.child("operator"), operator, _OPERATORS))
