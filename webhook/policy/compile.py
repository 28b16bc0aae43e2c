"""Compile a Policy document against the types of its kind, so that errors show at load time and not at run time."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from graphlib import CycleError
from typing import TYPE_CHECKING, Any, Final

from webhook.admission.errors import CatalogError, Problem
from webhook.cel import CompileFailure, Environment, type_of_schema
from webhook.cel.syntax import Expr, Ident, Select
from webhook.cel.types import BOOL, DYN, STRING, Type
from webhook.ground.fieldpath import field_path
from webhook.kubernetes import DECLARED
from webhook.manifests.documents import Document
from webhook.policy.environments import (
    Environments,
    Inputs,
    Schema,
    child_of,
    has_open_field,
    node_at,
    unreadable,
    with_stored_type,
)
from webhook.policy.order import in_order
from webhook.policy.path import MISSING, Path
from webhook.policy.policy import Action, DefaultRule, FactValue, Policy, Reference, ValidationRule, Withdrawn
from webhook.policy.problems import problem
from webhook.policy.ranges import Range, in_force
from webhook.policy.reads import OBJECT, STORED, Expression, Reads
from webhook.policy.template import ChildRule, Entry, Fields
from webhook.policy.templates import At, Compile, Templates, of_facts, paths_of

if TYPE_CHECKING:
    from webhook.policy.document import Child, Default, PolicyDocument, Validation, Variable

_UNDEFINED: Final = re.compile(r"undefined field '([^']+)'")
_MIXED: Final = "expected type 'dyn' but found"
_DYNAMIC: Final = "what is read of oldObject has no type: write dyn(…) around each item of the list"

Holds = Callable[[str], bool]
"""Whether a range of releases holds of those that are in force."""


def compile_policy(
    document: PolicyDocument,
    origin: Document,
    inputs: Inputs,
    holds: Holds | None = None,
    base: Policy | None = None,
    *,
    on_demand: bool = False,
) -> Policy:
    """The compiled policy: the rules that have no range of releases, and those whose range holds.

    Args:
        document: the policy parsed from ``origin``.
        origin: the source document, to name lines in errors.
        inputs: what the rules can read.
        holds: whether a range holds of the releases in force. Without it, all do.
        base: another policy of the kind, whose variables the expressions may read, too.
        on_demand: make no generated function before its first call, for a policy that is only checked.

    Raises:
        CatalogError: with every problem of every rule.
    """
    compiler = _Compiler(origin, document.spec.target.kind, inputs, holds or _always, on_demand=on_demand)
    if base is not None:
        compiler.know(base)
    policy = compiler.policy(document)
    if compiler.problems:
        raise CatalogError(compiler.problems)
    return policy


def _always(_: str) -> bool:
    return True


class _Compiler:
    def __init__(self, origin: Document, kind: str, inputs: Inputs, holds: Holds, *, on_demand: bool) -> None:
        self.holds, self.on_demand = holds, on_demand
        self.origin = origin
        self.kind = kind
        self.problems: list[Problem] = []
        self.facts = frozenset(inputs.facts)
        self.environments = Environments(inputs)
        self.root = self.environments.at(None)
        self.compiled: dict[str, Expression] = {}
        self.trees: dict[str, Expr] = {}  # of the variables, as the compiled expressions

    def policy(self, document: PolicyDocument) -> Policy:
        spec = document.spec
        variables: Sequence[Variable] = spec.variables
        for index, variable in in_force(variables, self.holds):
            at = ("spec", "variables", index, "expression")
            name = f"{self.kind} variables.{variable.name}"
            compiled = self.expression(self.root, variable.expression, None, at, name)
            if compiled is not None:
                self.environments.declare(variable.name, variable.expression, compiled.program.result)
                self.compiled[variable.name] = compiled
                self.trees[variable.name] = compiled.program.tree()
        defaults = self._sorted(tuple(self._defaults(document)))
        validations = tuple(self._validations(document))
        self._unique(document)
        return Policy(
            document.metadata.name,
            self.compiled,
            defaults,
            validations,
            numeric_quantities=spec.numericQuantities,
            operator=spec.operator or "",
            renamed=dict(spec.renamed),
            pod_types=dict(self._pod_types(document)),
            pod_owner=spec.podOwner,
            withdrawn=tuple(self._withdrawn(spec.defaults)),
            references=tuple(self._references(document)),
            children=tuple(self._children(document)),
        )

    def know(self, base: Policy) -> None:
        """Let expressions read the variables of another policy."""
        for name, variable in base.variables.items():
            self.environments.declare(name, variable.source, variable.program.result)
            self.compiled[name], self.trees[name] = variable, variable.program.tree()

    def _children(self, document: PolicyDocument) -> Iterator[ChildRule]:
        children: Sequence[Child] = document.spec.children
        for index, child in in_force(children, self.holds):
            yield self._child(child, ("spec", "children", index))

    def _child(self, child: Child, at: tuple[str | int, ...]) -> ChildRule:
        name = f"{self.kind} {child.name}"

        def expression(env: Environment, text: str, expect: Type | None, place: At) -> Expression | None:
            return self.expression(env, text, expect, place, f"{name} {field_path(place[len(at) :])}", on_demand=True)

        templates = Templates(Compile(expression, self._item, self._problem, self.trees))
        each, env = None, self.root
        if child.each is not None:
            each = templates.items(child.each, self.root, (*at, "each"))
            within = None if each is None else self._item(each.path, (*at, "each"))
            env = within or env
        when = None if child.when is None else templates.expression(child.when, env, (*at, "when"), BOOL)
        made = templates.node(child.object, env, (*at, "object"))
        fields = made if isinstance(made, Fields) else Fields((Entry("", made),))
        facts = frozenset(templates.facts)
        kind, api_version = child.object["kind"], child.object["apiVersion"]
        copies, leaves = paths_of([fields]), tuple({leaf.path: leaf for leaf in of_facts(fields)}.values())
        computed = tuple(templates.computed)
        return ChildRule(
            *(child.name, api_version, kind, when, each, fields, child.becomes, facts, copies, leaves, computed),
            assumed=child.assumed,
        )

    def _item(self, path: tuple[str, ...], at: tuple[str | int, ...]) -> Environment | None:
        """The environment of the items of a list; None, and a problem, if there is no list."""
        root, keys = path[0], path[1:]
        if root == OBJECT:
            node = self._schema_at(Path((*keys, "*")), at)
            return None if node is None else self.environments.at(Path((*keys, "*")))
        if node_at({"properties": self.environments.facts}, (*keys, "*")) is None:
            self._problem(at, f"no list {'.'.join(path)}; the facts of this kind are {', '.join(sorted(self.facts))}")
            return None
        return self.environments.of_item(keys)

    def _references(self, document: PolicyDocument) -> Iterator[Reference]:
        for index, each in enumerate(document.spec.references):
            for name in ("path", "labelsPath", "namespacePath"):
                if path := getattr(each, name):
                    self._schema_at(Path.parse(path), ("spec", "references", index, name))
            yield Reference.of(each)

    def _withdrawn(self, defaults: Sequence[Default]) -> Iterator[Withdrawn]:
        """The defaults of which no form is in force, each once."""
        left = {default.code: default for default in defaults}
        for _, default in in_force(defaults, self.holds):
            left.pop(default.code, None)
        for default in left.values():
            path = Path.parse(default.path)
            node = self.environments.node(path.keys) or {}
            over = node.get("default", MISSING) if default.overSchemaDefault else MISSING
            yield Withdrawn(default.code, path, over, default.overwrites, self._lists(path))

    def _pod_types(self, document: PolicyDocument) -> Iterator[tuple[tuple[str, ...], tuple[str, bool]]]:
        for text, kind in document.spec.podTypes.items():
            at, name = ("spec", "podTypes", text), kind.removeprefix("whole ")
            if name not in DECLARED:
                self._problem(at, f"unknown type {name}: use one of {', '.join(sorted(DECLARED))}")
            elif self._schema_at(path := Path.parse(text), at) is not None:
                yield path.keys, (name, name != kind)

    def _defaults(self, document: PolicyDocument) -> Iterator[DefaultRule]:
        defaults: Sequence[Default] = document.spec.defaults
        for index, default in in_force(defaults, self.holds):
            at = ("spec", "defaults", index)
            path = Path.parse(default.path)
            leaf = self._schema_at(path, (*at, "path"))
            if leaf is None:
                continue
            name = f"{self.kind} {default.code} {default.path}"
            env = self.root if path.single else self.environments.at(Path(path.around))
            when = self._part(env, default.when, BOOL, (*at, "when"), name)
            value = self._value(env, default, leaf, at)
            if value and (when or not default.when):
                over = self._schema_default(path, (*at, "overSchemaDefault")) if default.overSchemaDefault else MISSING
                because, overwrites = default.because, default.overwrites
                operator = default.operator or ""
                texts = because, over, overwrites, default.docs, operator, default.always
                yield DefaultRule(default.code, path, when, value, *texts, self._lists(path))

    def _lists(self, path: Path) -> tuple[tuple[str, ...], ...]:
        """For each ``*`` of a path, the fields by which the items are known; none for those of a map."""
        nodes = (self.environments.node(path.keys[:depth]) or {} for depth, key in enumerate(path.keys) if key == "*")
        return tuple(tuple(node.get("x-kubernetes-list-map-keys", ())) for node in nodes)

    def _sorted(self, defaults: tuple[DefaultRule, ...]) -> tuple[DefaultRule, ...]:
        """The defaults in the order of their dependencies; a cycle is a problem."""
        rules = [
            (rule.path.keys, Reads.of([part.program.tree() for part in rule.conditions], self.trees, rule.roots))
            for rule in defaults
        ]
        try:
            return tuple(defaults[index] for index in in_order(rules))
        except CycleError as error:
            codes = " → ".join(defaults[index].code for index in error.args[1])
            self._problem(("spec", "defaults"), f"defaults depend on each other in a cycle: {codes}")
            return defaults

    def _value(
        self, env: Environment, default: Default, leaf: Schema, at: tuple[str | int, ...]
    ) -> Expression | FactValue | None:
        if default.valueFrom is not None:
            keys = tuple(default.valueFrom.split("."))
            if keys[0] in self.facts:
                return FactValue(keys)
            self._problem(
                (*at, "valueFrom"), f"unknown fact {keys[0]!r}; this kind has {', '.join(sorted(self.facts))}"
            )
            return None
        assert default.value is not None  # the document sets one of the two
        # A whole object comes from another object, whose type has another name.
        expect = None if "properties" in leaf else type_of_schema(_as_json(leaf), name="value")
        name = f"{self.kind} {default.code} {default.path} value"
        return self.expression(env, default.value, expect, (*at, "value"), name)

    def _validations(self, document: PolicyDocument) -> Iterator[ValidationRule]:
        validations: Sequence[Validation] = document.spec.validations
        for index, rule in in_force(validations, self.holds):
            at = ("spec", "validations", index)
            places = self._places(rule, (*at, "at"))
            if not places:
                continue
            env = self.environments.at(places[0][0])
            name = f"{self.kind} {rule.code} {places[0][0]}"
            when = self._part(env, rule.when, BOOL, (*at, "when"), name)
            test = self.expression(env, rule.rule, BOOL, (*at, "rule"), f"{name} rule")
            message_at, unseen_at = (*at, "messageExpression"), (*at, "unseen")
            message = self._part(env, rule.messageExpression, STRING, message_at, name, on_demand=True)
            unseen = self._part(env, rule.unseen, STRING, unseen_at, name, on_demand=True)
            self._readable(filter(None, (when, test, message, unseen)), places[0][1], at)
            if test is None:  # a problem, so there will be no policy
                continue
            for path, _ in places:
                yield ValidationRule(
                    rule.code,
                    path,
                    when,
                    test,
                    rule.message or f"failed rule: {rule.rule}",
                    message,
                    rule.fieldPath,
                    rule.reason,
                    Action(rule.action),
                    rule.strict == "Deny",
                    rule.docs,
                    unseen,
                    rule.explains or "",
                    rule.operator or "",
                )

    def _readable(self, expressions: Iterable[Expression], node: Schema, at: tuple[str | int, ...]) -> None:
        """Check that a rule reads no data that the definition leaves open: it would fail on every object."""
        schema = self.environments.schema
        trees = [expression.program.tree() for expression in expressions]
        open_data = dict.fromkeys(name for tree in trees for name in unreadable(tree, self.trees, schema, node))
        if open_data:
            text = f"the definition does not say what is in {', '.join(open_data)}, so a rule can only compare it"
            self._problem((*at, "rule"), f"{text}: give it a type there, or do without the rule")

    def _places(self, rule: Validation, at: tuple[str | int, ...]) -> list[tuple[Path, Schema]]:
        """The paths of a rule with the schemas of their nodes: of a list of paths, those that this kind has."""
        paths = [Path.parse(place) for place in rule.places]
        if not isinstance(rule.at, list):
            node = self._schema_at(paths[0], at)
            return [] if node is None else [(paths[0], node)]
        below = Path.parse(rule.fieldPath.removeprefix(".")).keys
        nodes = [(path, self.environments.node(path.keys)) for path in paths]
        return [(path, node) for path, node in nodes if node is not None and node_at(node, below) is not None]

    def _part(
        self,
        env: Environment,
        source: str | None,
        expect: Type,
        at: tuple[str | int, ...],
        name: str,
        *,
        on_demand: bool = False,
    ) -> Expression | None:
        """The expression of a field that a rule may leave out; ``at`` ends with the field."""
        return self.expression(env, source, expect, at, f"{name} {at[-1]}", on_demand=on_demand) if source else None

    def expression(
        self,
        env: Environment,
        source: str,
        expect: Type | None,
        at: tuple[str | int, ...],
        name: str,
        *,
        on_demand: bool = False,
    ) -> Expression | None:
        """Compile one expression; a failure becomes problems. ``name`` is shown in tracebacks and profiles."""
        try:
            checked = env.check(source)
            if STORED in source:
                with_stored_type(env).check(source)
            expect = None if expect == DYN else expect
            late = on_demand or self.on_demand
            program = env.program(checked, expect, name=name, on_demand=late, keep_tree=True)
        except CompileFailure as failure:
            for issue in failure.issues:
                place = f" (line {issue.line}, column {issue.column + 1} of the expression)" if issue.line > 0 else ""
                self._problem(at, f"{issue.message}{place}{self._remedy(issue.message, source)}")
            return None
        reads = _selected(checked.expr)
        variables: dict[str, None] = {}
        named = tuple(dict.fromkeys(reads.get("facts", ())))
        facts = set(named)
        for variable in reads.get("variables", ()):
            needed = self.compiled[variable]
            variables.update(dict.fromkeys((*needed.variables, variable)))
            facts |= needed.facts
        local = program.variables <= {"self", "oldSelf"}
        return Expression(program, tuple(variables), frozenset(facts), named, local)

    def _remedy(self, message: str, source: str) -> str:
        """What to do about a failure whose own text does not say why."""
        if STORED in source and _MIXED in message:
            return f"; {_DYNAMIC}"
        undefined = _UNDEFINED.match(message)
        if undefined is not None and has_open_field(self.environments.schema, undefined[1]):
            return "; the definition does not say what is in it: give it a type there, or do without the rule"
        return ""

    def _schema_at(self, path: Path, at: tuple[str | int, ...]) -> Schema | None:
        """The schema of the node at a path, or None (and a problem) if the node does not exist."""
        for depth, key in enumerate(path.keys):
            node = self.environments.node(path.keys[:depth]) or {}
            if child_of(node, key) is None:
                parent = str(Path(path.keys[:depth])) or "the object"
                fields = ", ".join(sorted(node.get("properties", {}))) or f"type {node.get('type')}"
                self._problem(at, f"no {key!r} in {parent} of the schema, which has {fields}")
                return None
        return self.environments.node(path.keys)

    def _schema_default(self, path: Path, at: tuple[str | int, ...]) -> Any:
        node = self._schema_at(path, at) or {}
        if "default" not in node:
            self._problem(at, f"the schema has no default at {path}")
        return node.get("default", MISSING)

    def _unique(self, document: PolicyDocument) -> None:
        """Check that the ranges of parts with one name or code exclude each other, and that one at most has none."""
        seen = dict[str, list[Range | None]]()
        for at, name, text in _named(document):
            releases, others = Range.parse(text) if text else None, seen.setdefault(name, [])
            if any(_collide(releases, other) for other in others):
                overlap = f", and the ranges overlap: {text}" if text else ""
                self._problem(at, f"{at[-1]} {name} is used twice{overlap}")
            others.append(releases)

    def _problem(self, at: tuple[str | int, ...], message: str) -> None:
        self.problems.append(problem(self.origin, at, message))


def _collide(one: Range | None, other: Range | None) -> bool:
    """Whether both may be in force; what has no range gives way to what has one."""
    return one is other if one is None or other is None else one.overlaps(other)


def _named(document: PolicyDocument) -> Iterator[tuple[tuple[str | int, ...], str, str | None]]:
    """What must be unique: where it is, the name or code, and the range."""
    variables: Sequence[Variable] = document.spec.variables
    defaults: Sequence[Default] = document.spec.defaults
    validations: Sequence[Validation] = document.spec.validations
    for index, variable in enumerate(variables):
        yield ("spec", "variables", index, "name"), variable.name, variable.operator
    for index, default in enumerate(defaults):
        yield ("spec", "defaults", index, "code"), default.code, default.operator
    for index, rule in enumerate(validations):
        yield ("spec", "validations", index, "code"), rule.code, rule.operator
    for index, child in enumerate(document.spec.children):
        yield ("spec", "children", index, "name"), child.name, child.operator


def _as_json(leaf: Schema) -> Schema:
    """The schema for writing a leaf: times and durations are written as strings, although rules read other types."""
    return {key: value for key, value in leaf.items() if key != "format"} if leaf.get("type") == "string" else leaf


def _selected(root: Expr) -> dict[str, list[str]]:
    """The fields that an expression reads of ``variables`` and ``facts``, by name."""
    fields: dict[str, list[str]] = {}
    for node in root.walk():
        if isinstance(node, Select) and isinstance(node.operand, Ident):
            fields.setdefault(node.operand.name, []).append(node.field)
    return fields
