"""Checks the keywords of the ``openAPIV3Schema`` in a CRD.

``ValidateCustomResourceDefinitionOpenAPISchema`` of apiextensions. It works on the raw schema, because the schema need
not be structural.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from webhook.schema.crd.lists import list_errors, map_key_errors
from webhook.schema.crd.rules import RuleContext, SchemaOptions, rule_errors, rule_text_errors
from webhook.schema.fielderror import FieldError, forbidden, invalid, not_supported, required

Raw = Mapping[str, Any]

TYPES = ("array", "boolean", "integer", "number", "object", "string")
_PLAIN = frozenset({"type", "description", "format"})  # most schemas have only these keywords, which need no check
_META_FIELDS = frozenset({"metadata", "kind", "apiVersion"})
_EXCLUSIVE = "additionalProperties and properties are mutual exclusive"
_IN_META = "inside additionalProperties applying to object metadata"


@dataclass(frozen=True, slots=True)
class _Location:
    """The properties of a place in the schema that apply to everything below it.

    ``no_defaults`` is the reason why defaults are forbidden; "" if they are allowed. ``in_meta``: the place is in the
    metadata of a resource. ``uncorrelatable`` is the path of the nearest schema whose values have no old value.
    """

    no_defaults: str = ""
    in_meta: bool = False
    uncorrelatable: str = ""


@dataclass(slots=True)
class SchemaErrors:
    """The errors of a schema and of its rules. Rules are compiled only if the schema has no error."""

    schema: list[FieldError]
    rules: list[FieldError]

    def add(self, other: SchemaErrors) -> None:
        self.schema += other.schema
        self.rules += other.rules


def openapi_errors(raw: Raw, path: str, options: SchemaOptions, context: RuleContext | None) -> list[FieldError]:
    """All errors of a root schema. ``context`` None: do not compile rules."""
    found = _SchemaWalk(options).visit(raw, path, _Location(), context, is_root=True)
    return found.schema + found.rules


class _SchemaWalk:
    def __init__(self, options: SchemaOptions) -> None:
        self.options = options

    def visit(
        self, raw: Raw | None, path: str, location: _Location, context: RuleContext | None, *, is_root: bool = False
    ) -> SchemaErrors:
        found = SchemaErrors([], [])
        if raw is None or (raw.keys() <= _PLAIN and raw.get("type") in TYPES):
            return found
        found.schema += self._unsupported(raw, path, location)
        for child, where, below, child_context in self._children(raw, path, location, context, is_root=is_root):
            found.add(self.visit(child, where, below, child_context))
        found.schema += _extension_errors(raw, path)
        found.schema += list_errors(raw, path, atomic_sets=self.options.atomic_sets)
        if self.options.map_keys:
            found.schema += map_key_errors(raw, path)
        rules = raw.get("x-kubernetes-validations") or ()
        if rules:
            found.schema += rule_text_errors(raw, path)
            if not found.schema and context is not None:
                found.rules += rule_errors(raw, path, context, location.uncorrelatable, self.options)
        return found

    def _children(
        self, raw: Raw, path: str, location: _Location, context: RuleContext | None, *, is_root: bool
    ) -> Iterator[tuple[Raw | None, str, _Location, RuleContext | None]]:
        additional = raw.get("additionalProperties")
        if isinstance(additional, Mapping):
            below = dataclasses.replace(location, no_defaults=_IN_META) if location.in_meta else location
            child_context = context and context.child(additional)
            yield additional, f"{path}.additionalProperties", below, child_context
        for name, child in (raw.get("properties") or {}).items():
            below = self._property_location(raw, path, location, name, is_root=is_root)
            yield child, f"{path}.properties[{name}]", below, context and context.child(child)
        yield raw.get("not"), f"{path}.not", location, None
        for junctor in ("allOf", "oneOf", "anyOf"):
            for i, child in enumerate(raw.get(junctor) or ()):
                yield child, f"{path}.{junctor}[{i}]", location, None
        for keyword in ("definitions", "dependencies"):
            for name, child in (raw.get(keyword) or {}).items():
                yield child if isinstance(child, Mapping) else None, f"{path}.{keyword}[{name}]", location, None
        yield from self._items(raw, path, location, context)

    def _items(
        self, raw: Raw, path: str, location: _Location, context: RuleContext | None
    ) -> Iterator[tuple[Raw | None, str, _Location, RuleContext | None]]:
        items = raw.get("items")
        if items is None:
            return
        if raw.get("x-kubernetes-list-type") != "map" and not location.uncorrelatable:
            location = dataclasses.replace(location, uncorrelatable=path)
        if isinstance(items, Mapping):
            yield items, f"{path}.items", location, context and context.child(items)
        else:
            for i, child in enumerate(items):
                yield child, f"{path}.items[{i}]", location, context and context.child(child)

    def _property_location(self, raw: Raw, path: str, location: _Location, name: str, *, is_root: bool) -> _Location:
        if raw.get("x-kubernetes-map-type") not in (None, "granular", "atomic") and not location.uncorrelatable:
            location = dataclasses.replace(location, uncorrelatable=path)
        if name in _META_FIELDS and (is_root or raw.get("x-kubernetes-embedded-resource")):
            location = dataclasses.replace(location, in_meta=True)
            if is_root:
                location = dataclasses.replace(location, no_defaults=f"in top-level {name}")
        return location

    def _unsupported(self, raw: Raw, path: str, location: _Location) -> list[FieldError]:
        """The errors of keywords that CRDs do not support, and of defaults in forbidden places."""
        errors = []
        kind = raw.get("type") or ""
        if self.options.valid_types and kind and kind not in TYPES:
            errors.append(not_supported(f"{path}.type", kind, TYPES))
        if raw.get("default") is not None and location.no_defaults:
            errors.append(forbidden(f"{path}.default", f"must not be set {location.no_defaults}"))
        errors += [
            forbidden(f"{path}.{keyword}", f"{keyword} is not supported")
            for keyword in ("id", "additionalItems", "patternProperties", "definitions", "dependencies", "$ref")
            if raw.get(keyword) not in _UNSET[keyword]
        ]
        if kind == "null":
            errors.append(forbidden(f"{path}.type", "type cannot be set to null, use nullable as an alternative"))
        if isinstance(raw.get("items"), list) and raw["items"]:
            errors.append(forbidden(f"{path}.items", "items must be a schema object and not an array"))
        if location.in_meta and raw.get("x-kubernetes-embedded-resource"):
            errors.append(
                forbidden(f"{path}.x-kubernetes-embedded-resource", "must not be used inside of resource meta")
            )
        if raw.get("uniqueItems"):
            why = "uniqueItems cannot be set to true since the runtime complexity becomes quadratic"
            errors.append(forbidden(f"{path}.uniqueItems", why))
        additional = raw.get("additionalProperties")
        if raw.get("properties") and additional is not None and additional is not True:
            errors.append(forbidden(f"{path}.additionalProperties", _EXCLUSIVE))
        return errors


# The values that count as absent: an empty string or map; a Go pointer only if null.
_UNSET: Mapping[str, tuple[Any, ...]] = {
    "id": (None, ""),
    "additionalItems": (None,),
    "patternProperties": (None, {}),
    "definitions": (None, {}),
    "dependencies": (None,),
    "$ref": (None,),
}


def _extension_errors(raw: Raw, path: str) -> list[FieldError]:
    errors = []
    if raw.get("x-kubernetes-preserve-unknown-fields") is False:
        errors.append(invalid(f"{path}.x-kubernetes-preserve-unknown-fields", False, "must be true or undefined"))
    map_type, kind = raw.get("x-kubernetes-map-type"), raw.get("type") or ""
    if map_type is not None and kind != "object":
        why = "must be object if x-kubernetes-map-type is specified"
        errors.append(invalid(f"{path}.type", kind, why) if kind else required(f"{path}.type", why))
    if map_type not in (None, "atomic", "granular"):
        errors.append(not_supported(f"{path}.x-kubernetes-map-type", map_type, ("atomic", "granular")))
    return errors
