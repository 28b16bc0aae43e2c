"""A structural schema as a tree of nodes: the raw OpenAPI dictionary, read once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from webhook.schema.formats import recognised

__all__ = ["MISSING", "Node", "build"]

MISSING: Any = type("Missing", (), {"__repr__": lambda _: "MISSING", "__slots__": ()})()
"""What stands where a key is absent, so that null keeps its own meaning."""


@dataclass(frozen=True, slots=True, eq=False)
class Node:
    """One node of a structural schema, with the names of apiextensions' ``Structural``.

    ``types`` is what the OpenAPI validator checks (two names for int-or-string, none where
    the schema says nothing), ``type`` what was written. ``default`` is :data:`MISSING` where
    there is none. ``additional`` is the schema of additionalProperties, None where it is a
    boolean; ``additional_known`` says that the keyword is there. ``path`` is the place in the
    schema, for errors.
    """

    raw: Mapping[str, Any]
    type: str
    types: tuple[str, ...]
    format: str
    nullable: bool
    default: Any
    properties: Mapping[str, Node]
    additional: Node | None
    additional_known: bool
    additional_allowed: bool
    items: Node | None
    required: tuple[str, ...]
    enum: tuple[Any, ...]
    minimum: float | None
    maximum: float | None
    exclusive_minimum: bool
    exclusive_maximum: bool
    multiple_of: float | None
    min_length: int | None
    max_length: int | None
    pattern: str
    min_items: int | None
    max_items: int | None
    unique_items: bool
    min_properties: int | None
    max_properties: int | None
    all_of: tuple[Node, ...]
    any_of: tuple[Node, ...]
    one_of: tuple[Node, ...]
    not_: Node | None
    preserve: bool
    embedded: bool
    int_or_string: bool
    list_type: str
    list_keys: tuple[str, ...]
    map_type: str
    rules: tuple[Mapping[str, Any], ...]

    def child(self, key: str) -> Node | None:
        """The schema of one field: the property's, else that of additionalProperties, else None."""
        return self.properties.get(key, self.additional)


def build(raw: Mapping[str, Any] | None, *, version: tuple[int, int] | None = (1, 36)) -> Node:
    """Read an ``openAPIV3Schema``; formats that Kubernetes ``version`` does not know are ignored.

    Without a version it is read as the API server reads it to check default values: formats
    stay as written, and int-or-string values may be of any type.
    """
    raw = raw or {}
    int_or_string = bool(raw.get("x-kubernetes-int-or-string"))
    kind = raw.get("type") or ""
    types = ("integer", "string") if int_or_string and version else (kind,) if kind else ()
    form = raw.get("format") or ""
    additional = raw.get("additionalProperties", MISSING)
    default = raw.get("default")

    def nested(name: str) -> tuple[Node, ...]:
        return tuple(build(schema, version=version) for schema in raw.get(name) or ())

    return Node(
        raw=raw,
        type=kind,
        types=types,
        format=form if version is None else recognised(form, types, version),
        nullable=bool(raw.get("nullable")),
        default=MISSING if default is None else default,
        properties={name: build(schema, version=version) for name, schema in (raw.get("properties") or {}).items()},
        additional=build(additional, version=version) if isinstance(additional, Mapping) else None,
        additional_known=additional is not MISSING and additional is not None,
        additional_allowed=additional is not False,
        items=build(raw["items"], version=version) if raw.get("items") is not None else None,
        required=tuple(raw.get("required") or ()),
        enum=tuple(raw.get("enum") or ()),
        minimum=_float(raw.get("minimum")),
        maximum=_float(raw.get("maximum")),
        exclusive_minimum=bool(raw.get("exclusiveMinimum")),
        exclusive_maximum=bool(raw.get("exclusiveMaximum")),
        multiple_of=_float(raw.get("multipleOf")),
        min_length=raw.get("minLength"),
        max_length=raw.get("maxLength"),
        pattern=raw.get("pattern") or "",
        min_items=raw.get("minItems"),
        max_items=raw.get("maxItems"),
        unique_items=bool(raw.get("uniqueItems")),
        min_properties=raw.get("minProperties"),
        max_properties=raw.get("maxProperties"),
        all_of=nested("allOf"),
        any_of=nested("anyOf"),
        one_of=nested("oneOf"),
        not_=build(raw["not"], version=version) if raw.get("not") is not None else None,
        preserve=bool(raw.get("x-kubernetes-preserve-unknown-fields")),
        embedded=bool(raw.get("x-kubernetes-embedded-resource")),
        int_or_string=int_or_string,
        list_type=raw.get("x-kubernetes-list-type") or "",
        list_keys=tuple(raw.get("x-kubernetes-list-map-keys") or ()),
        map_type=raw.get("x-kubernetes-map-type") or "",
        rules=tuple(raw.get("x-kubernetes-validations") or ()),
    )


def _float(number: float | None) -> float | None:
    return None if number is None else float(number)
