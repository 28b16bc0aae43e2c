"""Checks the JSON types in a v1 CRD.

The API server refuses a document of another shape when it decodes it, before validation. The other modules of this
package rely on the shape.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from webhook.golang.strconv import INT64
from webhook.schema.fielderror import FieldError, invalid, required

# A deeper schema does not fit into an object in etcd, and the recursion must stay below Python's limit.
_MAX_DEPTH = 100

_KIND_NAMES = {
    str: "a string",
    bool: "a boolean",
    int: "an integer",
    float: "a number",
    list: "a list",
    dict: "an object",
}
_SCHEMA_KINDS: Mapping[str, type] = {
    **dict.fromkeys(
        ("id", "$schema", "$ref", "description", "type", "format", "title", "pattern"),
        str,
    ),
    **dict.fromkeys(("x-kubernetes-list-type", "x-kubernetes-map-type"), str),
    **dict.fromkeys(("nullable", "exclusiveMaximum", "exclusiveMinimum", "uniqueItems"), bool),
    **dict.fromkeys(
        (
            "x-kubernetes-preserve-unknown-fields",
            "x-kubernetes-embedded-resource",
            "x-kubernetes-int-or-string",
        ),
        bool,
    ),
    **dict.fromkeys(("maxLength", "minLength", "maxItems", "minItems", "maxProperties", "minProperties"), int),
    **dict.fromkeys(("maximum", "minimum", "multipleOf"), float),
    **dict.fromkeys(("enum", "required", "allOf", "oneOf", "anyOf"), list),
    **dict.fromkeys(("x-kubernetes-list-map-keys", "x-kubernetes-validations"), list),
    **dict.fromkeys(("properties", "patternProperties", "dependencies", "definitions", "not", "externalDocs"), dict),
}
_PLAIN = frozenset(
    {"type", "description", "format", "default", "nullable", "pattern"}
)  # most schemas have only these keywords
_RULE_KINDS: Mapping[str, type] = {
    **dict.fromkeys(("rule", "message", "messageExpression", "reason", "fieldPath"), str),
    "optionalOldSelf": bool,
}
_SPEC_KINDS: Mapping[str, type] = {
    "group": str,
    "scope": str,
    "names": dict,
    "versions": list,
    "conversion": dict,
    "preserveUnknownFields": bool,
}
_NAME_KINDS: Mapping[str, type] = {
    **dict.fromkeys(("plural", "singular", "kind", "listKind"), str),
    **dict.fromkeys(("shortNames", "categories"), list),
}
_VERSION_KINDS: Mapping[str, type] = {
    "name": str,
    "served": bool,
    "storage": bool,
    "deprecated": bool,
    "deprecationWarning": str,
    "schema": dict,
    "subresources": dict,
    "additionalPrinterColumns": list,
    "selectableFields": list,
}
_COLUMN_KINDS: Mapping[str, type] = dict.fromkeys(("name", "type", "format", "description", "jsonPath"), str)
_SCALE_KINDS: Mapping[str, type] = dict.fromkeys(("specReplicasPath", "statusReplicasPath", "labelSelectorPath"), str)


def shape_errors(document: Any) -> list[FieldError]:
    """The errors of values that have another JSON type than in CustomResourceDefinition."""
    if not isinstance(document, Mapping):
        return [invalid("<nil>", None, "must be an object")]
    if not isinstance(document.get("spec"), Mapping):
        return [required("spec", "must be an object")]
    return [*_spec(document["spec"])]


def _wrong(value: Any, kind: type) -> bool:
    if value is None:
        return False
    if kind is float:
        return isinstance(value, bool) or not isinstance(value, int | float)
    if kind is int:
        return isinstance(value, bool) or not isinstance(value, int) or value not in INT64
    return not isinstance(value, kind)


def _typed(raw: Any, kinds: Mapping[str, type], path: str) -> Iterator[FieldError]:
    if not isinstance(raw, Mapping):
        yield invalid(path, None, "must be an object")
        return
    for key, value in raw.items():
        kind = kinds.get(key)
        if kind is not None and type(value) is not kind and _wrong(value, kind):
            yield invalid(f"{path}.{key}", value, f"must be {_KIND_NAMES[kind]}")


def _strings(values: Any, path: str) -> Iterator[FieldError]:
    for i, value in enumerate(values if isinstance(values, list) else ()):
        if not isinstance(value, str):
            yield invalid(f"{path}[{i}]", value, "must be a string")


def _objects(values: Any, kinds: Mapping[str, type], path: str) -> Iterator[FieldError]:
    for i, value in enumerate(values if isinstance(values, list) else ()):
        yield from _typed(value, kinds, f"{path}[{i}]")


def _spec(spec: Mapping[str, Any]) -> Iterator[FieldError]:
    yield from _typed(spec, _SPEC_KINDS, "spec")
    names, conversion = spec.get("names"), spec.get("conversion")
    if isinstance(names, Mapping):
        yield from _typed(names, _NAME_KINDS, "spec.names")
        yield from _strings(names.get("shortNames"), "spec.names.shortNames")
        yield from _strings(names.get("categories"), "spec.names.categories")
    if isinstance(conversion, Mapping):
        yield from _conversion(conversion)
    versions = spec.get("versions")
    for i, version in enumerate(versions if isinstance(versions, list) else ()):
        yield from _version(version, f"spec.versions[{i}]")


def _conversion(conversion: Mapping[str, Any]) -> Iterator[FieldError]:
    path = "spec.conversion"
    yield from _typed(conversion, {"strategy": str, "webhook": dict}, path)
    webhook = conversion.get("webhook")
    if isinstance(webhook, Mapping):
        yield from _typed(webhook, {"clientConfig": dict, "conversionReviewVersions": list}, f"{path}.webhook")
        yield from _strings(webhook.get("conversionReviewVersions"), f"{path}.webhook.conversionReviewVersions")
        config = webhook.get("clientConfig")
        if isinstance(config, Mapping):
            kinds: Mapping[str, type] = {"url": str, "service": dict, "caBundle": str}
            yield from _typed(config, kinds, f"{path}.webhook.clientConfig")
            if isinstance(config.get("service"), Mapping):
                kinds = {"name": str, "namespace": str, "path": str, "port": int}
                yield from _typed(config["service"], kinds, f"{path}.webhook.clientConfig.service")


def _version(version: Any, path: str) -> Iterator[FieldError]:
    yield from _typed(version, _VERSION_KINDS, path)
    if not isinstance(version, Mapping):
        return
    yield from _objects(version.get("additionalPrinterColumns"), _COLUMN_KINDS, f"{path}.additionalPrinterColumns")
    yield from _objects(version.get("selectableFields"), {"jsonPath": str}, f"{path}.selectableFields")
    subresources = version.get("subresources")
    if isinstance(subresources, Mapping):
        yield from _typed(subresources, {"status": dict, "scale": dict}, f"{path}.subresources")
        if isinstance(subresources.get("scale"), Mapping):
            yield from _typed(subresources["scale"], _SCALE_KINDS, f"{path}.subresources.scale")
    schema = version.get("schema")
    if isinstance(schema, Mapping) and schema.get("openAPIV3Schema") is not None:
        yield from _schema(schema["openAPIV3Schema"], f"{path}.schema.openAPIV3Schema", 0)


def _schema(raw: Any, path: str, depth: int) -> Iterator[FieldError]:
    if depth > _MAX_DEPTH:
        yield invalid(path, None, f"must not be nested deeper than {_MAX_DEPTH} levels")
        return
    if not isinstance(raw, Mapping):
        yield invalid(path, raw, "must be an object")
        return
    wrong = [*_typed(raw, _SCHEMA_KINDS, path)]
    yield from wrong
    if raw.keys() <= _PLAIN:
        return
    yield from _strings(raw.get("required"), f"{path}.required")
    yield from _strings(raw.get("x-kubernetes-list-map-keys"), f"{path}.x-kubernetes-list-map-keys")
    yield from _objects(raw.get("x-kubernetes-validations"), _RULE_KINDS, f"{path}.x-kubernetes-validations")
    if not wrong:
        for child, where in schemas_below(raw, path):
            yield from _schema(child, where, depth + 1)


def schemas_below(raw: Mapping[str, Any], path: str = "") -> Iterator[tuple[Any, str]]:
    """The schemas directly below one, and their places."""
    for key in ("properties", "patternProperties", "definitions"):
        for name, child in (raw.get(key) or {}).items():
            yield child, f"{path}.{key}[{name}]"
    for name, child in (raw.get("dependencies") or {}).items():
        if not isinstance(child, list):
            yield child, f"{path}.dependencies[{name}]"
    for key in ("allOf", "anyOf", "oneOf"):
        for i, child in enumerate(raw.get(key) or ()):
            yield child, f"{path}.{key}[{i}]"
    for key in ("additionalProperties", "additionalItems"):
        if not isinstance(raw.get(key), bool | None):
            yield raw[key], f"{path}.{key}"
    items = raw.get("items")
    if isinstance(items, list):
        for i, child in enumerate(items):
            yield child, f"{path}.items[{i}]"
    elif items is not None:
        yield items, f"{path}.items"
    if raw.get("not") is not None:
        yield raw["not"], f"{path}.not"
