"""A JSON Schema of kinds: what their definitions say, and what of their rules it can say.

A rule becomes part of the schema if it denies, applies always, and only compares values of its own node with constants.
What is left of a rule is weaker than it, never stronger: a schema refuses nothing that the gate accepts. All rules are
named in the descriptions, with what they find and why. For readers of schemas: `yaml-language-server`, above all.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from webhook.admission import GroupVersionKind
from webhook.cel.syntax import Call, Const, Expr, Ident, ListExpr, Select
from webhook.cli.rule import in_general
from webhook.policy import Path, Policy, Profile, ValidationRule

Schema = Mapping[str, Any]

_DIALECT: Final = "http://json-schema.org/draft-07/schema#"
_KEPT: Final = (
    "description", "default", "enum", "pattern", "minimum", "maximum", "minLength", "maxLength", "minItems", "maxItems",
    "minProperties", "maxProperties", "multipleOf", "uniqueItems", "required", "format",
)  # fmt: skip
_OTHER_REGEXP: Final = re.compile(r"\(\?|\\[AzpPCQ]|\[\[:")
"""What RE2 has and JavaScript does not, or reads otherwise."""
_TEXTS: Final[Schema] = {"type": "object", "additionalProperties": {"type": "string"}}
_METADATA: Final[Schema] = {
    "type": "object",
    "x-kubernetes-preserve-unknown-fields": True,
    "properties": {
        "name": {"type": "string"},
        "namespace": {"type": "string"},
        "labels": _TEXTS,
        "annotations": _TEXTS,
    },
}
_NULL: Final[Schema] = {"not": {"type": ["string", "number", "boolean", "object", "array"]}}
_SIZES: Final = ("Length", "Items", "Properties")
"""A size is of a text, a list or a map; each keyword applies to its own type only."""


@dataclass(frozen=True, slots=True)
class SchemaSource:
    """A kind: its schema in the release in force, its rules, a schema that may have ``texts`` which it lacks, and the
    operator and the ``release``: ``LLMKube 0.9.19``.
    """

    gvk: GroupVersionKind
    schema: Schema
    policy: Policy
    texts: Schema
    release: str


def json_schema(kinds: Iterable[SchemaSource], profile: Profile) -> dict[str, Any]:
    """The schema of a file of objects: one of these kinds is as its definition says, and any other one is right."""
    named = {f"{kind.gvk.group}.{kind.gvk.version}.{kind.gvk.kind}": kind for kind in kinds}
    return {
        "$schema": _DIALECT,
        "title": f"Modelgate: {', '.join(sorted({kind.release for kind in named.values()}))}",
        "type": "object",
        "allOf": [
            {"if": _is(kind.gvk), "then": {"$ref": f"#/definitions/{name}"}} for name, kind in sorted(named.items())
        ],
        "definitions": {name: _of_kind(kind, profile) for name, kind in sorted(named.items())},
    }


def _is(gvk: GroupVersionKind) -> Schema:
    """The schema of objects of a kind."""
    head = {"apiVersion": {"const": gvk.api_version}, "kind": {"const": gvk.kind}}
    return {"required": ["apiVersion", "kind"], "properties": head}


def _of_kind(source: SchemaSource, profile: Profile) -> dict[str, Any]:
    node = {"title": f"{source.gvk.kind} of {source.release}", **_plain(source.schema, source.texts)}
    if source.policy.numeric_quantities:
        _allow_fractions(node)
    properties = node.setdefault("properties", {})
    properties["metadata"] = _plain(_METADATA, {})
    properties["apiVersion"], properties["kind"] = {"type": "string"}, {"type": "string"}
    for path, name in source.policy.renamed.items():
        _add_renamed(node, Path.parse(path).keys, name)
    for default in source.policy.defaults:
        text = f"{default.code}: where it is absent, Modelgate may set it: {default.because}."
        _describe(node, default.path.keys, text)
        for depth, key in enumerate(default.path.keys):
            for parent in _nodes(node, default.path.keys[:depth]):
                parent["required"] = [name for name in parent.get("required", ()) if name != key]
    for rule in source.policy.validations:
        severity = "error" if profile in rule.denied_by else "warning"
        _describe(node, rule.at.keys, f"{rule.code} ({severity}): {_reasoned(rule)}")
        if profile in rule.denied_by and (stated := _of_rule(rule)) is not None:
            for place in _nodes(node, rule.at.keys):
                place.setdefault("allOf", []).append(stated)
    return node


def _plain(node: Schema, texts: Schema) -> dict[str, Any]:
    """A node of a definition in the words of JSON Schema, with the description of the other one if it has none."""
    plain: dict[str, Any] = {key: node[key] for key in _KEPT if key in node}
    if "description" not in plain and isinstance(texts.get("description"), str):
        plain["description"] = texts["description"]
    if _OTHER_REGEXP.search(str(plain.get("pattern", ""))):
        del plain["pattern"]
    plain |= {**_type(node), **_limits(node)}
    properties, others = node.get("properties") or {}, texts.get("properties") or {}
    if properties:
        filled = {name for name, field in properties.items() if "default" in field}
        plain["required"] = [name for name in plain.get("required", ()) if name not in filled]
        plain["properties"] = {name: _plain(field, others.get(name) or {}) for name, field in properties.items()}
        for name in properties.keys() - set(plain["required"]):
            _allow_null(plain["properties"][name])
    below = node.get("additionalProperties")
    if isinstance(below, Mapping):
        plain["additionalProperties"] = _plain(below, _part(texts, "additionalProperties"))
    elif properties and not node.get("x-kubernetes-preserve-unknown-fields") and below is not True:
        plain["additionalProperties"] = False
    if isinstance(node.get("items"), Mapping):
        plain["items"] = _plain(node["items"], _part(texts, "items"))
    return plain


def _part(node: Schema, key: str) -> Schema:
    part = node.get(key)
    return part if isinstance(part, Mapping) else {}


def _type(node: Schema) -> Schema:
    kinds = ["integer", "string"] if node.get("x-kubernetes-int-or-string") else [node.get("type")]
    if kinds == [None]:
        return {}
    kinds += ["null"] if node.get("nullable") else []
    return {"type": kinds[0] if len(kinds) == 1 else kinds}


def _allow_null(node: dict[str, Any]) -> None:
    """The API server and the gate take null for an absent value. It is none of the values that an editor offers."""
    if "enum" in node:
        node["anyOf"] = [{key: node.pop(key) for key in ("type", "enum") if key in node}, _NULL]
    elif kinds := node.get("type"):
        node["type"] = [*([kinds] if isinstance(kinds, str) else kinds), "null"]


def _allow_fractions(node: dict[str, Any]) -> None:
    """Quantities may be fractions, of which the gate makes texts: ``cpu: 0.5``."""
    pending: list[Any] = [node]
    while pending:
        part = pending.pop()
        if part.get("type", [])[:2] == ["integer", "string"]:
            part["type"] = ["number", *part["type"][1:]]
        pending += [*part.get("properties", {}).values(), part.get("items"), part.get("additionalProperties")]
        pending = [below for below in pending if isinstance(below, dict)]


def _limits(node: Schema) -> Schema:
    """Exclusive limits: OpenAPI has a boolean beside the limit."""
    pairs = (("exclusiveMinimum", "minimum"), ("exclusiveMaximum", "maximum"))
    return {name: node[limit] for name, limit in pairs if node.get(name) is True and limit in node}


def _nodes(node: dict[str, Any], keys: Sequence[str]) -> list[dict[str, Any]]:
    """The nodes at a path; an entry of a map gets a node of its own."""
    if not keys:
        return [node]
    key, rest = keys[0], keys[1:]
    properties, more = node.get("properties") or {}, node.get("additionalProperties")
    if key == "*":
        entries = [more, *properties.values()] if isinstance(more, dict) else []
        below = [part for part in (node.get("items"), *entries) if isinstance(part, dict)]
        return [place for part in below for place in _nodes(part, rest)]
    if key in properties:
        return _nodes(properties[key], rest)
    if not isinstance(more, dict):
        return []
    node["properties"] = {**properties, key: dict(more)}
    return _nodes(node["properties"][key], rest)


def _add_renamed(node: dict[str, Any], keys: Sequence[str], name: str) -> None:
    """A field of another release, which has this name now: nothing is right there."""
    for parent in _nodes(node, keys[:-1]):
        if parent.get("additionalProperties") is False:
            message = f"the definition has no such field; its name is now {name}"
            parent["properties"][keys[-1]] = {"not": {}, "deprecationMessage": message, "doNotSuggest": True}


def _describe(node: dict[str, Any], keys: Sequence[str], text: str) -> None:
    for place in _nodes(node, keys) if keys else ():
        place["description"] = "\n\n".join(filter(None, (place.get("description", ""), text)))


def _reasoned(rule: ValidationRule) -> str:
    """What a rule finds, and why it exists."""
    return " ".join(filter(None, (f"{_finding(rule)}." if _finding(rule) else "", *rule.docs.split())))


def _finding(rule: ValidationRule) -> str:
    return in_general(rule.message, rule.message_expression.source if rule.message_expression else None).rstrip(".")


class _Stated(NamedTuple):
    """What a schema says of an expression: the ``schema`` holds where it is true, and ``exact``: nowhere else."""

    schema: Schema
    exact: bool = True


def _of_rule(rule: ValidationRule) -> Schema | None:
    """What a schema can say of a rule, with the code and the message for programs that show it."""
    if rule.when is not None or rule.facts or rule.rule.variables or rule.transition:
        return None
    stated = _stated(rule.rule.program.tree())
    if stated is None:
        return None
    return {**stated.schema, "errorMessage": f"{rule.code}: {_finding(rule) or ' '.join(rule.docs.split())}"}


def _stated(expr: Expr) -> _Stated | None:
    """What a schema says of a condition on its node; None if that is nothing."""
    if isinstance(expr, Select) and expr.test_only:
        return _present((*path, expr.field)) if (path := _path(expr.operand)) is not None else None
    if not isinstance(expr, Call):
        return None
    if expr.function == "_&&_":
        return _all([_stated(term) for term in expr.terms()])
    if expr.function == "_||_":
        return _any([_stated(term) for term in expr.terms()])
    if expr.function == "!_":
        stated = _stated(expr.args[0])
        return _Stated({"not": stated.schema}) if stated is not None and stated.exact else None
    return _of_call(expr)


def _all(parts: Sequence[_Stated | None]) -> _Stated | None:
    there = [part for part in parts if part is not None]
    exact = len(there) == len(parts) and all(part.exact for part in there)
    return _Stated({"allOf": [part.schema for part in there]}, exact) if there else None


def _any(parts: Sequence[_Stated | None]) -> _Stated | None:
    there = [part for part in parts if part is not None]
    if len(there) < len(parts):
        return None
    return _Stated({"anyOf": [part.schema for part in there]}, all(part.exact for part in there))


def _of_call(call: Call) -> _Stated | None:
    operands = call.args if call.target is None else (call.target, *call.args)
    if call.function == "hasValue" and (path := _path(operands[0])):
        return _present(path)
    if len(operands) != 2:
        return None
    first, second = operands
    if call.function == "@in":
        return _of_membership(first, second)
    constant = second.value if isinstance(second, Const) else None
    if isinstance(constant, str) and _path(first) == () and (pattern := _pattern(call.function, constant)):
        return _Stated({"pattern": pattern})
    return _compared(call.function, first, constant) if isinstance(constant, str | int | float) else None


def _of_membership(member: Expr, container: Expr) -> _Stated | None:
    """``self in ['a', 'b']``, and ``'a' in self``."""
    if isinstance(container, ListExpr) and _path(member) == ():
        values = [element.value for element in container.elements if isinstance(element, Const)]
        return _Stated({"enum": values}) if len(values) == len(container.elements) else None
    if isinstance(member, Const) and isinstance(member.value, str) and _path(container) == ():
        return _Stated({"required": [member.value]})
    return None


def _pattern(function: str, text: str) -> str:
    """The regular expression of a condition on a text; "" if there is none that JavaScript reads alike."""
    if function == "matches":
        return "" if _OTHER_REGEXP.search(text) else text
    literal = re.sub(r"([\\^$.|?*+()\[\]{}/])", r"\\\1", text)
    return {"contains": literal, "startsWith": f"^{literal}", "endsWith": f"{literal}$"}.get(function, "")


def _compared(function: str, operand: Expr, constant: str | float) -> _Stated | None:
    """A value, its size, or a field that has a value where it is absent, compared with a constant."""
    if _path(operand) == ():
        return _limit(function, constant)
    if isinstance(operand, Call) and operand.function == "size" and isinstance(constant, int):
        return _size(function, constant) if _path(operand.target or operand.args[0]) == () else None
    if isinstance(operand, Call) and operand.function == "orValue" and isinstance(operand.args[0], Const):
        path, stated = _path(operand.target), _limit(function, constant)
        equal = operand.args[0].value == constant
        if path and stated is not None and function in {"_==_", "_!=_"}:
            absent = equal if function == "_==_" else not equal
            return _Stated(_within(path, stated.schema, required=not absent))
    return None


def _limit(function: str, constant: str | float) -> _Stated | None:
    if function in {"_==_", "_!=_"}:
        return _Stated({"const": constant} if function == "_==_" else {"not": {"const": constant}})
    keywords = {"_<_": "exclusiveMaximum", "_<=_": "maximum", "_>_": "exclusiveMinimum", "_>=_": "minimum"}
    if function in keywords and not isinstance(constant, str):
        return _Stated({keywords[function]: constant})
    return None


def _size(function: str, size: int) -> _Stated | None:
    least = {"_>_": size + 1, "_>=_": size, "_==_": size}.get(function)
    most = {"_<_": size - 1, "_<=_": size, "_==_": size}.get(function)
    if least is None and most is None:
        return None
    limits = (("min", least), ("max", most))
    return _Stated({f"{name}{kind}": max(limit, 0) for name, limit in limits if limit is not None for kind in _SIZES})


def _present(path: Sequence[str]) -> _Stated:
    return _Stated(_within(path[:-1], {"required": [path[-1]]}, required=True))


def _within(path: Sequence[str], schema: Schema, *, required: bool) -> Schema:
    """The schema of an object whose field at a path is of a schema."""
    for name in reversed(path):
        schema = {"properties": {name: schema}, **({"required": [name]} if required else {})}
    return schema


def _path(expr: Expr | None) -> tuple[str, ...] | None:
    """The fields from the node to what an expression reads; None if it reads something else."""
    if isinstance(expr, Ident):
        return () if expr.name == "self" else None
    if isinstance(expr, Select) and not expr.test_only:
        operand, name = expr.operand, expr.field
    elif isinstance(expr, Call) and expr.function == "_?._" and isinstance(expr.args[1], Const):
        operand, name = expr.args[0], str(expr.args[1].value)
    else:
        return None
    path = _path(operand)
    return None if path is None else (*path, name)
