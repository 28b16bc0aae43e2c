"""apiVersion, kind and metadata of embedded resources: coerce them when decoding, check them when validating."""

from __future__ import annotations

from typing import Any

from webhook.golang.names import dns_1035_label, path_segment
from webhook.schema.fielderror import CoerceError, FieldError, child_path, invalid, required
from webhook.schema.node import MISSING, SchemaNode, distinct
from webhook.schema.objectmeta.codec import MetadataError, decode_metadata, decode_metadata_leniently
from webhook.schema.objectmeta.validation import validate_metadata
from webhook.schema.prune import with_fields, with_items


def has_embedded(node: SchemaNode) -> bool:
    """Whether any resource is embedded at or below this node."""
    return any(part.embedded for part in distinct(node))


def coerce(
    node: SchemaNode | None, value: Any, *, path: str = "", is_root: bool = False, drop_invalid: bool = False
) -> tuple[Any, list[str]]:
    """``value`` with the metadata of embedded resources as ObjectMeta stores it, and the dropped paths.

    ``drop_invalid`` omits invalid fields instead of raising :class:`CoerceError`.
    """
    unknown: list[str] = []
    coerced = _Coercer(drop_invalid, unknown).coerce(node, value, path, is_root)
    return coerced, sorted(unknown)


class _Coercer:
    def __init__(self, drop_invalid: bool, unknown: list[str]) -> None:
        self.drop_invalid = drop_invalid
        self.unknown = unknown

    def coerce(self, node: SchemaNode | None, value: Any, path: str, embedded: bool = False) -> Any:
        if isinstance(value, list) and node is not None and node.items is not None:
            return with_items(value, [self.coerce(node.items, item, f"{path}[{i}]") for i, item in enumerate(value)])
        if not isinstance(value, dict) or (node is None and not embedded):
            return value
        changed: dict[str, Any] = {}
        for key, item in value.items():
            new = self._meta(key, item, path) if embedded or (node and node.embedded) else item
            if node is not None and new is not MISSING:
                below = child_path(path, key) if key in node.properties else f"{path}[{key}]"
                new = self.coerce(node.child(key), new, below)
            if new is not item:
                changed[key] = new
        return with_fields(value, changed)

    def _meta(self, key: str, value: Any, path: str) -> Any:
        if key in ("apiVersion", "kind") and not isinstance(value, str):
            if self.drop_invalid:
                return MISSING
            raise CoerceError(invalid(child_path(path, key), value, "must be a string"))
        return self._metadata(value, child_path(path, key)) if key == "metadata" else value

    def _metadata(self, value: Any, path: str) -> Any:
        try:
            decoded, unknown = decode_metadata(value)
        except MetadataError as error:
            if not self.drop_invalid:
                raise CoerceError(invalid(path, value, str(error))) from error
            lenient, unknown = decode_metadata_leniently(value)
            if lenient is None:
                return value
            decoded = lenient
        self.unknown += [f"{path}.{name}" for name in unknown]
        return value if decoded == value else decoded


def validate_embedded(
    node: SchemaNode | None, value: Any, *, path: str = "", is_root: bool = False
) -> list[FieldError]:
    """The errors of every embedded resource's apiVersion, kind and metadata."""
    errors: list[FieldError] = []
    if isinstance(value, list) and node is not None and node.items is not None:
        for i, item in enumerate(value):
            if isinstance(item, dict | list):
                errors += validate_embedded(node.items, item, path=f"{path}[{i}]")
    if not isinstance(value, dict):
        return errors
    if is_root or (node is not None and node.embedded):
        errors += _resource_errors(value, path)
    if node is not None:
        for key, item in value.items():
            child = node.child(key)
            if child is not None and isinstance(item, dict | list):
                below = child_path(path, key) if key in node.properties else f"{path}[{key}]"
                errors += validate_embedded(child, item, path=below)
    return errors


def _resource_errors(value: dict[str, Any], path: str) -> list[FieldError]:
    errors = [required(child_path(path, key)) for key in ("apiVersion", "kind") if key not in value]
    for key, check in (("apiVersion", _version_problem), ("kind", _kind_problem)):
        if key in value:
            problem = _text_problem(value[key]) or check(value[key])
            errors += [invalid(child_path(path, key), value[key], problem)] if problem else []
    if "metadata" in value:
        errors += _metadata_errors(value["metadata"], child_path(path, "metadata"))
    return errors


def _text_problem(value: Any) -> str:
    if not isinstance(value, str):
        return "must be a string"
    return "" if value else "must not be empty"


def _version_problem(text: str) -> str:
    return f"unexpected GroupVersion string: {text}" if text.count("/") > 1 else ""


def _kind_problem(text: str) -> str:
    problems = dns_1035_label(text.lower())
    return f"may have mixed case, but should otherwise match: {','.join(problems)}" if problems else ""


def _metadata_errors(value: Any, path: str) -> list[FieldError]:
    try:
        meta = decode_metadata(value)[0]
    except MetadataError as error:
        return [invalid(path, value, str(error))]
    meta.setdefault("name", "fakename")  # an embedded resource does not need one
    return validate_metadata(meta, namespaced="namespace" in meta, path=path, name_rule=path_segment)
