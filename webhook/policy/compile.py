"""Compile a Policy document against the types of its kind: every mistake is found here, none at run time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from webhook.cel import ast
from webhook.cel.environment import Environment
from webhook.cel.errors import CompileFailure
from webhook.cel.parser import parse
from webhook.cel.schematypes import escape, type_of_schema
from webhook.cel.types import BOOL, DYN, STRING, Type, list_of, map_of, object_of
from webhook.documents import Document
from webhook.errors import CatalogError, Problem
from webhook.policy.document import Action, PolicyDocument
from webhook.policy.path import MISSING, Path
from webhook.policy.policy import DefaultRule, Expression, Policy, ValidationRule

__all__ = ["compile_policy"]

_METADATA: Final = object_of(
    "metadata",
    {
        "name": STRING,
        "generateName": STRING,
        "namespace": STRING,
        "labels": map_of(STRING, STRING),
        "annotations": map_of(STRING, STRING),
        "finalizers": list_of(STRING),
        "ownerReferences": list_of(DYN),
        "creationTimestamp": STRING,
        "deletionTimestamp": STRING,
    },
)
_REQUEST: Final = object_of(
    "request",
    {"operation": STRING, "name": STRING, "namespace": STRING, "dryRun": BOOL},
)


def compile_policy(
    document: PolicyDocument, origin: Document, schema: Mapping[str, Any], facts: Mapping[str, Mapping[str, Any]]
) -> Policy:
    """The compiled policy.

    Args:
        document: what was parsed from ``origin``.
        origin: where it was read, to name lines in errors.
        schema: the OpenAPI schema of the target kind.
        facts: the OpenAPI schema of each fact of the kind.

    Raises:
        CatalogError: with every problem of every rule.
    """
    compiler = _Compiler(origin, schema, facts)
    policy = compiler.policy(document)
    if compiler.problems:
        raise CatalogError(compiler.problems)
    return policy


class _Compiler:
    def __init__(self, origin: Document, schema: Mapping[str, Any], facts: Mapping[str, Mapping[str, Any]]) -> None:
        self.origin = origin
        self.schema = schema
        self.problems: list[Problem] = []
        declared = type_of_schema(dict(schema), is_root=True, name="object")
        self.object = object_of("object", {**_fields(declared), "metadata": _METADATA})
        self.facts = {name: type_of_schema(dict(fact), name=f"facts.{name}") for name, fact in facts.items()}
        self.variables: dict[str, Type] = {}
        self.compiled: dict[str, Expression] = {}
        self.root = Environment(
            variables={
                "object": self.object,
                "oldObject": DYN,
                "request": _REQUEST,
                "facts": object_of("facts", self.facts),
                "variables": object_of("variables", lambda: self.variables),
            }
        )

    def policy(self, document: PolicyDocument) -> Policy:
        spec = document.spec
        for index, variable in enumerate(spec.variables):
            at = ("spec", "variables", index, "expression")
            compiled = self.expression(self.root, variable.expression, None, at)
            if compiled is not None:
                self.variables[variable.name] = compiled.program.result
                self.compiled[variable.name] = compiled
        defaults = tuple(self._defaults(document))
        validations = tuple(self._validations(document))
        self._unique(document)
        return Policy(document.metadata.name, self.compiled, defaults, validations)

    def _defaults(self, document: PolicyDocument) -> Iterator[DefaultRule]:
        for index, default in enumerate(document.spec.defaults):
            at = ("spec", "defaults", index)
            path = Path.parse(default.path)
            leaf = self._type_at(path, (*at, "path"))
            when = self.expression(self.root, default.when, BOOL, (*at, "when"))
            value = self.expression(self.root, default.value, leaf, (*at, "value"))
            if when and value and leaf:
                over = self._schema_default(path, (*at, "overSchemaDefault")) if default.overSchemaDefault else MISSING
                yield DefaultRule(default.code, path, when, value, default.because, over, default.docs)

    def _validations(self, document: PolicyDocument) -> Iterator[ValidationRule]:
        for index, rule in enumerate(document.spec.validations):
            at = ("spec", "validations", index)
            path = Path.parse(rule.at)
            node = self._type_at(path, (*at, "at"))
            if node is None:
                continue
            env = self.root.extend({"self": node, "oldSelf": node})
            when = self.expression(env, rule.when, BOOL, (*at, "when"))
            test = self.expression(env, rule.rule, BOOL, (*at, "rule"))
            text = rule.messageExpression
            message = self.expression(env, text, STRING, (*at, "messageExpression")) if text else None
            if when is None or test is None or (text and message is None):
                continue
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
            )

    def expression(
        self, env: Environment, source: str, expect: Type | None, at: tuple[str | int, ...]
    ) -> Expression | None:
        """Compile one expression; a failure becomes problems."""
        try:
            program = env.compile(source, expect=expect)
            reads = _selected(parse(source))
        except CompileFailure as failure:
            for issue in failure.issues:
                self._problem(at, f"{issue.message} (line {issue.line}, column {issue.column + 1} of the expression)")
            return None
        variables: dict[str, None] = {}
        facts = set(reads.get("facts", ()))
        for name in reads.get("variables", ()):
            needed = self.compiled[name]
            variables.update(dict.fromkeys((*needed.variables, name)))
            facts |= needed.facts
        local = program.variables <= {"self", "oldSelf"}
        return Expression(program, tuple(variables), frozenset(facts), local)

    def _type_at(self, path: Path, at: tuple[str | int, ...]) -> Type | None:
        """The type of the node at a path, or None (and a problem) where the schema has no such node."""
        node = self.object
        for depth, key in enumerate(path.keys):
            inner = _inner(node, key)
            if inner is None:
                parent = str(Path(path.keys[:depth])) or "the object"
                known = ", ".join(sorted(_fields(node))) if node.kind == "object" else f"a {node}"
                self._problem(at, f"no {key!r} in {parent} of the schema, which has {known}")
                return None
            node = inner
        return node

    def _schema_default(self, path: Path, at: tuple[str | int, ...]) -> Any:
        node: Any = self.schema
        for key in path.keys:
            node = node.get("properties", {}).get(key, {})
        if "default" not in node:
            self._problem(at, f"the schema has no default at {path}")
        return node.get("default", MISSING)

    def _unique(self, document: PolicyDocument) -> None:
        seen: set[str] = set()
        rules = [("defaults", document.spec.defaults), ("validations", document.spec.validations)]
        for part, entries in rules:
            for index, entry in enumerate(entries):
                if entry.code in seen:
                    self._problem(("spec", part, index, "code"), f"code {entry.code} is given twice")
                seen.add(entry.code)

    def _problem(self, at: tuple[str | int, ...], message: str) -> None:
        text = "".join(f"[{key}]" if isinstance(key, int) else f".{key}" for key in at).lstrip(".")
        self.problems.append(Problem(f"{self.origin.source}:{self.origin.line_of(*at)}", text, message))


def _fields(node: Type) -> Mapping[str, Type]:
    if node.fields is None:
        return {}
    return node.fields() if callable(node.fields) else node.fields


def _inner(node: Type, key: str) -> Type | None:
    if key == "*":
        return node.params[-1] if node.kind in {"list", "map"} else None
    if node.kind == "map":
        return node.params[1]
    return _fields(node).get(escape(key))


def _selected(root: ast.Expr) -> dict[str, list[str]]:
    """Which fields of ``variables`` and ``facts`` an expression reads."""
    found: dict[str, list[str]] = {}
    stack = [root]
    while stack:
        node = stack.pop()
        if isinstance(node, ast.Select) and isinstance(node.operand, ast.Ident):
            found.setdefault(node.operand.name, []).append(node.field)
        stack.extend(ast.children(node))
    return found
