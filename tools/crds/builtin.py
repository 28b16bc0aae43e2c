"""The API server's built-in kinds, reduced to what decides how an apply configuration merges."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from tools.crds.openapi import Schema, reference

_PREFIX: Final = "io.k8s."
_OF_KUBERNETES: Final = tuple(
    f"{_PREFIX}{part}." for part in ("api", "apimachinery", "apiextensions-apiserver", "kube-aggregator")
)
"""How names of its types begin: a definition of ``inference.networking.k8s.io`` has the same prefix."""
_MAP_TYPE: Final = "x-kubernetes-map-type"
_KEPT: Final = ("type", "format", "x-kubernetes-list-type", "x-kubernetes-list-map-keys", _MAP_TYPE)
_POLICIES: Final = "admissionregistration.k8s.io"
"""The group to which policies never apply."""
_SPECIAL: Final[Mapping[str, Schema]] = {
    "apimachinery.pkg.api.resource.Quantity": {"type": "string", "format": "quantity"},
    "apimachinery.pkg.runtime.RawExtension": {_MAP_TYPE: "atomic"},
}
"""Types that do not merge as their schema states (``schemaconv.ToSchemaFromOpenAPI``)."""


def builtin(document: Mapping[str, Schema]) -> dict[str, Schema]:
    """From ``components.schemas``: the ``kinds`` (``apps/v1/Deployment`` → type), and all ``types`` that they need."""
    kinds = {kind: name.removeprefix(_PREFIX) for name, schema in document.items() for kind in _kinds(name, schema)}
    types: dict[str, Schema] = {}
    waiting = list(kinds.values())
    while waiting:
        name = waiting.pop()
        if name not in types:
            types[name] = _SPECIAL.get(name) or _reduced(document[_PREFIX + name])
            waiting += _named(types[name])
    return {"kinds": dict(sorted(kinds.items())), "types": dict(sorted(types.items()))}


def _kinds(name: str, schema: Schema) -> Iterator[str]:
    """The kinds that a type defines; only objects that are stored or sent alone, so no lists and options."""
    found = schema.get("x-kubernetes-group-version-kind", ())
    if name.startswith(_OF_KUBERNETES) and "metadata" in schema.get("properties", {}) and len(found) == 1:
        group, version, kind = (found[0][key] for key in ("group", "version", "kind"))
        if not kind.endswith("List") and group != _POLICIES:
            yield "/".join(filter(None, (group, version, kind)))


def _reduced(node: Schema) -> Schema:
    if name := reference(node):
        return {"$ref": name.removeprefix(_PREFIX), **{key: node[key] for key in (_MAP_TYPE,) if key in node}}
    schema: Schema = {key: node[key] for key in _KEPT if key in node}
    if isinstance(node.get("default"), str | int):  # the key of a list element may be omitted if it has a default
        schema["default"] = node["default"]
    if "properties" in node:
        schema["properties"] = {name: _reduced(child) for name, child in node["properties"].items()}
    for key in ("additionalProperties", "items"):
        if isinstance(node.get(key), dict):
            schema[key] = _reduced(node[key])
    return schema


def _named(node: Any) -> list[str]:
    if not isinstance(node, dict):
        return []
    here = [node["$ref"]] if isinstance(node.get("$ref"), str) else []
    return here + [name for item in node.values() for name in _named(item)]
