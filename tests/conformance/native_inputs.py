"""The inputs of the admission tables: attributes, rules, evaluations, an authorizer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from webhook.admission.decision import GroupVersionKind
from webhook.cel.library.authorizer import Decision, Question
from webhook.cel.types import STRING
from webhook.vap.attributes import Attributes, GroupVersionResource
from webhook.vap.expressions import Evaluation
from webhook.vap.models import LabelSelector, MatchResources, Rule

Case = dict[str, Any]


def kind_of(given: Case) -> GroupVersionKind:
    return GroupVersionKind(given["group"], given["version"], given["kind"])


def resource_of(given: Case) -> GroupVersionResource:
    return GroupVersionResource(given["group"], given["version"], given["resource"])


def attributes_of(given: Case) -> Attributes:
    return Attributes(
        kind_of(given["kind"]),
        resource_of(given["resource"]),
        given["operation"],
        given["object"],
        given["oldObject"],
        given["name"],
        given["namespace"],
        given["subresource"],
        given["dryRun"],
        options=given["options"],
    )


def rule_of(given: Case) -> Rule:
    """A rule with whatever fields the table has; the others are empty, so that they match nothing."""
    empty = {"apiGroups": [], "apiVersions": [], "operations": [], "resources": [], "resourceNames": [], "scope": "*"}
    return Rule.model_construct(**{**empty, **given})


def match_resources(given: Case) -> MatchResources:
    rules = {name: list(map(rule_of, given.get(name, ()))) for name in ("resourceRules", "excludeResourceRules")}
    selectors = {
        name: LabelSelector(**given[name])
        for name in ("namespaceSelector", "objectSelector")
        if given.get(name) is not None
    }
    return MatchResources.model_construct(matchPolicy=given.get("matchPolicy", "Exact"), **rules, **selectors)


def evaluation_of(given: Case) -> Evaluation | None:
    """What an expression is said to have come to; None for one that is not there."""
    if given["Error"] is not None:
        return Evaluation(error=given["Error"])
    result = given["EvalResult"]
    if result is None:
        return None
    if result["type"] == "null":
        return Evaluation(None)
    return Evaluation(STRING if result["type"] == "type" else result["value"])


def decider(given: Case) -> Callable[[Question], Decision]:
    """An authorizer that has one answer for one question, and another for all others."""
    match = given.get("match")

    def decide(question: Question) -> Decision:
        return _decision(given["matchResult"] if match and _is(match, question) else given["default"])

    return decide


def _decision(given: Case) -> Decision:
    return Decision(given["decision"] == "allow", given["reason"], given["error"])


def _is(match: Case, question: Question) -> bool:
    account = question.service_account
    user = None if account is None else f"system:serviceaccount:{account[0]}:{account[1]}"
    wanted = (
        match["APIGroup"],
        match["Resource"],
        match["Subresource"],
        match["Namespace"],
        match["Name"],
        match["Path"],
        match["Verb"],
        match["User"]["Name"] if match["User"] else None,
    )
    asked = (
        question.group,
        question.resource,
        question.subresource,
        question.namespace,
        question.name,
        question.path,
        question.verb,
        user,
    )
    return wanted == asked and bool(question.field_selector) is bool(
        match["FieldSelectorRequirements"] or match["FieldSelectorParsingErr"]
    )
