"""Types of the API server's OpenAPI v3 document as structural schemas, as controller-gen writes them.

Descriptions are omitted, enums (a newer Kubernetes may have more values), and defaults that only state a Go zero value:
a required field with such a default would no longer be required.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

EMBED: Final = "x-modelgate-embed"

Schema = dict[str, Any]

_REF: Final = "#/components/schemas/"
_KEPT: Final = ("type", "format", "required", "pattern", "x-kubernetes-list-type", "x-kubernetes-list-map-keys")
_INT_OR_STRING: Final[Schema] = {"anyOf": [{"type": "integer"}, {"type": "string"}], "x-kubernetes-int-or-string": True}
_NUMBER: Final = r"(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))"
_STRING: Final[Schema] = {"type": "string"}
_STRINGS: Final[Schema] = {"type": "object", "additionalProperties": _STRING}
_SPECIAL: Final[Mapping[str, Schema]] = {
    "io.k8s.apimachinery.pkg.api.resource.Quantity": {
        **_INT_OR_STRING,
        "pattern": rf"^(\+|-)?{_NUMBER}(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?{_NUMBER}))?$",
    },
    "io.k8s.apimachinery.pkg.util.intstr.IntOrString": _INT_OR_STRING,
    "io.k8s.apimachinery.pkg.runtime.RawExtension": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
    # The fields that an author writes; the API server sets the rest of ObjectMeta.
    "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta": {
        "type": "object",
        "properties": {
            "annotations": _STRINGS,
            "finalizers": {"type": "array", "items": _STRING},
            "labels": _STRINGS,
            "name": _STRING,
            "namespace": _STRING,
        },
    },
}
"""Types whose published schema is not suitable for a CRD."""


def types_of(document: Mapping[str, Schema], names: Iterable[str]) -> dict[str, Schema]:
    """The named types of ``components.schemas`` and all that they embed; references are not expanded.

    Raises:
        KeyError: the API server has no such type.
    """
    found: dict[str, Schema] = {}
    waiting = list(names)
    while waiting:
        name = waiting.pop()
        if name not in found:
            found[name] = _SPECIAL.get(name) or _structural(document[name])
            waiting += _embedded(found[name])
    return dict(sorted(found.items()))


def _structural(node: Schema) -> Schema:
    if name := reference(node):
        return {EMBED: name, **_map_type(node)}
    schema = {key: node[key] for key in _KEPT if key in node} | _map_type(node)
    if "properties" in node:
        required = frozenset(node.get("required", ()))
        children = node["properties"].items()
        schema["properties"] = {name: _property(child, required=name in required) for name, child in children}
    if isinstance(node.get("additionalProperties"), dict):
        schema["additionalProperties"] = _structural(node["additionalProperties"])
    if "items" in node:
        schema["items"] = _structural(node["items"])
    return schema


def _property(node: Schema, *, required: bool) -> Schema:
    schema = _structural(node)
    default = node.get("default")
    if default is not None and default != {} and not required:
        schema["default"] = default
    return schema


def _map_type(node: Schema) -> Schema:
    return {key: node[key] for key in ("x-kubernetes-map-type",) if key in node}


def reference(node: Schema) -> str:
    """The type that a node refers to; a reference with siblings is wrapped in ``allOf``."""
    (only,) = node.get("allOf") or [node]
    return str(only.get("$ref", "")).removeprefix(_REF)


def _embedded(node: Any) -> list[str]:
    if isinstance(node, list):
        return [name for item in node for name in _embedded(item)]
    if not isinstance(node, dict):
        return []
    here = [node[EMBED]] if EMBED in node else []
    return here + [name for key, item in node.items() if key != EMBED for name in _embedded(item)]
