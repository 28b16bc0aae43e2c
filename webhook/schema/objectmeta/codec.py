"""Decode ``metav1.ObjectMeta`` from JSON and write it back, with the result of Go's typed round trip."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from webhook.golang.errors import GoError
from webhook.golang.strconv import INT64
from webhook.golang.time import Time, format_rfc3339, parse
from webhook.schema.numbers import kind_of


class MetadataError(ValueError):
    """Metadata that does not fit ObjectMeta; the text is Go's."""


_STRING, _INT, _BOOL, _RAW = "string", "int64", "bool", "v1.FieldsV1"
_TIME = "v1.Time"
_STRINGS, _MAP = "[]string", "map[string]string"

# Field name -> (Go type, whether an empty value is omitted when written).
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
_JSON_NAMES = {"integer": "number", "boolean": "bool"}


def decode_metadata(value: Any) -> tuple[dict[str, Any], list[str]]:
    """The metadata as the API server would store it, and the paths of its unknown fields.

    Omit empty fields and nulls. Raise :class:`MetadataError` for the first field (in order of
    name) that has the wrong type.
    """
    if value is None:
        return {}, []
    if not isinstance(value, dict):
        raise MetadataError(f"json: cannot unmarshal {_json_name(value)} into Go value of type v1.ObjectMeta")
    unknown: list[str] = []
    return _struct(value, _META, _Place("ObjectMeta", "", "", unknown)), sorted(unknown)


def decode_metadata_leniently(value: Any) -> tuple[dict[str, Any] | None, list[str]]:
    """The same, without fields that have the wrong type; None if the value is not an object."""
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


@dataclass(frozen=True, slots=True)
class _Place:
    """A Go struct, Go's name of a field in it, the path in the JSON, and the unknown fields so far."""

    struct: str
    field: str
    path: str
    unknown: list[str]

    def __truediv__(self, name: str) -> _Place:
        return replace(self, field=self.field + name, path=self.path + name)

    def error(self, found: Any, wanted: str) -> MetadataError:
        where = f"Go struct field {self.struct}.{self.field} of type {wanted.removeprefix('*')}"
        return MetadataError(f"json: cannot unmarshal {_json_name(found)} into {where}")


def _struct(value: Mapping[str, Any], fields: Mapping[str, tuple[str, bool]], place: _Place) -> dict[str, Any]:
    decoded: dict[str, Any] = {}
    for name in sorted(value):
        if name not in fields:
            place.unknown.append(place.path + name)
        elif value[name] is not None:
            kind = fields[name][0]
            decoded[name] = _DECODERS[kind](value[name], kind, place / name)
    return {
        name: decoded.get(name, "")
        for name, (kind, omit_empty) in fields.items()
        if (name in decoded or not omit_empty) and not (omit_empty and _is_empty(decoded[name], kind))
    }


def _is_empty(value: Any, kind: str) -> bool:
    return not kind.startswith("*") and kind != _RAW and value in ("", 0, [], {})


def _scalar(json_kind: str) -> _Decoder:
    """A decoder for a JSON type that maps to one scalar type in Go."""

    def decode(value: Any, kind: str, place: _Place) -> Any:
        if kind_of(value) != json_kind:
            raise place.error(value, kind)
        return value

    return decode


def _raw(value: Any, _kind: str, _place: _Place) -> Any:
    return value


def _time(value: Any, _kind: str, _place: _Place) -> str:
    """A ``metav1.Time``: RFC 3339, in UTC and whole seconds; "" for the zero time, which Go writes as null."""
    if not isinstance(value, str):
        raise MetadataError(f"json: cannot unmarshal {_json_name(value)} into Go value of type string")
    try:
        at = parse(value)
    except GoError as error:
        raise MetadataError(error.message) from None
    return "" if at.is_zero else format_rfc3339(Time(at.seconds))


def _text(value: Any, place: _Place) -> str:
    """An item that is a string; Go reads null as ""."""
    if value is not None and not isinstance(value, str):
        raise place.error(value, _STRING)
    return value or ""


def _strings(value: Any, kind: str, place: _Place) -> list[str]:
    if not isinstance(value, list):
        raise place.error(value, kind)
    return [_text(item, place) for item in value]


def _map(value: Any, kind: str, place: _Place) -> dict[str, str]:
    if not isinstance(value, dict):
        raise place.error(value, kind)
    return {key: _text(item, place) for key, item in value.items()}


def _structs(struct: str, fields: Mapping[str, tuple[str, bool]]) -> _Decoder:
    def decode(value: Any, kind: str, place: _Place) -> list[dict[str, Any]]:
        if not isinstance(value, list):
            raise place.error(value, kind)
        for item in value:
            if item is not None and not isinstance(item, dict):
                raise place.error(item, kind.removeprefix("[]"))
        return [
            _struct(item or {}, fields, _Place(struct, f"{place.field}.", f"{place.path}[{i}].", place.unknown))
            for i, item in enumerate(value)
        ]

    return decode


_Decoder = Callable[[Any, str, _Place], Any]

_DECODERS: Mapping[str, _Decoder] = {
    _STRING: _scalar("string"),
    "types.UID": _scalar("string"),
    "v1.ManagedFieldsOperationType": _scalar("string"),
    _INT: _scalar("integer"),
    "*int64": _scalar("integer"),
    "*bool": _scalar("boolean"),
    _RAW: _raw,
    _TIME: _time,
    _STRINGS: _strings,
    _MAP: _map,
    "[]v1.OwnerReference": _structs("OwnerReference", _OWNER),
    "[]v1.ManagedFieldsEntry": _structs("ManagedFieldsEntry", _MANAGED),
}
"""By Go type: the decoder of a value that is not null; it may raise :class:`MetadataError`."""


def _json_name(value: Any) -> str:
    kind = kind_of(value)
    if kind in ("integer", "number") and (isinstance(value, float) or value not in INT64):
        return f"number {value!r}" if isinstance(value, float) and value != int(value) else "number"
    return _JSON_NAMES.get(kind, kind)
