"""CustomResourceDefinitions (apiextensions.k8s.io/v1) as compiled schemas."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from webhook.schema.crd.document import validate_crd
from webhook.schema.crd.shape import shape_errors
from webhook.schema.errors import SchemaError
from webhook.schema.structural import Structural

__all__ = ["CRD", "Version", "load_crd"]


@dataclass(frozen=True, slots=True)
class Version:
    """One version of a kind. ``status`` tells whether /status is a subresource."""

    name: str
    served: bool
    storage: bool
    schema: Structural
    status: bool


@dataclass(frozen=True, slots=True)
class CRD:
    """A kind. ``scope`` is "Namespaced" or "Cluster", ``versions`` are by name, in the CRD's order."""

    group: str
    kind: str
    list_kind: str
    plural: str
    singular: str
    short_names: tuple[str, ...]
    scope: str
    versions: Mapping[str, Version]


def load_crd(document: dict[str, Any], *, trusted: bool = False) -> CRD:
    """Compile a CRD. Raises :class:`SchemaError` where the API server would refuse to create it.

    A ``trusted`` one, such as those of this package, which its tests check, is only compiled:
    checking one with the schema of a pod in it takes ten times as long.
    """
    errors = [] if trusted else shape_errors(document) or validate_crd(document)
    if errors:
        raise SchemaError(tuple(errors))
    spec = document["spec"]
    names = spec["names"]
    kind = names["kind"]
    return CRD(
        group=spec["group"],
        kind=kind,
        list_kind=names.get("listKind") or f"{kind}List",
        plural=names["plural"],
        singular=names.get("singular") or kind.lower(),
        short_names=tuple(names.get("shortNames") or ()),
        scope=spec["scope"],
        versions={version["name"]: _version(version, kind) for version in spec["versions"]},
    )


def _version(raw: Mapping[str, Any], kind: str) -> Version:
    schema = (raw.get("schema") or {}).get("openAPIV3Schema") or {}
    return Version(
        name=raw["name"],
        served=bool(raw.get("served")),
        storage=bool(raw.get("storage")),
        schema=Structural(schema, name=kind),
        status="status" in (raw.get("subresources") or {}),
    )
