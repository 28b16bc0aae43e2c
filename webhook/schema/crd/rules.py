"""Checks x-kubernetes-validations when a CRD is created: texts, compilation, estimated cost."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from webhook.cel import Declared, declare
from webhook.schema.crd.internal import rule_struct
from webhook.schema.crd.structure import is_zero
from webhook.schema.fielderror import FieldError, forbidden, invalid, not_supported, required
from webhook.schema.node import SchemaNode, build
from webhook.schema.paths import PathError, resolve_path
from webhook.schema.rules.compile import Rule, compile_own, rule_environment

Raw = Mapping[str, Any]

COST_LIMIT = 10_000_000  # of one expression, multiplied by the number of times it may run for one object
CRD_COST_LIMIT = 100_000_000  # of all expressions of one schema
_MIN_REPORTED_COST = CRD_COST_LIMIT // 100
_MAX_REPORTED = 4  # errors name this many of the most expensive rules
_UINT64 = 2**64 - 1
_REASONS = ("FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired")
_BREAK = re.compile(r"[\n\r]")
_ADVICE = (
    "(try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings "
    "are declared)"
)


@dataclass(frozen=True, slots=True)
class SchemaOptions:
    """The checks of a schema: all of a new CRD, fewer of an update, which may keep a fault of the old CRD.

    ``known_rules`` and ``known_messages`` are expressions of the old CRD. They may use everything that an older or
    newer API server allowed.
    """

    valid_types: bool = True
    structural: bool = True
    pruned_defaults: bool = True
    atomic_sets: bool = True
    map_keys: bool = True
    known_rules: frozenset[str] = frozenset()
    known_messages: frozenset[str] = frozenset()
    rule_costs: bool = True


@dataclass(slots=True)
class Costs:
    """The estimated costs of all expressions of a schema."""

    total: int = 0
    expensive: list[tuple[int, str]] = field(default_factory=list)

    def add(self, path: str, cost: int) -> None:
        self.total = min(self.total + cost, _UINT64)
        if cost >= _MIN_REPORTED_COST:
            self.expensive = sorted([*self.expensive, (cost, path)], key=lambda entry: -entry[0])[:_MAX_REPORTED]


@dataclass(frozen=True, slots=True)
class RuleContext:
    """The place of a node: the schemas above it, and how often its rules run for one object.

    ``cardinality`` is None if it is unbounded.
    """

    raw: Raw
    is_root: bool = True
    cardinality: int | None = 1
    costs: Costs = field(default_factory=Costs)
    parent: RuleContext | None = None

    def child(self, raw: Raw) -> RuleContext:
        times = _max_elements(self.raw)
        bound = None if self.cardinality is None or times is None else min(self.cardinality * times, _UINT64)
        return RuleContext(raw, bool(raw.get("x-kubernetes-embedded-resource")), bound, self.costs, self)

    @property
    def has_rules(self) -> bool:
        """Whether there are rules at or above this node."""
        return bool(self.raw.get("x-kubernetes-validations")) or (self.parent is not None and self.parent.has_rules)

    def declare(self) -> Declared | None:
        """The CEL type of self; None if it cannot be declared, or if that of a schema with rules above it cannot."""
        if self.parent is not None and self.parent.has_rules and self.parent.declare() is None:
            return None
        return declare(self.raw, is_root=self.is_root, name="selfType")


def _max_elements(raw: Raw) -> int | None:
    kind = raw.get("type")
    if kind == "array":
        limit = raw.get("maxItems")
    elif kind == "object" and raw.get("additionalProperties") is not None:
        limit = raw.get("maxProperties")
    else:
        return 1
    return None if limit is None else max(0, int(limit))


def rule_text_errors(raw: Raw, path: str) -> list[FieldError]:
    """The errors of the texts of one node's rules; the expressions are checked by :func:`rule_errors`."""
    errors: list[FieldError] = []
    for i, rule in enumerate(raw["x-kubernetes-validations"]):
        own = f"{path}.x-kubernetes-validations[{i}]"
        errors += _message_errors(rule, own)
        reason, field_path = rule.get("reason"), rule.get("fieldPath") or ""
        if reason is not None and reason not in _REASONS:
            errors.append(not_supported(f"{own}.reason", reason, _REASONS))
        if field_path:
            errors += [invalid(f"{own}.fieldPath", field_path, why) for why in _path_problems(field_path, raw)]
    return errors


def _message_errors(rule: Raw, own: str) -> list[FieldError]:
    text, message, expression = (str(rule.get(key) or "") for key in ("rule", "message", "messageExpression"))
    errors = []
    if not text.strip():
        errors.append(required(f"{own}.rule", "rule is not specified"))
    elif message and not message.strip():
        errors.append(invalid(f"{own}.message", message, "must be non-empty if specified"))
    elif _BREAK.search(message.strip()):
        errors.append(invalid(f"{own}.message", message, "must not contain line breaks"))
    elif _BREAK.search(text.strip()) and not message.strip():
        errors.append(required(f"{own}.message", "message must be specified if rule contains line breaks"))
    if expression and not expression.strip():
        errors.append(required(f"{own}.messageExpression", "messageExpression must be non-empty if specified"))
    return errors


def _path_problems(path: str, raw: Raw) -> list[str]:
    problems = [] if path.strip() else ["must be non-empty if specified"]
    if _BREAK.search(path):
        problems.append("must not contain line breaks")
    if unstructurable(raw) is None:
        try:
            resolve_path(path, build(raw))
        except PathError:
            problems.append("must be a valid path")
    return problems


_PLAIN = frozenset({"type", "description", "format", "default", "nullable", "pattern"})
_UNSUPPORTED = ("id", "$schema", "$ref", "patternProperties", "dependencies", "additionalItems", "definitions")


def unstructurable(raw: Raw) -> str | None:
    """Why a schema cannot be converted to a structural one; None if it can (``NewStructural``)."""
    if raw.keys() <= _PLAIN:
        return None
    for key in _UNSUPPORTED:
        if not is_zero(key, raw.get(key)):
            return f"OpenAPIV3Schema '{'schema' if key == '$schema' else key}' is not supported"
    nested = [raw.get("not"), *(branch for key in ("allOf", "anyOf", "oneOf") for branch in raw.get(key) or ())]
    for child in nested:
        problem = None if child is None else unstructurable(child)
        if problem:
            return problem
    if raw.get("x-kubernetes-preserve-unknown-fields") is False:
        return "internal error: 'x-kubernetes-preserve-unknown-fields' must be true or undefined"
    if isinstance(raw.get("items"), list):
        return "OpenAPIV3Schema 'items' must be a schema, but is an array"
    below = [raw.get("items"), *(raw.get("properties") or {}).values(), raw.get("additionalProperties")]
    problems = (unstructurable(child) for child in below if isinstance(child, Mapping))
    return next(filter(None, problems), None)


def rule_errors(
    raw: Raw, path: str, context: RuleContext, uncorrelatable: str, options: SchemaOptions
) -> list[FieldError]:
    """Compile the rules of one node: as new expressions, unless the old CRD has the same expression."""
    own = f"{path}.x-kubernetes-validations"
    declared = context.declare()
    if declared is None:
        why = "internal error: failed to construct type information for x-kubernetes-validations rules: "
        why += "unable to convert structural schema to CEL declarations"
        return [FieldError("InternalError", own, why)]
    node = build(raw)
    old = options.known_rules | options.known_messages
    rules = compile_own(node.rules, node, is_root=context.is_root, new=lambda text: text not in old)
    times = declared.occurrences if context.cardinality is None else context.cardinality
    errors: list[FieldError] = []
    for i, rule in enumerate(rules):
        costs = _cost_errors(rule, node, f"{own}[{i}]", context, times)
        errors += costs if options.rule_costs else []
        errors += _compiled_errors(rule, f"{own}[{i}]", uncorrelatable)
    return errors


def _cost_errors(rule: Rule, node: SchemaNode, path: str, context: RuleContext, times: int) -> list[FieldError]:
    """Check the estimated cost of a rule and its message. A rule runs for every value that its schema allows."""
    environment = rule_environment(node, is_root=context.is_root, optional=rule.optional)
    errors = []
    parts = (
        ("rule", rule.program, times, "estimated rule cost"),
        ("messageExpression", rule.message, 1, "estimated messageExpression cost"),
    )
    for key, program, runs, what in parts:
        if program is not None:
            cost = min(environment.estimate(program.source).max * runs, _UINT64)
            context.costs.add(f"{path}.{key}", cost)
            if cost > COST_LIMIT:
                errors.append(forbidden(f"{path}.{key}", cost_text(what, cost, COST_LIMIT)))
    return errors


def _compiled_errors(rule: Rule, path: str, uncorrelatable: str) -> list[FieldError]:
    errors = []
    if rule.problem:
        errors.append(invalid(f"{path}.rule", rule_struct(rule.raw), rule.problem))
    if rule.message_problem:
        errors.append(invalid(f"{path}.messageExpression", rule_struct(rule.raw), rule.message_problem))
    optional = rule.raw.get("optionalOldSelf")
    if rule.transition and uncorrelatable:
        why = f"oldSelf cannot be used on the uncorrelatable portion of the schema within {uncorrelatable}"
        errors.append(invalid(f"{path}.rule", rule.raw["rule"], why))
    elif not rule.transition and optional is not None:
        errors.append(
            invalid(f"{path}.optionalOldSelf", bool(optional), "may not be set if oldSelf is not used in rule")
        )
    return errors


def total_cost_errors(costs: Costs, path: str) -> list[FieldError]:
    """The errors of a schema whose rules cost too much in total; they name the most expensive rules."""
    if costs.total <= CRD_COST_LIMIT:
        return []
    why = "contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema"
    what = "x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema"
    named = [forbidden(where, why) for _, where in costs.expensive]
    return [*named, forbidden(path, cost_text(what, costs.total, CRD_COST_LIMIT))]


def cost_text(what: str, cost: int, limit: int) -> str:
    """The message for a cost above its limit, with advice."""
    times = cost / limit
    factor = "more than 100x" if times > 100 else f"{times:f}x" if times < 1.5 else f"{times:.1f}x"
    return f"{what} exceeds budget by factor of {factor} {_ADVICE}"
