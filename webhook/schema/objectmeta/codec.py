"""``metav1.ObjectMeta`` decoded from JSON and written back, as Go's typed round trip leaves it."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Mapping
from typing import Any

from webhook.golang.fmt import INT64, quote
from webhook.schema.numbers import kind_of

__all__ = ["MetadataError", "decode_metadata", "decode_metadata_leniently"]


class MetadataError(ValueError):
    """Metadata that does not fit ObjectMeta; the text is Go's."""


_STRING, _INT, _BOOL, _RAW = "string", "int64", "bool", "v1.FieldsV1"
_TIME = "v1.Time"
_STRINGS, _MAP = "[]string", "map[string]string"

# Field name -> (Go type, whether an empty value is left out when written).
_OWNER: Mapping[str, tuple[str, bool]] = {
    "apiVersion": (_STRING, False),
    "kind": (_STRING, False),
    "name": (_STRING, False),
    "uid": ("types.UID", False),
    "controller": ("*bool", True),
    "blockOwnerDeletion": ("*bool", True),
}
_MANAGED: Mapping[str, tuple[str, bool]] = {
    "manager": (_STRING, True),
    "operation": ("v1.ManagedFieldsOperationType", True),
    "apiVersion": (_STRING, True),
    "time": (_TIME, True),
    "fieldsType": (_STRING, True),
    "fieldsV1": (_RAW, True),
    "subresource": (_STRING, True),
}
_META: Mapping[str, tuple[str, bool]] = {
    "name": (_STRING, True),
    "generateName": (_STRING, True),
    "namespace": (_STRING, True),
    "selfLink": (_STRING, True),
    "uid": ("types.UID", True),
    "resourceVersion": (_STRING, True),
    "generation": (_INT, True),
    "creationTimestamp": (_TIME, True),
    "deletionTimestamp": (_TIME, True),
    "deletionGracePeriodSeconds": ("*int64", True),
    "labels": (_MAP, True),
    "annotations": (_MAP, True),
    "ownerReferences": ("[]v1.OwnerReference", True),
    "finalizers": (_STRINGS, True),
    "managedFields": ("[]v1.ManagedFieldsEntry", True),
}
_STRUCTS = {
    "[]v1.OwnerReference": ("OwnerReference", _OWNER),
    "[]v1.ManagedFieldsEntry": ("ManagedFieldsEntry", _MANAGED),
}
_TEXTUAL = frozenset({_STRING, "types.UID", "v1.ManagedFieldsOperationType"})
_JSON_NAMES = {"integer": "number", "boolean": "bool"}


def decode_metadata(value: Any) -> tuple[dict[str, Any], list[str]]:
    """The metadata as the API server would store it, and the paths of its unknown fields.

    Empty fields are left out, nulls count as absent. Raises :class:`MetadataError` on the
    first field (in order of name) whose type is wrong.
    """
    if value is None:
        return {}, []
    if not isinstance(value, dict):
        raise MetadataError(f"json: cannot unmarshal {_json_name(value)} into Go value of type v1.ObjectMeta")
    unknown: list[str] = []
    return _struct(value, _META, "ObjectMeta", "", "", unknown), sorted(unknown)


def decode_metadata_leniently(value: Any) -> tuple[dict[str, Any] | None, list[str]]:
    """The same, leaving out what does not fit; None if the value is no object at all."""
    if not isinstance(value, dict | None):
        return None, []
    kept: dict[str, Any] = {}
    unknown: list[str] = []
    for name, item in (value or {}).items():
        try:
            decoded, paths = decode_metadata({name: item})
        except MetadataError:
            continue
        kept.update(decoded)
        unknown += paths
    return kept, sorted(unknown)


def _struct(
    value: Mapping[str, Any],
    fields: Mapping[str, tuple[str, bool]],
    struct: str,
    go_path: str,
    path: str,
    unknown: list[str],
) -> dict[str, Any]:
    decoded: dict[str, Any] = {}
    for name in sorted(value):
        if name not in fields:
            unknown.append(path + name)
            continue
        kind = fields[name][0]
        if value[name] is not None:
            decoded[name] = _field(value[name], kind, struct, go_path + name, path + name, unknown)
    return {
        name: decoded.get(name, "")
        for name, (kind, omit_empty) in fields.items()
        if (name in decoded or not omit_empty) and not (omit_empty and _is_empty(decoded[name], kind))
    }


def _is_empty(value: Any, kind: str) -> bool:
    return not kind.startswith("*") and kind != _RAW and value in ("", 0, [], {})


def _field(value: Any, kind: str, struct: str, go_path: str, path: str, unknown: list[str]) -> Any:
    def fail(found: Any, wanted: str) -> MetadataError:
        where = f"Go struct field {struct}.{go_path} of type {wanted.removeprefix('*')}"
        return MetadataError(f"json: cannot unmarshal {_json_name(found)} into {where}")

    def strings(items: list[Any]) -> None:
        for item in items:
            if item is not None and not isinstance(item, str):
                raise fail(item, _STRING)

    if kind in _TEXTUAL and isinstance(value, str):
        return value
    if kind == "*bool" and isinstance(value, bool):
        return value
    if kind == _RAW:
        return value
    if kind == _TIME:
        return _time(value)
    if kind in (_INT, "*int64") and kind_of(value) == "integer":
        return value
    if kind == _MAP and isinstance(value, dict):
        strings(list(value.values()))
        return {key: item or "" for key, item in value.items()}
    if kind == _STRINGS and isinstance(value, list):
        strings(value)
        return [item or "" for item in value]
    if kind in _STRUCTS and isinstance(value, list):
        name, fields = _STRUCTS[kind]
        for item in value:
            if item is not None and not isinstance(item, dict):
                raise fail(item, kind.removeprefix("[]"))
        return [
            _struct(item or {}, fields, name, f"{go_path}.", f"{path}[{i}].", unknown) for i, item in enumerate(value)
        ]
    raise fail(value, kind)


def _json_name(value: Any) -> str:
    kind = kind_of(value)
    if kind in ("integer", "number") and (isinstance(value, float) or value not in INT64):
        return f"number {value!r}" if isinstance(value, float) and value != int(value) else "number"
    return _JSON_NAMES.get(kind, kind)


_RFC3339 = re.compile(r"(\d{4})-(\d{2})-(\d{2})T(\d{1,2}):(\d{2}):(\d{2})(?:[.,](\d+))?(Z|[+-]\d{2}:\d{2})", re.ASCII)


def _time(value: Any) -> str:
    """A ``metav1.Time``: RFC 3339, kept in UTC and whole seconds."""
    if not isinstance(value, str):
        raise MetadataError(f"json: cannot unmarshal {_json_name(value)} into Go value of type string")
    found = _RFC3339.fullmatch(value)
    if found is None:
        raise _bad_time(value)
    zone = found[8]
    try:
        year, month, day, hour, minute, second = map(int, found.groups()[:6])
        moment = dt.datetime(year, month, day, hour, minute, second, tzinfo=dt.UTC)
        if zone != "Z":
            hours, minutes = int(zone[1:3]), int(zone[4:])
            if hours > 24 or minutes > 60:
                raise _bad_time(value)
            moment -= dt.timedelta(hours=hours, minutes=minutes) * (-1 if zone[0] == "-" else 1)
    except (ValueError, OverflowError) as error:
        raise _bad_time(value) from error
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ").rjust(20, "0")


def _bad_time(value: str) -> MetadataError:
    layout = '"2006-01-02T15:04:05Z07:00"'
    return MetadataError(f'parsing time {quote(value)} as {layout}: cannot parse {quote(value)} as "2006"')
