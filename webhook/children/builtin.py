"""Objects of the API server's built-in kinds: their fields and types, as its decoder reads them.

The API server validates these kinds in code beyond their published schema (:mod:`webhook.kubernetes`), after it has
filled in defaults.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping
from typing import Any, Final

from webhook.admission import GroupVersionKind, group_version
from webhook.golang.errors import readable
from webhook.golang.names import path_segment
from webhook.golang.quantity import parse
from webhook.golang.strconv import INT64
from webhook.ground.budget import Budget
from webhook.kubernetes import is_validated, object_errors, prepared, with_defaults
from webhook.kubernetes import name_rule as rule_of_names
from webhook.schema import OMIT, FieldError
from webhook.vap import builtin_schema, resolved

Schema = Mapping[str, Any]

UNKNOWN: Final = "unknown field"
"""What the strict decoder says, without the value."""

_INT32: Final = range(-(2**31), 2**31)
_ENVELOPE: Final = frozenset({"apiVersion", "kind", "metadata"})
"""Decoded apart, as ObjectMeta."""


def is_builtin(kind: GroupVersionKind) -> bool:
    """Whether the fields of a kind are known here."""
    return builtin_schema(kind) is not None


def decode_builtin(kind: GroupVersionKind, value: dict[str, Any]) -> tuple[dict[str, Any], list[FieldError]]:
    """The object without the nulls that the decoder drops, and the errors of unknown fields and of wrong types."""
    schema = builtin_schema(kind)
    if schema is None:
        return value, []
    errors: list[FieldError] = []
    body = {key: item for key, item in value.items() if key not in _ENVELOPE}
    decoded = _decode(body, schema, "", errors)
    return {**{key: value[key] for key in value if key in _ENVELOPE}, **decoded}, errors


def defaulted(obj: dict[str, Any]) -> dict[str, Any]:
    """A decoded object with its defaults, as policies see it; as it is, if its kind is not validated here."""
    version, kind = obj["apiVersion"], obj["kind"]
    if not is_validated(version, kind):
        return obj
    reference = builtin_schema(GroupVersionKind(*group_version(version), kind)) or {}
    return with_defaults(obj, reference["$ref"], _type_of)


def completed(obj: dict[str, Any], old: dict[str, Any] | None = None) -> dict[str, Any]:
    """A decoded object with its defaults, as the API server validates it; ``old`` is what is stored."""
    return prepared(defaulted(obj), old)


def is_judged(obj: Mapping[str, Any]) -> bool:
    """Whether Kubernetes' own validation of an object's kind is known here, and the object is whole.

    One whose pods have no container, or one without an image, is a part that another object is patched with.
    """
    if not is_validated(obj["apiVersion"], obj["kind"]):
        return False
    pods = [pod for path in _PODS.get(obj["kind"], ()) if isinstance(pod := _at(obj, path), dict)]
    return all(map(_has_images, pods)) and (bool(pods) or obj["kind"] not in _PODS)


_TEMPLATE: Final = ("spec", "template", "spec")
_PODS: Final[Mapping[str, tuple[tuple[str, ...], ...]]] = {
    **dict.fromkeys(("DaemonSet", "Deployment", "Job", "ReplicaSet", "StatefulSet"), (_TEMPLATE,)),
    "CronJob": (("spec", "jobTemplate", *_TEMPLATE),),
    "Pod": (("spec",),),
}
"""By kind, where the specifications of its pods are."""


def _at(obj: Any, path: tuple[str, ...]) -> Any:
    for key in path:
        obj = obj.get(key) if isinstance(obj, Mapping) else None
    return obj


def _has_images(pod: dict[str, Any]) -> bool:
    containers = pod.get("containers")
    if not isinstance(containers, list) or not containers:
        return containers is not None and not isinstance(containers, list)  # a wrong type is a mistake, and is told
    return all(not isinstance(each, dict) or each.get("image") for each in containers)


def name_rule(kind: GroupVersionKind) -> Callable[[str], list[str]]:
    """What gives the problems of the name of an object of a kind that has no definition."""
    name = kind.api_version, kind.kind
    return rule_of_names(*name) if is_validated(*name) else path_segment


def builtin_errors(
    obj: dict[str, Any], old: dict[str, Any] | None = None, budget: Budget | None = None
) -> list[FieldError]:
    """What Kubernetes' own validation refuses of a decoded object; not its metadata."""
    if not is_validated(obj["apiVersion"], obj["kind"]):
        return []
    stored = None if old is None else completed(old)
    generated = obj["kind"] == "Job"  # `kubectl apply` leaves the selector and the labels that a Job was given
    return object_errors(completed(obj, None if generated else stored), stored, budget)


def template_of(obj: dict[str, Any]) -> tuple[str, dict[str, Any] | None]:
    """The path and the value of the template of pods in an object; None if it has none."""
    path = next(iter(_PODS.get(obj["kind"], ())), ())[:-1]
    template = _at(obj, path) if path else None
    return ".".join(path), template if isinstance(template, dict) else None


def _type_of(name: str) -> Schema:
    return resolved({"$ref": name})


def _decode(value: Any, schema: Schema, path: str, errors: list[FieldError]) -> Any:
    schema = resolved(schema)
    kind = schema.get("type")
    if value is None or kind is None:
        fault = _loose_fault(value, schema)
    elif kind == "object":
        if isinstance(value, dict):
            return _decode_object(value, schema, path, errors)
        fault = "object"
    elif kind == "array":
        if isinstance(value, list):
            items = schema["items"]
            return [_decode(item, items, f"{path}[{index}]", errors) for index, item in enumerate(value)]
        fault = "array"
    else:
        fault = "" if _fits(value, kind, schema.get("format", "")) else kind
    if fault:
        shown = OMIT if isinstance(value, dict | list) else value
        errors.append(FieldError("FieldValueTypeInvalid", path, f"must be of type {fault}", shown))
    return value


def _decode_object(value: dict[str, Any], schema: Schema, path: str, errors: list[FieldError]) -> dict[str, Any]:
    declared: Schema = schema.get("properties") or {}
    others = schema.get("additionalProperties")
    decoded: dict[str, Any] = {}
    for key, item in value.items():
        where = f"{path}.{key}" if path else key
        if key in declared:
            if item is not None:  # the decoder leaves the field as it is: absent
                decoded[key] = _decode(item, declared[key], where, errors)
        elif isinstance(others, Mapping):
            decoded[key] = _decode(item, others, f"{path}[{key}]", errors)
        else:
            decoded[key] = item
            if declared:
                errors.append(FieldError("FieldValueInvalid", where, UNKNOWN))
    return decoded


def _loose_fault(value: Any, schema: Schema) -> str:
    """The type that a value without a type in its schema lacks; "" if it may be anything."""
    if value is not None and schema.get("format") == "int-or-string" and not _is_int_or_string(value):
        return "integer or string"
    return ""


def _is_int_or_string(value: Any) -> bool:
    return isinstance(value, str) or _fits(value, "integer", "int32")


def _decode_base64(text: str) -> bytes:
    """As Go, which skips line breaks."""
    return base64.b64decode(text.replace("\n", "").replace("\r", ""), validate=True)


_is_quantity: Final = readable(parse)
_is_base64: Final = readable(_decode_base64, ValueError)


def _fits(value: Any, kind: str, form: str) -> bool:
    if kind == "string":
        if form == "quantity":
            return isinstance(value, str | int | float) and _is_quantity(str(value).strip())
        return isinstance(value, str) and (form != "byte" or _is_base64(value))
    if kind == "boolean":
        return isinstance(value, bool)
    if isinstance(value, bool):
        return False
    if kind == "integer":
        return isinstance(value, int) and value in (_INT32 if form == "int32" else INT64)
    return isinstance(value, int | float)
