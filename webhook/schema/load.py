"""CustomResourceDefinitions (apiextensions.k8s.io/v1) as compiled schemas."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from webhook.schema.errors import SchemaError
from webhook.schema.fielderror import FieldError
from webhook.schema.structural import Structural

__all__ = ["CRD", "Version", "load_crd"]


@dataclass(frozen=True, slots=True)
class Version:
    """One version of a kind. ``status``: /status is a subresource."""

    name: str
    served: bool
    storage: bool
    schema: Structural
    status: bool


@dataclass(frozen=True, slots=True)
class CRD:
    """A kind. ``scope`` is "Namespaced" or "Cluster". ``versions`` are by name, in the order of the CRD."""

    group: str
    kind: str
    list_kind: str
    plural: str
    singular: str
    short_names: tuple[str, ...]
    scope: str
    versions: Mapping[str, Version]


def load_crd(document: dict[str, Any], *, trusted: bool = False, on_demand: bool = False) -> CRD:
    """Compile a CRD.

    Args:
        document: the CRD as JSON.
        trusted: compile the CRD without checking it. The tests check the shipped CRDs, so a server trusts them:
            checking a CRD that contains the schema of a pod takes ten times as long as compiling it.
        on_demand: compile each schema when it is first needed; it is known to compile.

    Raises:
        SchemaError: the API server would refuse to create the CRD.
    """
    errors = [] if trusted else _document_errors(document)
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
        versions={version["name"]: _version(version, kind, on_demand=on_demand) for version in spec["versions"]},
    )


def _document_errors(document: dict[str, Any]) -> list[FieldError]:
    # The checks of CRD documents and the cost estimator are 2,700 lines. A server that trusts its CRDs never runs them.
    from webhook.schema.crd import validate_document  # noqa: PLC0415

    return validate_document(document)


def _version(raw: Mapping[str, Any], kind: str, *, on_demand: bool) -> Version:
    schema = Structural((raw.get("schema") or {}).get("openAPIV3Schema") or {}, name=kind)
    if not on_demand:
        schema.compile()
    return Version(
        name=raw["name"],
        served=bool(raw.get("served")),
        storage=bool(raw.get("storage")),
        schema=schema,
        status="status" in (raw.get("subresources") or {}),
    )
