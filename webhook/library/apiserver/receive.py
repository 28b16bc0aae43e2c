"""What the API server makes of a file's object before admission: placed, decoded, without what only it may write."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import orjson

from webhook.admission import Cause, GroupVersionKind, Warn, kind_of
from webhook.catalog import KnownKind
from webhook.children import UNKNOWN, builtin_errors, decode_builtin, name_rule
from webhook.engine import NAMESPACE
from webhook.golang.fmt import type_text, value_text
from webhook.golang.names import dns_1123_subdomain, generated_name
from webhook.ground.budget import Budget
from webhook.kubernetes import faults_of, shortened
from webhook.schema import (
    CoerceError,
    DecodeError,
    FieldError,
    MetadataError,
    decode_metadata,
    decode_metadata_leniently,
    validate_metadata,
    validate_metadata_update,
)
from webhook.vap import CLUSTER_KINDS

_SYSTEM: Final = frozenset(
    {
        "creationTimestamp",
        "deletionGracePeriodSeconds",
        "deletionTimestamp",
        "generation",
        "managedFields",
        "resourceVersion",
        "selfLink",
        "uid",
    }
)
"""Fields of ObjectMeta that the API server sets, whatever a file has; kubectl itself drops resourceVersion."""
_UPDATED: Final = frozenset({"deletionGracePeriodSeconds", "deletionTimestamp", "selfLink", "uid"})
"""Those that count in an update. It must not change them, except for selfLink."""
_MOST_REPLICAS: Final = 2**31 - 1


@dataclass(frozen=True, slots=True)
class Received:
    """``object`` as admission sees it. ``causes`` are why the API server does not decode it.

    Metadata at fault is left out of the object. If ``readable`` is False, nothing can be said about the rest of it.
    """

    object: dict[str, Any]
    causes: tuple[Cause, ...] = ()
    warnings: tuple[Warn, ...] = ()
    readable: bool = True


def _is_namespaced(gvk: GroupVersionKind, kind: KnownKind | None) -> bool:
    return (gvk.group, gvk.kind) not in CLUSTER_KINDS if kind is None else kind.namespaced


def receive(
    value: dict[str, Any], kind: KnownKind | None, old: dict[str, Any] | None = None, *, assigned: bool = False
) -> Received:
    """Decode an object that a user creates, or with which a user updates ``old`` (:func:`stored_object`).

    ``assigned`` keeps the metadata that the API server assigns, as in an object that it sends to a webhook.
    """
    gvk = kind_of(value)
    metadata, causes, warnings = _metadata(value.get("metadata"))
    if not assigned:
        metadata = _assigned(metadata, {} if old is None else old["metadata"], updates=old is not None)
    obj = {**value, "metadata": _placed(metadata, namespaced=_is_namespaced(gvk, kind))}
    if kind is None:
        obj, found = decode_builtin(gvk, obj)
        return Received(obj, (*causes, *map(_cause, found)), warnings)
    if kind.status:
        _drop_status(obj, kind, old)
    try:
        return Received(_without_nulls(obj, kind), tuple(causes), warnings)
    except CoerceError as error:
        return Received(obj, (*causes, _cause(error.error)), warnings, readable=False)
    except DecodeError as error:
        return Received(obj, (*causes, Cause("", "FieldValueInvalid", str(error))), warnings, readable=False)


def _assigned(metadata: dict[str, Any], old: dict[str, Any], *, updates: bool) -> dict[str, Any]:
    """The metadata with what the API server assigns. Of that, an update keeps the user's :data:`_UPDATED`."""
    ignored = _SYSTEM - _UPDATED if updates else _SYSTEM
    kept = {key: item for key, item in old.items() if key in _SYSTEM}
    return {**kept, **{key: item for key, item in metadata.items() if key not in ignored}}


def stored_object(value: dict[str, Any], kind: KnownKind | None) -> dict[str, Any]:
    """An object as a cluster holds it: metadata that cannot be decoded is left out."""
    obj = placed(value, kind)
    if kind is None:
        return obj
    try:
        return kind.schema.decode(obj, drop_invalid=True).object
    except DecodeError:
        return obj


def placed(value: dict[str, Any], kind: KnownKind | None) -> dict[str, Any]:
    """The object with its metadata as ObjectMeta has it, in the namespace where kubectl creates it."""
    metadata, _, _ = _metadata(value.get("metadata"))
    return {**value, "metadata": _placed(metadata, namespaced=_is_namespaced(kind_of(value), kind))}


def _without_nulls(obj: dict[str, Any], kind: KnownKind) -> dict[str, Any]:
    """The object with the schema's defaults, without the nulls that its decoder drops. Unknown fields stay.

    Raises:
        DecodeError: it cannot be decoded.
    """
    kind.schema.decode(obj)
    return kind.schema.drop_nulls(kind.schema.default(obj))


def _drop_status(obj: dict[str, Any], kind: KnownKind, old: dict[str, Any] | None) -> None:
    """Drop a status, which users cannot write; one with unknown fields stays, to be reported."""
    if not kind.schema.prune({"status": obj.get("status")})[1]:
        obj.pop("status", None)
        if old is not None and "status" in old:
            obj["status"] = old["status"]


def _placed(metadata: dict[str, Any], *, namespaced: bool) -> dict[str, Any]:
    """The metadata where kubectl creates the object: in the namespace ``default`` if it names none."""
    if namespaced:
        return {**metadata, "namespace": metadata.get("namespace") or NAMESPACE}
    return {key: item for key, item in metadata.items() if key != "namespace"}


def _metadata(value: Any) -> tuple[dict[str, Any], list[Cause], tuple[Warn, ...]]:
    """ObjectMeta as the API server stores it, what it refuses, and what it warns of."""
    causes: list[Cause] = []
    try:
        decoded, unknown = decode_metadata(value)
    except MetadataError as error:
        lenient, unknown = decode_metadata_leniently(value)
        decoded = lenient or {}
        causes += _undecodable(value) or [Cause("metadata", "FieldValueInvalid", f"Invalid value: {error}")]
    causes += [Cause(f"metadata.{path}", "FieldValueInvalid", "unknown field") for path in unknown]
    owners = decoded.get("ownerReferences", [])
    distinct = list({orjson.dumps(owner, option=orjson.OPT_SORT_KEYS): owner for owner in owners}.values())
    if len(distinct) == len(owners):
        return decoded, causes, ()
    decoded = {**decoded, "ownerReferences": distinct}
    return decoded, causes, (Warn("metadata.ownerReferences", "contains duplicate entries, which are dropped"),)


def _undecodable(value: Any) -> list[Cause]:
    """A cause for each field of ObjectMeta of the wrong type. The API server only reports one of them."""
    causes: list[Cause] = []
    for name, item in value.items() if isinstance(value, dict) else ():
        try:
            decode_metadata({name: item})
        except MetadataError as error:
            causes.append(Cause(f"metadata.{name}", "FieldValueInvalid", f"Invalid value: {error}"))
    return causes


def metadata_causes(obj: dict[str, Any], kind: KnownKind | None, old: dict[str, Any] | None = None) -> list[Cause]:
    """The causes of ObjectMeta's validation, which the API server runs after mutation."""
    metadata, _ = decode_metadata_leniently(obj.get("metadata"))
    if metadata is None:  # a mutating policy has replaced it
        return [Cause("metadata", "FieldValueInvalid", "Invalid value: must be an object")]
    if old is not None:
        return list(map(_cause, validate_metadata_update(metadata, old["metadata"])))
    generated = not metadata.get("name") and "generateName" in metadata
    if generated:
        metadata = {**metadata, "name": generated_name(metadata["generateName"])}
    rule = dns_1123_subdomain if kind is not None else name_rule(kind_of(obj))
    namespaced = _is_namespaced(kind_of(obj), kind)
    errors = validate_metadata(metadata, namespaced=namespaced, name_rule=rule)
    return list(_causes(errors, generated=generated))


def builtin_causes(obj: dict[str, Any], old: dict[str, Any] | None = None) -> Iterator[Cause]:
    """What Kubernetes' own validation refuses of a decoded object of a built-in kind; not its metadata."""
    for error, text, _ in faults_of(builtin_errors(obj, old), Budget()):
        yield Cause(error.field, error.type, text)


def replicas_causes(obj: dict[str, Any], kind: KnownKind | None) -> Iterator[Cause]:
    """Why /scale could not read the replicas of an object (``ValidateScaleSpec``). One without them has no cause."""
    if kind is None or not kind.replicas:
        return
    count, fault = 0, ""
    try:
        count = _replicas(obj, kind.replicas)
    except _AccessorError as error:
        fault = str(error)
    else:
        if count < 0:
            fault = "should be a non-negative integer"
        elif count > _MOST_REPLICAS:
            fault = f"should be less than or equal to {_MOST_REPLICAS}"
    if fault:
        yield _cause(FieldError("FieldValueInvalid", kind.replicas, fault, count))


def _replicas(obj: dict[str, Any], path: str) -> int:
    """The integer at a path, 0 if there is none (``unstructured.NestedInt64``).

    Raises:
        _AccessorError: there is something else on the way or at its end.
    """
    value: Any = obj
    walked = ""
    for name in path.removeprefix(".").split("."):
        walked += f".{name}"
        if value is None:
            return 0
        if not isinstance(value, dict):
            raise _AccessorError(walked, value, "map[string]interface{}")
        if name not in value:
            return 0
        value = value[name]
    if type(value) is not int:
        raise _AccessorError(walked, value, "int64")
    return value


class _AccessorError(Exception):
    """A value is of another type than the reader of a path wants, in the words of ``unstructured``."""

    def __init__(self, path: str, value: Any, wanted: str) -> None:
        text = f"{path} accessor error: {value_text(value)} is of the type {type_text(value)}, expected {wanted}"
        super().__init__(text)


def _causes(errors: list[FieldError], *, generated: bool) -> Iterator[Cause]:
    """Of a generated name, only the prefix is the user's."""
    return (_cause(error) for error in errors if not (generated and error.field == "metadata.name"))


def _cause(error: FieldError) -> Cause:
    return Cause(error.field, error.type, UNKNOWN if error.detail == UNKNOWN else shortened(error))
