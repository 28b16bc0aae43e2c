"""Operations on what policies are about: matchConstraints, rules, selectors, params."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tests.conformance.compare import differs, first
from tests.conformance.native_inputs import attributes_of, kind_of, match_resources, resource_of
from webhook.admission.decision import GroupVersionKind
from webhook.vap.attributes import GroupVersionResource
from webhook.vap.context import Equivalent, MemoryContext
from webhook.vap.dispatch import ParamError, collect
from webhook.vap.matching.matcher import Criteria, MatchError, rule_matches
from webhook.vap.matching.selector import Selector
from webhook.vap.models import LabelSelector, ParamKind, ParamRef, Rule

Case = dict[str, Any]

NOTHING = Selector((lambda _labels: False,))
"""What Go's matcher makes of a selector that is absent where no default has been filled in."""


class _Deployments(MemoryContext):
    """Knows that deployments of two groups are the same objects; ``scale`` is of another group in apps/v1."""

    def equivalents(self, resource: GroupVersionResource, subresource: str) -> Sequence[Equivalent]:
        if resource.name != "deployments":
            return ()
        kind = "Scale" if subresource == "scale" else "Deployment"
        found = []
        for group, version in (("apps", "v1"), ("apps", "v1beta1"), ("apps", "v1alpha1"), ("extensions", "v1beta1")):
            of_scale = kind == "Scale" and (group, version) == ("apps", "v1")
            named = GroupVersionKind("autoscaling" if of_scale else group, version, kind)
            found.append(Equivalent(GroupVersionResource(group, version, resource.name), named))
        return found


def match(case: Case) -> str | None:
    given, actual = case["in"], case["actual"]
    written = match_resources(given["criteria"])
    selectors = [
        Selector.of(LabelSelector(**given["criteria"][name])) if name in given["criteria"] else NOTHING
        for name in ("namespaceSelector", "objectSelector")
    ]
    criteria = Criteria(
        *selectors, tuple(written.resourceRules), tuple(written.excludeResourceRules), written.matchPolicy == "Exact"
    )
    try:
        found = criteria.match(attributes_of(given["attributes"]), _Deployments())
    except MatchError as error:
        return differs("error", actual.get("error"), str(error))
    problem = first(differs("error", actual.get("error"), None), differs("matches", actual["matches"], bool(found)))
    if problem or found is None:
        return problem
    return first(
        differs("resource", resource_of(actual["resource"]), found.resource),
        differs("kind", str(kind_of(actual["kind"])), str(found.kind)),
    )


_ASPECTS = {
    "group": "apiGroups",
    "version": "apiVersions",
    "operation": "operations",
    "resource": "resources",
    "scope": "scope",
}


def rule_match(case: Case) -> str | None:
    """One aspect of a rule: the others match anything."""
    anything = {"apiGroups": ["*"], "apiVersions": ["*"], "operations": ["*"], "resources": ["*/*"], "scope": "*"}
    aspect = _ASPECTS[case["in"]["aspect"]]
    rule = Rule.model_construct(**{**anything, "resourceNames": [], aspect: case["in"]["rule"][aspect]})
    attributes = attributes_of(case["in"]["attributes"])
    return differs("matches", case["expect"]["matches"], rule_matches(rule, attributes, attributes.resource))


def object_selector(case: Case) -> str | None:
    criteria = Criteria(Selector(), Selector.of(LabelSelector(**case["in"]["selector"])))
    found = criteria.match(attributes_of(case["in"]["attributes"]), MemoryContext())
    return differs("matches", case["expect"]["matches"], found is not None)


class _TwoKinds(MemoryContext):
    """Two kinds of params, one of them without namespaces."""

    def is_namespaced(self, kind: ParamKind) -> bool:
        return not kind.kind.startswith("ClusterScoped")


def param_ref(case: Case) -> str | None:
    given, expect = case["in"], case["expect"]
    context = _TwoKinds(given["params"])
    namespace = given["requestObject"]["metadata"].get("namespace", "")
    try:
        found = collect(ParamKind(**given["paramKind"]), ParamRef(**given["paramRef"]), namespace, context)
    except ParamError as error:
        got_text = f"failed to configure binding: {error}"
        contained = expect.get("errorContains", "no error")
        return None if contained in got_text else differs("error", contained, got_text)
    metadata = [(param or {})["metadata"] for param in found]
    got = [{"name": item["name"], "namespace": item.get("namespace", "")} for item in metadata]
    return first(
        differs("error", expect.get("errorContains"), None),
        differs("params", sorted(expect["params"], key=_name), sorted(got, key=_name)),
    )


def _name(item: Case) -> tuple[str, str]:
    return item["namespace"], item["name"]


OPS = {"match-resources": match, "rule-match": rule_match, "object-selector": object_selector, "param-ref": param_ref}
