"""Checks that a schema is structural (apiextensions ``ValidateStructural``).

Every field that allOf, anyOf, oneOf or not validates must also be specified outside of them. Types are required.
Metadata must not be specified.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from webhook.golang.errors import GoError
from webhook.golang.regexp import matcher
from webhook.schema.fielderror import FieldError, forbidden, invalid, required
from webhook.schema.node import MISSING, SchemaNode


@dataclass(frozen=True, slots=True)
class StructureOptions:
    """Keywords that built-in types may use and CRDs may not."""

    nested_additional_properties: bool = False
    nested_rules: bool = False
    properties_of_additional: bool = False


_STRICT = StructureOptions()
_UNTYPED = {
    "root": "must not be empty at the root",
    "item": "must not be empty for specified array items",
    "field": "must not be empty for specified object fields",
}
_SCALARS = frozenset({"string", "integer", "number", "boolean", "object"})
_PLAIN = frozenset({"type", "description", "format"})
_JUNCTORS = (("allOf", "all_of"), ("anyOf", "any_of"), ("oneOf", "one_of"))
_NESTED_FORBIDDEN = (
    ("title", "must be empty to be structural"),
    ("description", "must be empty to be structural"),
    ("nullable", "must be false to be structural"),
    ("x-kubernetes-preserve-unknown-fields", "must be false to be structural"),
    ("x-kubernetes-embedded-resource", "must be false to be structural"),
    ("x-kubernetes-int-or-string", "must be false to be structural"),
    ("x-kubernetes-list-map-keys", "must be empty to be structural"),
)


# Keywords that are pointers in Go: only null is their zero value.
_POINTERS = frozenset(
    {"default", "example", "items", "not", "additionalProperties", "additionalItems", "x-kubernetes-list-type"}
    | {"x-kubernetes-map-type", "x-kubernetes-preserve-unknown-fields", "minimum", "maximum", "multipleOf"}
    | {"minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties"}
)


def is_zero(keyword: str, value: Any) -> bool:
    """Whether a keyword's value is Go's zero value, which equals absence."""
    return value is None if keyword in _POINTERS else not value


def validate_structure(node: SchemaNode, path: str) -> list[FieldError]:
    """All reasons why a schema is not structural; ``path`` is its place in the CRD."""
    errors = _invariants(node, "root", path) + validate_completeness(node, path)
    return sorted(errors, key=str)


def _invariants(node: SchemaNode, level: str, path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    if node.type in _SCALARS and node.raw.keys() <= _PLAIN and level != "root":
        return errors
    if node.type == "array" and node.items is None:
        errors.append(required(f"{path}.items", "must be specified"))
    if node.items is not None:
        errors += _invariants(node.items, "item", f"{path}.items")
    for key, child in node.properties.items():
        errors += _invariants(child, "field", f"{path}.properties[{key}]")
    if node.additional_known:
        if level == "root":
            errors.append(forbidden(f"{path}.additionalProperties", "must not be used at the root"))
        if node.additional is not None:
            errors += _invariants(node.additional, "field", f"{path}.additionalProperties")
    errors += _extensions(node, path)
    skip_any = _is_int_or_string(node)
    skip_first = bool(node.all_of) and _is_int_or_string(node.all_of[0])
    errors += _value_validation(node, level, path, skip_any=skip_any, skip_first=skip_first)
    return errors + _type_errors(node, level, path) + _meta_errors(node, level, path)


def _extensions(node: SchemaNode, path: str) -> list[FieldError]:
    pairs = (
        ("x-kubernetes-preserve-unknown-fields", node.preserve),
        ("x-kubernetes-embedded-resource", node.embedded),
    )
    detail = "must be false if x-kubernetes-int-or-string is true"
    return [invalid(f"{path}.{name}", True, detail) for name, on in pairs if node.int_or_string and on]


def _is_int_or_string(node: SchemaNode) -> bool:
    """Whether a node has ``anyOf: [{type: integer}, {type: string}]``: only there nested types are allowed."""
    pairs = zip(node.any_of, ("integer", "string"), strict=False)
    return len(node.any_of) == 2 and all(_has_only_type(branch.raw, kind) for branch, kind in pairs)


def _has_only_type(raw: Mapping[str, Any], kind: str) -> bool:
    """Whether a nested schema has only a type. There, additionalProperties: false equals its absence."""
    rest = (key for key, value in raw.items() if not is_zero(key, value) and (key, value) != _CLOSED)
    return raw.get("type") == kind and all(key == "type" for key in rest)


_CLOSED = ("additionalProperties", False)


def _type_errors(node: SchemaNode, level: str, path: str) -> list[FieldError]:
    errors = []
    if node.embedded and node.type != "object":
        detail = "must be object if x-kubernetes-embedded-resource is true"
        where = f"{path}.type"
        errors.append(invalid(where, node.type, detail) if node.type else required(where, detail))
    elif not node.type and not node.int_or_string and not node.preserve:
        errors.append(required(f"{path}.type", _UNTYPED[level]))
    if node.embedded and node.additional_known:
        detail = "must not be used if x-kubernetes-embedded-resource is set"
        errors.append(forbidden(f"{path}.additionalProperties", detail))
    if level == "root" and node.type not in ("", "object"):
        errors.append(invalid(f"{path}.type", node.type, "must be object at the root"))
    return errors


def _meta_errors(node: SchemaNode, level: str, path: str) -> list[FieldError]:
    errors = []
    checked = level == "root" or node.embedded
    for key in ("kind", "apiVersion"):
        child = node.properties.get(key)
        if checked and child is not None and child.type != "string":
            errors.append(invalid(f"{path}.properties[{key}].type", child.type, "must be string"))
    meta = node.properties.get("metadata")
    if meta is not None:
        own = f"{path}.properties[metadata]"
        if checked and meta.type != "object":
            errors.append(invalid(f"{own}.type", meta.type, "must be object"))
        if level == "root" and not _names_only(meta):
            detail = "must not specify anything other than name and generateName, but metadata is implicitly specified"
            errors.append(forbidden(own, detail))
    if node.embedded and not node.preserve and not node.properties:
        detail = (
            "must not be empty if x-kubernetes-embedded-resource is true without x-kubernetes-preserve-unknown-fields"
        )
        errors.append(required(f"{path}.properties", detail))
    return errors


def _names_only(meta: SchemaNode) -> bool:
    ignored = {"type", "default"}
    if meta.properties and meta.properties.keys() <= {"name", "generateName"}:
        ignored.add("properties")
    return all(is_zero(key, value) for key, value in meta.raw.items() if key not in ignored)


def _value_validation(
    node: SchemaNode,
    level: str,
    path: str,
    options: StructureOptions = _STRICT,
    *,
    skip_any: bool = False,
    skip_first: bool = False,
) -> list[FieldError]:
    errors: list[FieldError] = []
    for i, branch in enumerate(() if skip_any else node.any_of):
        errors += _nested(branch, level, f"{path}.anyOf[{i}]", options)
    for i, branch in enumerate(node.all_of):
        errors += _nested(branch, level, f"{path}.allOf[{i}]", options, skip_any=skip_first and i == 0)
    for i, branch in enumerate(node.one_of):
        errors += _nested(branch, level, f"{path}.oneOf[{i}]", options)
    if node.not_ is not None:
        errors += _nested(node.not_, level, f"{path}.not", options)
    if node.pattern:
        errors += _pattern_errors(node.pattern, f"{path}.pattern")
    return errors


def _pattern_errors(pattern: str, path: str) -> list[FieldError]:
    try:
        matcher(pattern)
    except GoError as error:
        return [invalid(path, pattern, f"must be a valid regular expression, but isn't: {error.message}")]
    return []


def _nested(
    node: SchemaNode, level: str, path: str, options: StructureOptions, *, skip_any: bool = False
) -> list[FieldError]:
    errors = _value_validation(node, level, path, options, skip_any=skip_any)
    if node.items is not None:
        errors += _nested(node.items, level, f"{path}.items", options)
    for key, child in node.properties.items():
        errors += _nested(child, "field", f"{path}.properties[{key}]", options)
    if node.type:
        errors.append(forbidden(f"{path}.type", "must be empty to be structural"))
    if node.additional_known and node.additional_allowed:
        errors += _nested_additional(node, level, path, options)
    if node.default is not MISSING:
        errors.append(forbidden(f"{path}.default", "must be undefined to be structural"))
    errors += _nested_keywords(node.raw, path, options)
    if "metadata" in node.properties:
        errors.append(forbidden(f"{path}.properties[metadata]", "must not be specified in a nested context"))
    return errors


def _nested_additional(node: SchemaNode, level: str, path: str, options: StructureOptions) -> list[FieldError]:
    own = f"{path}.additionalProperties"
    if not options.nested_additional_properties:
        return [forbidden(own, "must be undefined to be structural")]
    return [] if node.additional is None else _nested(node.additional, level, own, options)


def _nested_keywords(raw: Mapping[str, Any], path: str, options: StructureOptions) -> list[FieldError]:
    errors = [forbidden(f"{path}.{key}", why) for key, why in _NESTED_FORBIDDEN if raw.get(key)]
    errors += [
        forbidden(f"{path}.{key}", "must be undefined to be structural")
        for key in ("x-kubernetes-list-type", "x-kubernetes-map-type")
        if raw.get(key) is not None
    ]
    if raw.get("x-kubernetes-validations") and not options.nested_rules:
        errors.append(forbidden(f"{path}.x-kubernetes-validations", "must be empty to be structural"))
    return errors


def validate_completeness(node: SchemaNode, path: str, options: StructureOptions = _STRICT) -> list[FieldError]:
    """The errors of nested validations of fields that the structure does not specify."""
    return _complete(node, node, path, path, options)


def _complete(
    nested: SchemaNode, spine: SchemaNode | None, path: str, nested_path: str, options: StructureOptions
) -> list[FieldError]:
    if spine is None:
        return [required(path, f"because it is defined in {nested_path}")]
    errors: list[FieldError] = []
    if nested.not_ is not None:
        errors += _complete_nested(nested.not_, spine, path, f"{nested_path}.not", options)
    for keyword, name in _JUNCTORS:
        for i, branch in enumerate(getattr(nested, name)):
            errors += _complete_nested(branch, spine, path, f"{nested_path}.{keyword}[{i}]", options)
    return errors


def _complete_nested(
    nested: SchemaNode, spine: SchemaNode | None, path: str, nested_path: str, options: StructureOptions
) -> list[FieldError]:
    if spine is None:
        return [required(path, f"because it is defined in {nested_path}")]
    errors = _complete(nested, spine, path, nested_path, options)
    if nested.items is not None:
        errors += _complete_nested(nested.items, spine.items, f"{path}.items", f"{nested_path}.items", options)
    for key, child in nested.properties.items():
        own, where = f"{nested_path}.properties[{key}]", f"{path}.properties[{key}]"
        outer = spine.properties.get(key)
        if outer is None and options.properties_of_additional and spine.additional is not None:
            outer, where = spine.additional, f"{path}.additionalProperties"
        errors += _complete_nested(child, outer, where, own, options)
    if nested.additional is not None and options.nested_additional_properties:
        own, where = f"{nested_path}.additionalProperties", f"{path}.additionalProperties"
        errors += _complete_nested(nested.additional, spine.additional, where, own, options)
    return errors
