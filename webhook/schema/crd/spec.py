"""Checks the ``spec`` of a CRD except its schemas: group, names, versions, columns, subresources, selectable fields."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from webhook.golang.names import dns_1035_label, dns_1123_subdomain
from webhook.schema.crd.internal import version_struct
from webhook.schema.fielderror import FieldError, duplicate, invalid, not_supported, required, too_many
from webhook.schema.node import build
from webhook.schema.paths import PathError, resolve_path

Raw = Mapping[str, Any]

_COLUMN_TYPES = ("boolean", "date", "integer", "number", "string")
_COLUMN_FORMATS = ("byte", "date", "date-time", "double", "float", "int32", "int64", "password")


def group_errors(group: str, path: str) -> list[FieldError]:
    if not group:
        return [required(path)]
    problems = dns_1123_subdomain(group)
    if problems:
        return [invalid(path, group, ",".join(problems))]
    return [] if "." in group else [invalid(path, group, "should be a domain with at least one dot")]


def names_errors(names: Raw, path: str) -> list[FieldError]:
    """All errors of ``spec.names``; singular and listKind must already have their defaults."""
    errors = [required(f"{path}.{key}") for key in ("plural", "singular", "kind", "listKind") if not names.get(key)]
    for key in ("plural", "singular", "kind", "listKind"):
        name = names.get(key) or ""
        mixed = key in ("kind", "listKind")
        problems = dns_1035_label(name.lower() if mixed else name) if name else []
        if problems:
            prefix = "may have mixed case, but should otherwise match: " if mixed else ""
            errors.append(invalid(f"{path}.{key}", name, prefix + ",".join(problems)))
    for key in ("shortNames", "categories"):
        for i, name in enumerate(names.get(key) or ()):
            problems = dns_1035_label(name)
            errors += [invalid(f"{path}.{key}[{i}]", name, ",".join(problems))] if problems else []
    kind = names.get("kind")
    if kind and kind == names.get("listKind"):
        errors.append(invalid(f"{path}.listKind", kind, "kind and listKind may not be the same"))
    return errors


def version_errors(versions: list[dict[str, Any]], path: str, *, absent: bool = False) -> list[FieldError]:
    """The errors of version names (valid and unique) and of the number of storage versions (exactly one)."""
    names = [version.get("name") or "" for version in versions]
    errors = []
    for i, name in enumerate(names):
        problems = dns_1035_label(name)
        # the internal form also has the name of the first version in spec.version
        paths = [f"{path}[{i}].name", f"{path.removesuffix('s')}"] if i == 0 and name else [f"{path}[{i}].name"]
        errors += [invalid(own, name, ",".join(problems)) for own in paths if problems]
    if len(set(names)) < len(names):
        errors.append(invalid(path, [*map(version_struct, versions)], "must contain unique version names"))
    if sum(bool(version.get("storage")) for version in versions) != 1:
        why = "must have exactly one version marked as storage version"
        errors.append(invalid(path, None if absent else [*map(version_struct, versions)], why))
    return errors


def warning_problems(deprecated: bool, warning: str | None) -> list[str]:
    """The errors of a ``deprecationWarning``."""
    if warning is None:
        return []
    if not deprecated:
        return ["can only be set for deprecated versions"]
    problems = ["must be <= 256 characters long"] if len(warning.encode()) > 256 else []
    if not warning:
        problems.append("must not be an empty string")
    for i, char in enumerate(warning):
        if not char.isprintable():
            index = len(warning[:i].encode())
            why = f"must only contain printable UTF-8 characters; non-printable character found at index {index}"
            problems.append(why)
            break
    return problems


def column_errors(column: Raw, path: str) -> list[FieldError]:
    """All errors of one of additionalPrinterColumns."""
    errors = [] if column.get("name") else [required(f"{path}.name")]
    kind, form, json_path = (column.get(key) or "" for key in ("type", "format", "jsonPath"))
    why = f"must be one of {','.join(_COLUMN_TYPES)}"
    if not kind:
        errors.append(required(f"{path}.type", why))
    elif kind not in _COLUMN_TYPES:
        errors.append(invalid(f"{path}.type", kind, why))
    if form and form not in _COLUMN_FORMATS:
        errors.append(invalid(f"{path}.format", form, f"must be one of {','.join(_COLUMN_FORMATS)}"))
    if not json_path:
        return [*errors, required(f"{path}.JSONPath")]
    return errors + _simple_path_errors(json_path, f"{path}.JSONPath")


def _simple_path_errors(json_path: str, path: str) -> list[FieldError]:
    if json_path.startswith("."):
        return []
    return [invalid(path, json_path, "must be a simple json path starting with .")]


_SCALE_PATHS = (
    ("specReplicasPath", (".spec.",), "should be a json path under .spec"),
    ("statusReplicasPath", (".status.",), "should be a json path under .status"),
    ("labelSelectorPath", (".spec.", ".status."), "should be a json path under either .spec or .status"),
)


def subresource_errors(subresources: Raw | None, path: str) -> list[FieldError]:
    """All errors of the scale subresource."""
    scale = (subresources or {}).get("scale")
    if scale is None:
        return []
    errors: list[FieldError] = []
    for key, prefixes, why in _SCALE_PATHS:
        value, own = scale.get(key) or "", f"{path}.scale.{key}"
        if not value:
            errors += [] if key == "labelSelectorPath" else [required(own)]
        elif found := _simple_path_errors(value, own):
            errors += found
        elif not value.startswith(prefixes):
            errors.append(invalid(own, value, why))
    return errors


def scope_errors(scope: str, path: str) -> list[FieldError]:
    scopes = ("Cluster", "Namespaced")
    if not scope:
        return [required(path)]
    return [] if scope in scopes else [not_supported(path, scope, scopes)]


_MAX_SELECTABLE = 8


def selectable_errors(fields: Sequence[Raw], raw: Raw | None, path: str, *, many: bool) -> list[FieldError]:
    """All errors of ``selectableFields``; ``many`` allows more than eight."""
    root = build(raw)
    errors: list[FieldError] = []
    seen: set[str] = set()
    for i, field in enumerate(fields):
        own, text = f"{path}[{i}].jsonPath", field.get("jsonPath") or ""
        if not text:
            errors.append(required(own))
            continue
        try:
            printed, node = resolve_path(text, root, brackets=False)
        except PathError as error:
            errors.append(invalid(own, text, f"is an invalid path: {error}"))
            continue
        if printed.partition(".")[0] == "metadata":
            errors.append(invalid(own, text, "must not point to fields in metadata"))
        if node.type not in ("string", "boolean", "integer"):
            why = "must point to a field of type string, boolean or integer."
            errors.append(invalid(own, text, f"{why} Enum string fields and strings with formats are allowed."))
        if printed in seen:
            errors.append(duplicate(own, text))
        seen.add(printed)
    if len(seen) > _MAX_SELECTABLE and not many:
        errors.append(too_many(path, len(seen), _MAX_SELECTABLE))
    return errors


def stored_version_errors(stored: list[str] | None, versions: Sequence[Raw]) -> list[FieldError]:
    """The errors between ``status.storedVersions`` and the versions."""
    path = "status.storedVersions"
    if not stored:
        return [invalid(path, stored, "must have at least one stored version")]
    names = [version.get("name") or "" for version in versions]
    errors = [
        invalid(path, stored, f"must have the storage version {version.get('name') or ''}")
        for version in versions
        if version.get("storage") and version.get("name") not in stored
    ]
    for i, name in enumerate(stored):
        if name not in names:
            why = (
                f"missing from spec.versions; {name} was previously a storage version, and must remain in "
                f"spec.versions until a storage migration ensures no data remains persisted in {name} and removes "
                f"{name} from status.storedVersions"
            )
            errors.append(invalid(f"{path}[{i}]", name, why))
    return errors
