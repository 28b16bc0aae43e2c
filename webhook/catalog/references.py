"""References of policies: the facts that read other objects, and what is wrong with a reference."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from difflib import get_close_matches
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any, Final, Protocol

from webhook import cel  # its compiler is loaded when it is first used
from webhook import policy as policies  # as above
from webhook.cluster import Kind
from webhook.facts import Fact, Looked, Member, TooCostlyError, referenced
from webhook.policy import Path, Reference

if TYPE_CHECKING:
    from webhook.admission import GroupVersionKind
    from webhook.cel.types import Type
    from webhook.policy import document
    from webhook.schema import Structural

__all__ = ["facts_of", "unfitting"]

_TYPES: Final[Mapping[str, Sequence[tuple[str, ...]]]] = {
    "boolean": [("boolean",)],
    "integer": [("integer",)],
    "number": [("number",), ("integer",)],
    "string": [("string",)],
    "integers": [("array", "integer")],
    "strings": [("array", "string")],
}
"""The types in a schema of what a member can be; of a list, with the type of its items."""
_UNDEFINED: Final = re.compile(r"undefined field '([^']+)'")
_COST: Final = 200_000
"""CEL cost units of all expressions over the objects of one reference: some hundredths of a second."""


@lru_cache(256)
def facts_of(references: tuple[Reference, ...]) -> Mapping[str, Fact]:
    """The facts of references, by name."""
    return {
        each.name: referenced(
            Kind(each.group, each.kind),
            Looked(*each.looked),
            {name: _member(*member) for name, *member in each.members},
        )
        for each in references
    }


def _member(path: tuple[str, ...], sort: str, default: Any, expression: str) -> Member:
    return Member(path, sort, default, _Projection(expression) if expression else None)


class _Projection:
    """An expression over another object. It is compiled when it is first evaluated."""

    def __init__(self, source: str) -> None:
        self._source = source

    def budget(self) -> cel.Budget:
        """For all evaluations over the objects of one reference."""
        return cel.Budget(_COST)

    def __call__(self, other: dict[str, Any], budget: Any) -> Any:
        """The value; None if there is none.

        Raises:
            TooCostlyError: the budget is spent.
        """
        try:
            return _program(self._source).evaluate({"object": other}, budget)
        except cel.BudgetExceeded as error:
            raise TooCostlyError from error
        except cel.CelError:
            return None


@lru_cache(256)
def _program(source: str) -> cel.Program:
    return environment().compile(source)


@cache
def environment() -> cel.Environment:
    """What an expression over another object may name, whose definition may be any."""
    return cel.Environment(variables={"object": cel.types.DYN}, functions=(*cel.SHOWN, *cel.TEXTS))


@cache
def _results() -> Mapping[str, Type]:
    """The types of the expressions of members."""
    of = cel.types
    return {
        "boolean": of.BOOL,
        "integer": of.INT,
        "integers": of.list_of(of.INT),
        "number": of.DOUBLE,
        "string": of.STRING,
        "strings": of.list_of(of.STRING),
    }


class ServedDefinition(Protocol):
    """A version of a kind, as far as references need it."""

    @property
    def gvk(self) -> GroupVersionKind: ...

    @property
    def namespaced(self) -> bool: ...

    @property
    def schema(self) -> Structural: ...


def unfitting(
    reference: document.Reference, kinds: Collection[ServedDefinition]
) -> Iterator[tuple[tuple[str, ...], str]]:
    """What is wrong with a reference, and where in it: by itself, and by the definitions of its kind."""
    for name, member in reference.fields.items():
        if member.expression and (issue := _issue(environment(), member.expression, member.type)):
            yield ("fields", name, "expression"), issue
            return
    definitions = [kind for kind in kinds if (kind.gvk.group, kind.gvk.kind) == (reference.group, reference.kind)]
    if not definitions:
        names = {kind.gvk.kind for kind in kinds if kind.gvk.group == reference.group}
        for near in get_close_matches(reference.kind, names, 1):
            yield ("kind",), f"{reference.group} has no {reference.kind[:60]} here; did you mean {near}?"
        return
    namespaced = definitions[-1].namespaced
    searches = reference.by or reference.labels or reference.labelsPath
    if reference.namespaced != namespaced and not (searches and namespaced):  # in all namespaces
        scope = "is in a namespace" if namespaced else "is a kind of the cluster"
        yield ("namespaced",), f"{reference.kind} {scope}: set namespaced: {str(namespaced).lower()}"
    read = [(("fields", name), member.path, member.type) for name, member in reference.fields.items() if member.path]
    for place, path, sort in [*read, *_looked_by(reference)]:
        wrong = [_wrong(definition.schema.raw, path, sort) for definition in definitions]
        if all(wrong):  # a version may lack what another one has
            yield place, f"{reference.kind}: {wrong[-1]}"
    for name, member in reference.fields.items():
        if member.expression:
            wrong = [_wrong_expression(definition.schema, member.expression, member.type) for definition in definitions]
            if all(wrong):
                yield ("fields", name, "expression"), f"{reference.kind}: {wrong[-1]}"


def _looked_by(reference: document.Reference) -> Iterator[tuple[tuple[str, ...], str, str]]:
    if reference.by:
        yield ("by",), reference.by, "strings" if "[*]" in reference.by else "string"


def _wrong(schema: Mapping[str, Any], path: str, sort: str) -> str:
    """What is wrong with a path and a type; "" if nothing is, or if the definition leaves it open."""
    node: Mapping[str, Any] = schema
    keys = Path.parse(path).keys
    if keys[0] == "metadata":
        return ""
    for depth, key in enumerate(keys):
        if node.get("x-kubernetes-preserve-unknown-fields"):
            return ""
        below = policies.node_at(node, (key,))
        if below is None and key == "*" and not node.get("type"):
            return ""
        if below is None:
            has = ", ".join(sorted(node.get("properties", {}))) or f"type {node.get('type')}"
            return f"no {key!r} in {'.'.join(keys[:depth]) or 'the object'} of the schema, which has {has}"
        node = below
    kinds: tuple[str | None, ...] = (node.get("type"),)
    if kinds == ("array",):
        kinds = ("array", (node.get("items") or {}).get("type"))
    elif "*" in keys:
        kinds = ("array", kinds[0])
    if kinds[0] is None or kinds in _TYPES[sort]:
        return ""
    return f"{path} is of type {' of '.join(map(str, kinds))}, not {sort}"


def _wrong_expression(schema: Structural, source: str, sort: str) -> str:
    """What is wrong with an expression over an object of a definition; "" if nothing is.

    What the definition leaves open may have any field.
    """
    whole = policies.Environments(policies.Inputs(schema, {})).schema
    issue = _issue(environment().with_schema("object", whole, type_name="object", whole_floats=True), source, sort)
    undefined = _UNDEFINED.match(issue)
    return "" if undefined is not None and policies.has_open_field(whole, undefined[1]) else issue


def _issue(within: cel.Environment, source: str, sort: str) -> str:
    """Why an expression is not one of a type; "" if it is."""
    try:
        result = within.compile(source).result
    except cel.CompileFailure as failure:
        return failure.issues[0].message
    wanted, dyn = _results()[sort], cel.types.DYN
    fits = result in (wanted, dyn) or (result.kind == "list" == wanted.kind and result.params == (dyn,))
    is_number = sort == "number" and result.kind == "int"
    return "" if fits or is_number else f"the expression is of type {result}, not {wanted}"
