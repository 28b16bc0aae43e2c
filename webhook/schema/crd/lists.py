"""Checks lists in a CRD: x-kubernetes-list-type and its map keys."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from webhook.golang.json import GoStruct
from webhook.schema.crd.internal import schema_struct
from webhook.schema.fielderror import FieldError, forbidden, invalid, not_supported, required

Raw = Mapping[str, Any]

_ATOMIC = "must be atomic as item of a list with x-kubernetes-list-type=set"
_MAP_KEY = "this property is in x-kubernetes-list-map-keys, so it"


def list_errors(raw: Raw, path: str, *, atomic_sets: bool) -> list[FieldError]:
    """The errors of x-kubernetes-list-type and x-kubernetes-list-map-keys of one node."""
    list_type, keys = raw.get("x-kubernetes-list-type"), raw.get("x-kubernetes-list-map-keys") or []
    kind, own = raw.get("type") or "", f"{path}.x-kubernetes-list-type"
    errors = []
    if list_type is not None and kind != "array":
        why = "must be array if x-kubernetes-list-type is specified"
        errors.append(invalid(f"{path}.type", kind, why) if kind else required(f"{path}.type", why))
    elif atomic_sets and list_type == "set" and isinstance(raw.get("items"), Mapping):
        errors += _set_item_errors(raw["items"], f"{path}.items")
    if list_type not in (None, "atomic", "set", "map"):
        errors.append(not_supported(own, list_type, ("atomic", "set", "map")))
    if keys and list_type != "map":
        why = "must be map if x-kubernetes-list-map-keys is non-empty"
        errors.append(required(own, why) if list_type is None else invalid(own, list_type, why))
    if list_type == "map":
        errors += _map_errors(raw, keys, path)
    return errors


def _set_item_errors(items: Raw, path: str) -> list[FieldError]:
    """Items of a set are compared as a whole, so they must be atomic."""
    # Both errors print the list type, as in the API server, even the error of the map type.
    list_type = items.get("x-kubernetes-list-type")
    if items.get("type") == "array" and list_type not in (None, "atomic"):
        return [invalid(f"{path}.x-kubernetes-list-type", list_type, _ATOMIC)]
    if items.get("type") == "object" and items.get("x-kubernetes-map-type") != "atomic":
        return [invalid(f"{path}.x-kubernetes-map-type", list_type, _ATOMIC)]
    return []


def has_non_atomic_set(raw: Raw) -> bool:
    """Whether this node is a set whose items are not atomic."""
    items = raw.get("items")
    return (
        raw.get("x-kubernetes-list-type") == "set" and isinstance(items, Mapping) and bool(_set_item_errors(items, ""))
    )


def _map_errors(raw: Raw, keys: list[str], path: str) -> list[FieldError]:
    items, own = raw.get("items"), f"{path}.x-kubernetes-list-map-keys"
    errors = []
    if not keys:
        errors.append(required(own, "must not be empty if x-kubernetes-list-type is map"))
    if items is None:
        errors.append(required(f"{path}.items", "must have a schema if x-kubernetes-list-type is map"))
    elif not isinstance(items, Mapping):
        value = GoStruct(Schema=None, JSONSchemas=[schema_struct(item) for item in items])
        errors.append(
            invalid(f"{path}.items", value, "must only have a single schema if x-kubernetes-list-type is map")
        )
    elif items.get("type") != "object":
        why = "must be object if parent array's x-kubernetes-list-type is map"
        errors.append(invalid(f"{path}.items.type", items.get("type") or "", why))
    else:
        for i, key in enumerate(keys):
            errors += _key_errors(items, key, path, own, keys)
            if key in keys[:i]:
                errors.append(invalid(own, keys, "must not contain duplicate entries"))
    return errors


def _key_errors(items: Raw, key: str, path: str, own: str, keys: list[str]) -> list[FieldError]:
    schema = (items.get("properties") or {}).get(key)
    if schema is None:
        return [invalid(own, keys, "entries must all be names of item properties")]
    if schema.get("type") in ("array", "object"):
        why = "must be a scalar type if parent array's x-kubernetes-list-type is map"
        return [invalid(f"{path}.items.properties[{key}].type", items["type"], why)]
    return []


def map_key_errors(raw: Raw, path: str) -> list[FieldError]:
    """The errors of nullable items in sets and maps, and of map keys that may be absent or null."""
    items, list_type = raw.get("items"), raw.get("x-kubernetes-list-type")
    if not isinstance(items, Mapping) or list_type not in ("set", "map"):
        return []
    errors = []
    if items.get("nullable"):
        errors.append(
            forbidden(f"{path}.items.nullable", f"cannot be nullable when x-kubernetes-list-type is {list_type}")
        )
    for key in raw.get("x-kubernetes-list-map-keys") or () if list_type == "map" else ():
        schema, own = (items.get("properties") or {}).get(key), f"{path}.items.properties[{key}]"
        if schema is None:
            continue
        if key not in (items.get("required") or ()) and schema.get("default") is None:
            errors.append(required(f"{own}.default", f"{_MAP_KEY} must have a default or be a required property"))
        if schema.get("nullable"):
            errors.append(forbidden(f"{own}.nullable", f"{_MAP_KEY} cannot be nullable"))
    return errors
