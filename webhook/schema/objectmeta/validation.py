"""Validate decoded metadata as apimachinery's ``ValidateObjectMeta`` and ``ValidateObjectMetaUpdate`` do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from webhook.golang.names import dns_1123_label, dns_1123_subdomain, label_key, label_value
from webhook.golang.strconv import quote
from webhook.ground.fieldpath import FieldPath
from webhook.schema.fielderror import FieldError, forbidden, invalid, not_supported, required, too_long

ANNOTATIONS_LIMIT: Final = 256 * 1024
"""Bytes of all keys and values of annotations."""
_MANAGER_LIMIT = 128
_SUBRESOURCE_LIMIT = 256
_ORPHAN, _FOREGROUND = "orphan", "foregroundDeletion"


def validate_metadata(
    meta: dict[str, Any],
    *,
    namespaced: bool,
    path: str = "metadata",
    name_rule: Callable[[str], list[str]] = dns_1123_subdomain,
) -> list[FieldError]:
    """Every error in the ObjectMeta (:func:`webhook.schema.objectmeta.codec.decode_metadata`) of a new object."""
    name, namespace = meta.get("name", ""), meta.get("namespace", "")
    errors = []
    prefix = meta.get("generateName", "")
    if prefix:
        masked = f"{prefix[:-2]}a" if len(prefix) > 1 and prefix.endswith("-") else prefix
        checked = masked if name_rule in (dns_1123_subdomain, dns_1123_label) else prefix
        errors += [invalid(f"{path}.generateName", prefix, problem) for problem in name_rule(checked)]
    if name:
        errors += [invalid(f"{path}.name", name, problem) for problem in name_rule(name)]
    else:
        errors.append(required(f"{path}.name", "name or generateName is required"))
    if namespaced and not namespace:
        errors.append(required(f"{path}.namespace"))
    elif namespaced:
        errors += [invalid(f"{path}.namespace", namespace, problem) for problem in dns_1123_label(namespace)]
    elif namespace:
        errors.append(forbidden(f"{path}.namespace", "not allowed on this type"))
    generation = meta.get("generation", 0)
    if generation < 0:
        errors.append(invalid(f"{path}.generation", generation, "must be greater than or equal to 0"))
    return errors + _contents(meta, path) + _managed_fields(meta.get("managedFields", []), f"{path}.managedFields")


def validate_metadata_update(meta: dict[str, Any], old: dict[str, Any]) -> list[FieldError]:
    """Every error in the ObjectMeta of an object that takes the place of ``old``.

    Fields that the API server takes from the stored object are not compared: resourceVersion, generation and times.
    """
    errors: list[FieldError] = []
    if old.get("deletionTimestamp"):
        new = sorted(set(meta.get("finalizers", [])) - set(old.get("finalizers", [])))
        if new:
            names = ", ".join(map(quote, new))
            why = "no new finalizers can be added if the object is being deleted, found new finalizers"
            errors.append(forbidden("metadata.finalizers", f"{why} []string{{{names}}}"))
    errors += [
        invalid(f"metadata.{key}", meta.get(key, ""), "field is immutable")
        for key in ("name", "namespace", "uid", "deletionTimestamp", "deletionGracePeriodSeconds")
        if meta.get(key, "") != old.get(key, "")
    ]
    return errors + _contents(meta, "metadata")


def _contents(meta: dict[str, Any], path: str) -> list[FieldError]:
    errors = _labels(meta.get("labels", {}), f"{path}.labels")
    errors += _annotations(meta.get("annotations", {}), f"{path}.annotations")
    errors += _owners(meta.get("ownerReferences", []), f"{path}.ownerReferences")
    return errors + _finalizers(meta.get("finalizers", []), f"{path}.finalizers")


def _labels(labels: dict[str, str], path: str) -> list[FieldError]:
    errors = []
    for key, value in labels.items():
        errors += [invalid(path, key, problem) for problem in label_key(key)]
        errors += [invalid(path, value, problem) for problem in label_value(value)]
    return errors


def _annotations(annotations: dict[str, str], path: str) -> list[FieldError]:
    errors = [invalid(path, key, problem) for key in annotations for problem in label_key(key.lower())]
    return errors + annotations_size(annotations, path)


def annotations_size(annotations: dict[str, str], path: str | FieldPath = "metadata.annotations") -> list[FieldError]:
    """The error for annotations whose total size is too large."""
    if 4 * (sum(map(len, annotations)) + sum(map(len, annotations.values()))) <= ANNOTATIONS_LIMIT:
        return []  # no character takes more than four bytes
    size = sum(map(_bytes, annotations)) + sum(map(_bytes, annotations.values()))
    return [too_long(path, ANNOTATIONS_LIMIT)] if size > ANNOTATIONS_LIMIT else []


def _bytes(text: str) -> int:
    """Bytes in UTF-8. Half of a surrogate pair has three, like the character that Go puts in its place."""
    return len(text.encode(errors="surrogatepass"))


def _owners(owners: list[dict[str, Any]], path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    controller = ""
    for i, owner in enumerate(owners):
        errors += _owner(owner, f"{path}[{i}]")
        if owner.get("controller"):
            name = f"{owner['kind']}/{owner['name']}"
            if controller:
                both = f'SchemaErrors "true" in references for {controller} and {name}'
                errors.append(invalid(path, owners, f"Only one reference can have Controller set to true. {both}"))
            controller = controller or name
    return errors


def _owner(owner: dict[str, Any], path: str) -> list[FieldError]:
    errors = [
        required(f"{path}.{key}", "must not be empty")
        for key in ("apiVersion", "kind", "name", "uid")
        if not owner[key]
    ]
    version = owner["apiVersion"]
    group, _, name = version.rpartition("/")
    if version and (not name or "/" in group):
        errors.append(invalid(f"{path}.apiVersion", version, "must be <group>/<version> or <version>"))
    if (version, owner["kind"]) == ("v1", "Event"):
        errors.append(invalid(path, owner, "/v1, Kind=Event is disallowed from being an owner"))
    return errors


def _finalizers(finalizers: list[str], path: str) -> list[FieldError]:
    errors = [invalid(path, name, problem) for name in finalizers for problem in label_key(name)]
    if _ORPHAN in finalizers and _FOREGROUND in finalizers:
        errors.append(invalid(path, finalizers, f"finalizer {_ORPHAN} and {_FOREGROUND} cannot be both set"))
    return errors


def _managed_fields(entries: list[dict[str, Any]], path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    for i, entry in enumerate(entries):
        operation, own = entry.get("operation", ""), f"{path}[{i}]"
        if not operation:
            errors.append(required(f"{own}.operation", "must not be empty"))
        elif operation not in ("Apply", "Update"):
            errors.append(not_supported(f"{own}.operation", operation, ("Apply", "Update")))
        if entry.get("fieldsType", "FieldsV1") != "FieldsV1":
            errors.append(invalid(f"{own}.fieldsType", entry["fieldsType"], "must be `FieldsV1`"))
        if len(entry.get("manager", "").encode()) > _MANAGER_LIMIT:
            errors.append(too_long(f"{own}.manager", _MANAGER_LIMIT))
        if len(entry.get("subresource", "").encode()) > _SUBRESOURCE_LIMIT:
            errors.append(too_long(f"{own}.subresource", _SUBRESOURCE_LIMIT))
    return errors
