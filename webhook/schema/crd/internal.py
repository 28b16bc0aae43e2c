"""Converts a v1 CustomResourceDefinition to the internal form that the API server validates.

In the internal form the parts that all versions share are at the top (``spec.validation``), so errors are reported
there. Its Go structs have no JSON names, which is visible in errors that print a struct.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from webhook.golang.json import GoStruct, deep_equal

_SHARED = {
    "subresources": "subresources",
    "schema": "validation",
    "additionalPrinterColumns": "additionalPrinterColumns",
    "selectableFields": "selectableFields",
}

_KEYWORDS = (
    "id $schema $ref description type nullable format title default maximum exclusiveMaximum minimum exclusiveMinimum "
    "maxLength minLength pattern maxItems minItems uniqueItems multipleOf enum maxProperties minProperties required "
    "items allOf oneOf anyOf not properties additionalProperties patternProperties dependencies additionalItems "
    "definitions externalDocs example x-kubernetes-preserve-unknown-fields x-kubernetes-embedded-resource "
    "x-kubernetes-int-or-string x-kubernetes-list-map-keys x-kubernetes-list-type x-kubernetes-map-type "
    "x-kubernetes-validations"
)
_FLAGS = (
    "nullable exclusiveMaximum exclusiveMinimum uniqueItems x-kubernetes-embedded-resource x-kubernetes-int-or-string"
)
_ZEROS: Mapping[str, Any] = {
    **dict.fromkeys(("id", "$schema", "description", "type", "format", "title", "pattern"), ""),
    **dict.fromkeys(_FLAGS.split(), False),
}
"""The zero values of the keywords whose values Go does not point to, and that are neither lists nor maps."""


def _go_name(keyword: str) -> str:
    if keyword == "id":
        return "ID"
    name = keyword.removeprefix("$").replace("x-kubernetes", "x")
    return "".join(f"{part[0].upper()}{part[1:]}" for part in name.split("-"))


SCHEMA_FIELDS: Mapping[str, tuple[str, Any]] = {
    _go_name(keyword): (keyword, _ZEROS.get(keyword)) for keyword in _KEYWORDS.split()
}
"""The fields of ``JSONSchemaProps`` in their order: Go name → (keyword, zero value)."""


def internal_spec(spec: Mapping[str, Any]) -> dict[str, Any]:
    """``spec`` with defaults, and with the parts that all versions share moved to the top."""
    out = dict(spec)
    versions = [dict(version) for version in spec.get("versions") or ()]
    names = dict(spec.get("names") or {})
    kind = names.get("kind") or ""
    names["singular"] = names.get("singular") or kind.lower()
    names["listKind"] = names.get("listKind") or (f"{kind}List" if kind else "")
    for key, top in _SHARED.items() if versions else ():
        values = [version.get(key) or None if key == "selectableFields" else version.get(key) for version in versions]
        if all(deep_equal(value, values[0]) for value in values):
            out[top] = values[0]
            for version in versions:
                version.pop(key, None)
    out["version"] = versions[0].get("name") or "" if versions else ""
    return out | {"versions": versions, "names": names, "absent": spec.get("versions") is None}


def version_struct(version: Mapping[str, Any]) -> GoStruct:
    """``CustomResourceDefinitionVersion``."""
    schema = version.get("schema")
    return GoStruct(
        Name=version.get("name", ""),
        Served=bool(version.get("served")),
        Storage=bool(version.get("storage")),
        Deprecated=bool(version.get("deprecated")),
        DeprecationWarning=version.get("deprecationWarning"),
        Schema=None if schema is None else GoStruct(OpenAPIV3Schema=schema_struct(schema.get("openAPIV3Schema"))),
        Subresources=_subresources(version.get("subresources")),
        AdditionalPrinterColumns=[_column(column) for column in version.get("additionalPrinterColumns") or ()] or None,
        SelectableFields=[GoStruct(JSONPath=f.get("jsonPath", "")) for f in version.get("selectableFields") or ()]
        or None,
    )


def _subresources(raw: Mapping[str, Any] | None) -> GoStruct | None:
    if raw is None:
        return None
    scale, status = raw.get("scale"), raw.get("status")
    return GoStruct(
        Status=None if status is None else GoStruct(),
        Scale=None
        if scale is None
        else GoStruct(
            SpecReplicasPath=scale.get("specReplicasPath", ""),
            StatusReplicasPath=scale.get("statusReplicasPath", ""),
            LabelSelectorPath=scale.get("labelSelectorPath"),
        ),
    )


def _column(raw: Mapping[str, Any]) -> GoStruct:
    return GoStruct(
        Name=raw.get("name", ""),
        Type=raw.get("type", ""),
        Format=raw.get("format", ""),
        Description=raw.get("description", ""),
        Priority=raw.get("priority", 0),
        JSONPath=raw.get("jsonPath", ""),
    )


def rule_struct(raw: Mapping[str, Any]) -> GoStruct:
    """``ValidationRule``."""
    return GoStruct(
        Rule=raw.get("rule", ""),
        Message=raw.get("message", ""),
        MessageExpression=raw.get("messageExpression", ""),
        Reason=raw.get("reason"),
        FieldPath=raw.get("fieldPath", ""),
        OptionalOldSelf=raw.get("optionalOldSelf"),
    )


def schema_struct(raw: Mapping[str, Any] | None) -> GoStruct | None:
    """``JSONSchemaProps``."""
    if raw is None:
        return None
    return GoStruct({name: _keyword(name, raw.get(key), zero) for name, (key, zero) in SCHEMA_FIELDS.items()})


def _keyword(name: str, value: Any, zero: Any) -> Any:
    if value is None:
        return zero
    match name:
        case "Items" if isinstance(value, list):
            return GoStruct(Schema=None, JSONSchemas=[schema_struct(item) for item in value])
        case "Items":
            return GoStruct(Schema=schema_struct(value), JSONSchemas=None)
        case "AllOf" | "OneOf" | "AnyOf":
            return [schema_struct(item) for item in value]
        case "Not":
            return schema_struct(value)
        case "Properties" | "PatternProperties" | "Definitions":
            return {key: schema_struct(item) for key, item in value.items()}
        case "AdditionalProperties" | "AdditionalItems":
            return _schema_or_bool(value)
        case "ExternalDocs":
            return GoStruct(Description=value.get("description", ""), URL=value.get("url", ""))
        case "Dependencies":
            return {key: _dependency(item) for key, item in value.items()}
        case "XValidations":
            return [rule_struct(rule) for rule in value]
    return value


def _schema_or_bool(value: Any) -> GoStruct:
    if isinstance(value, bool):
        return GoStruct(Allows=value, Schema=None)
    return GoStruct(Allows=True, Schema=schema_struct(value))


def _dependency(value: Any) -> GoStruct:
    if isinstance(value, list):
        return GoStruct(Schema=None, Property=value)
    return GoStruct(Schema=schema_struct(value), Property=None)
