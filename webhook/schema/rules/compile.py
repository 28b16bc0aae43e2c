"""Compiles the x-kubernetes-validations of a schema to a tree of the nodes with rules at or below them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from webhook.cel import COMPATIBLE, CompileFailure, Environment, Program, ResultFailure, declare
from webhook.cel.batch import Condition, Part
from webhook.cel.types import BOOL, STRING
from webhook.cel.values import escape
from webhook.schema.node import SchemaNode, Version, distinct
from webhook.schema.paths import PathError, resolve_path


@dataclass(frozen=True, slots=True)
class Rule:
    """One compiled rule.

    ``program`` is None if the rule is empty or does not compile; ``problem`` is then the error, and every object is
    refused. ``transition``: the rule reads oldSelf. ``optional``: oldSelf is an optional. ``field`` is the fieldPath as
    errors print it. ``message_problem`` is the error of a messageExpression that does not compile.
    """

    raw: Mapping[str, Any]
    program: Program | None = None
    problem: str = ""
    transition: bool = False
    optional: bool = False
    field: str = ""
    message: Program | None = None
    message_problem: str = ""

    @property
    def shown(self) -> str:
        """The text of the rule in errors: its message, else its expression."""
        return str(self.raw.get("message") or self.raw.get("rule") or "").strip()

    @property
    def reason(self) -> str:
        return str(self.raw.get("reason") or "")


@dataclass(frozen=True, slots=True, eq=False)
class RuleNode:
    """The rules of one schema node, and the nodes below it that have rules.

    ``problem`` is the error if CEL cannot declare the type of the value; then no rule can run.
    """

    node: SchemaNode
    rules: tuple[Rule, ...] = ()
    items: RuleNode | None = None
    properties: Mapping[str, RuleNode] = field(default_factory=dict)
    additional: RuleNode | None = None
    all_of: tuple[RuleNode, ...] = ()
    problem: str = ""


def compile_rules(
    root: SchemaNode,
    *,
    is_root: bool = True,
    version: Version = COMPATIBLE,
    nested: bool = False,
    name: str = "schema",
) -> RuleNode | None:
    """The rules of a schema as stored expressions of a Kubernetes minor; None if there are none.

    Never raises: a rule that does not compile refuses every object, as the API server does with a rule that an older
    version accepted.

    Args:
        root: the schema.
        is_root: the schema is a resource's, so rules can read apiVersion, kind, metadata.name and
            metadata.generateName.
        version: the Kubernetes minor.
        nested: find rules that are only under allOf too. No CRD can have such rules.
        name: the kind, which tracebacks and profiles show with the path of a rule.
    """
    if not _has_rules(root, nested=nested):
        return None
    declared = declare(root.raw, is_root=is_root, name="selfType") is not None
    return _compile(root, root, is_root, declared, version, name)


def _has_rules(root: SchemaNode, *, nested: bool) -> bool:
    """Whether there are rules at or below a node; with ``nested`` also under allOf."""
    return any(node.rules for node in distinct(root, junctors=nested))


def _compile(
    rules: SchemaNode, node: SchemaNode, is_root: bool, declared: bool, version: Version, name: str
) -> RuleNode | None:
    """``rules`` is the schema with the rules: ``node`` itself, or a schema under its allOf."""
    own = compile_own(rules.rules, node, is_root=is_root, version=version, name=name) if declared else ()
    compiled = RuleNode(
        node=node,
        rules=own,
        items=_child(rules.items, node.items, declared, version, f"{name}[*]"),
        properties=_properties(rules, node, declared, version, name),
        additional=_child(rules.additional, node.additional, declared, version, f"{name}.*"),
        all_of=tuple(
            child
            for branch in rules.all_of
            if (child := _compile(branch, node, is_root, declared, version, name)) is not None
        ),
        problem="failed to convert to declType for CEL validation rules" if rules.rules and not declared else "",
    )
    parts = (compiled.rules, compiled.items, compiled.properties, compiled.additional, compiled.all_of)
    return compiled if any(parts) or compiled.problem else None


def conditions_of(rules: RuleNode, at: tuple[str, ...] = ()) -> Iterator[Condition | None]:
    """The rules as conditions on an object; None for one that only the walk over the object can evaluate.

    A messageExpression is not needed: where a rule fails, the walk words the error.
    """
    if rules.problem:
        yield None
    for rule in rules.rules:
        if rule.problem or rule.optional:
            yield None
        elif rule.program is not None:
            yield Condition(at, None, Part(rule.program, ()), transition=rule.transition)
    for branch in rules.all_of:
        yield from conditions_of(branch, at)
    for below in filter(None, (rules.items, rules.additional)):
        yield from conditions_of(below, (*at, "*"))
    for key, child in rules.properties.items():
        yield from conditions_of(child, (*at, key))


def _child(
    rules: SchemaNode | None, node: SchemaNode | None, declared: bool, version: Version, name: str
) -> RuleNode | None:
    if rules is None or node is None:
        return None
    return _compile(rules, node, node.embedded, declared and _is_declared(node), version, name)


def _is_declared(node: SchemaNode) -> bool:
    return declare(node.raw, is_root=node.embedded, name="selfType") is not None


def _properties(
    rules: SchemaNode, node: SchemaNode, declared: bool, version: Version, name: str
) -> dict[str, RuleNode]:
    """Omit fields without a CEL type; keep fields without a CEL name."""
    compiled_properties = {}
    for key, child_rules in rules.properties.items():
        child = node.properties.get(key)
        if child is None or not (declared or escape(key) is None) or not _has_rules(child_rules, nested=True):
            continue
        if _is_declared(child):
            compiled = _compile(child_rules, child, child.embedded, True, version, f"{name}.{key}")
            if compiled is not None:
                compiled_properties[key] = compiled
    return compiled_properties


def compile_own(
    rules: tuple[Mapping[str, Any], ...],
    node: SchemaNode,
    *,
    is_root: bool,
    version: Version = COMPATIBLE,
    new: Callable[[str], bool] = lambda _: False,
    name: str = "",
) -> tuple[Rule, ...]:
    """The compiled rules of one node.

    Expressions that are not ``new`` are stored ones: they may use the functions of every version.
    """

    def environment(source: str, *, optional: bool) -> Environment:
        return rule_environment(node, is_root=is_root, optional=optional, version=version, stored=not new(source))

    return tuple(_compile_rule(rule, node, environment, name) for rule in rules)


def rule_environment(
    node: SchemaNode, *, is_root: bool, optional: bool = False, version: Version = COMPATIBLE, stored: bool = True
) -> Environment:
    """The environment of the rules of a node: self, and oldSelf (an optional with optionalOldSelf)."""
    base = Environment(version=version, stored=stored).with_schema("self", node.raw, is_root=is_root, type_name=_TYPE)
    return base.with_schema("oldSelf", node.raw, is_root=is_root, optional=optional, type_name=_TYPE)


_TYPE = "selfType#"  # no expression can write it


def _compile_rule(raw: Mapping[str, Any], node: SchemaNode, environment: Callable[..., Environment], name: str) -> Rule:
    names = (f"{name} rule", f"{name} messageExpression") if name else ("", "")
    source, optional = raw.get("rule") or "", bool(raw.get("optionalOldSelf"))
    if not source.strip():
        return Rule(raw)
    try:
        program = environment(source, optional=optional).compile(source, expect=BOOL, name=names[0])
    except ResultFailure:
        return Rule(raw, problem="cel expression must evaluate to a bool")
    except CompileFailure as failure:
        return Rule(raw, problem=f"{failure.stage}: {failure}", optional=optional)
    text = raw.get("messageExpression") or ""
    message, problem = _compile_message(text, environment(text, optional=optional), names[1]) if text else (None, "")
    return Rule(
        raw,
        program,
        transition="oldSelf" in program.variables,
        optional=optional,
        field=_field(raw.get("fieldPath") or "", node),
        message=message,
        message_problem=problem,
    )


def _compile_message(source: str, environment: Environment, name: str) -> tuple[Program | None, str]:
    try:
        return environment.compile(source, expect=STRING, name=name), ""
    except ResultFailure:
        return None, "messageExpression must evaluate to a string"
    except CompileFailure as failure:
        stage = failure.stage.removeprefix("program ")
        return None, f"messageExpression {stage}: {failure}"


def _field(path: str, node: SchemaNode) -> str:
    if not path:
        return ""
    try:
        return resolve_path(path, node)[0]
    except PathError:
        return ""
