"""Metadata that rules cannot read. An API server sends none: it decodes metadata before it calls a webhook."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import repeat
from operator import contains
from types import NoneType
from typing import Any, Final

from webhook.admission import Cause
from webhook.ground.fieldpath import field_path
from webhook.schema import ANNOTATIONS_LIMIT, annotations_size

_TEXTS: Final = ("name", "generateName", "namespace", "creationTimestamp")
_MAPS: Final = ("labels", "annotations")
_LISTS: Final[dict[str, type]] = {"finalizers": str, "managedFields": dict}
"""The fields that rules can read; of lists, the type of the items."""

_STRINGS: Final = frozenset({str})

_ANY: Final = frozenset({str, bool, int, float, list, dict, NoneType})
_TYPES: Final[dict[str, frozenset[type]]] = {
    **dict.fromkeys(_TEXTS, frozenset({str, NoneType})),
    **dict.fromkeys(_MAPS, frozenset({dict, NoneType})),
    **dict.fromkeys(_LISTS, frozenset({list, NoneType})),
}
"""The types of a value, by field; the others may have any."""


def metadata_errors(obj: dict[str, Any], size: int = 0) -> list[Cause]:
    """A cause for each field of metadata of the wrong type, or for annotations that are too long.

    ``size`` is a bound of the object's bytes in JSON, 0 if none is known.
    """
    metadata = obj.get("metadata")
    if metadata is None:
        return []
    if not isinstance(metadata, dict):
        return [_invalid("metadata", "must be an object")]
    if not _has_types(metadata):
        return list(_wrong_types(metadata))
    annotations = metadata.get("annotations")
    if not annotations or 0 < size <= ANNOTATIONS_LIMIT:
        return []
    return [Cause(error.field, error.type, error.body()) for error in annotations_size(annotations)]


def is_readable(obj: dict[str, Any]) -> bool:
    """Whether the object has metadata without errors."""
    return isinstance(obj.get("metadata"), dict) and not metadata_errors(obj)


def _has_types(metadata: dict[str, Any]) -> bool:
    """Whether all fields have their types. Most objects pass, so it takes few steps."""
    if not all(map(contains, map(_TYPES.get, metadata, repeat(_ANY)), map(type, metadata.values()))):
        return False
    get = metadata.get
    labels, annotations, finalizers = get("labels"), get("annotations"), get("finalizers")
    if labels and not _STRINGS.issuperset(map(type, labels.values())):
        return False
    if annotations and not _STRINGS.issuperset(map(type, annotations.values())):
        return False
    if finalizers and not _STRINGS.issuperset(map(type, finalizers)):
        return False
    for entry in get("managedFields") or ():
        if entry.__class__ is not dict or ((time := entry.get("time")) is not None and time.__class__ is not str):
            return False
    return True


def _wrong_types(metadata: dict[str, Any]) -> Iterator[Cause]:
    given: dict[str, Any] = {name: value for name, value in metadata.items() if value is not None}
    for name in _TEXTS:
        if not isinstance(given.get(name, ""), str):
            yield _invalid(f"metadata.{name}", "must be a string")
    for name in _MAPS:
        yield from _not_strings(name, given.get(name, {}))
    for name in _LISTS:
        yield from _wrong_items(name, given.get(name, []))


def _not_strings(name: str, value: Any) -> Iterator[Cause]:
    if not isinstance(value, dict):
        yield _invalid(f"metadata.{name}", "must be a map of strings")
        return
    for key, item in value.items():
        if not isinstance(item, str):
            yield _invalid(field_path(("metadata", name, key)), "must be a string: put it in quotes")


def _wrong_items(name: str, value: Any) -> Iterator[Cause]:
    """What is wrong with finalizers, or with the entries of managedFields."""
    if not isinstance(value, list):
        yield _invalid(f"metadata.{name}", "must be a list")
        return
    wanted = _LISTS[name]
    for index, item in enumerate(value):
        path = f"metadata.{name}[{index}]"
        if not isinstance(item, wanted):
            yield _invalid(path, "must be a string" if wanted is str else "must be an object")
        elif isinstance(item, dict) and not isinstance(item.get("time"), str | None):
            yield _invalid(f"{path}.time", "must be a string")


def _invalid(path: str, text: str) -> Cause:
    return Cause(path, "FieldValueInvalid", f"Invalid value: {text}")
