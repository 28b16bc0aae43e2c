"""CustomResourceDefinitions (apiextensions.k8s.io/v1) as compiled schemas."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from webhook.schema.fielderror import FieldError, SchemaError
from webhook.schema.structural import Structural


@dataclass(frozen=True, slots=True)
class Version:
    """One version of a kind. ``status``: /status is a subresource. ``replicas`` is /scale's path of them, or ""."""

    name: str
    served: bool
    storage: bool
    schema: Structural
    status: bool
    replicas: str


@dataclass(frozen=True, slots=True)
class CRD:
    """A kind. ``scope`` is "Namespaced" or "Cluster". ``versions`` are by name, in the order of the CRD."""

    group: str
    kind: str
    plural: str
    scope: str
    versions: Mapping[str, Version]


def load_crd(
    document: dict[str, Any], *, trusted: bool = False, whole: Callable[[], dict[str, Any]] | None = None
) -> CRD:
    """Compile a CRD.

    Args:
        document: the CRD as JSON.
        trusted: compile the CRD without checking it. The tests check the shipped CRDs, so a server trusts them:
            checking a CRD that contains the schema of a pod takes ten times as long as compiling it.
        whole: reads the CRD with its schemas, which the document then needs not have. A schema is read and compiled
            when it is first needed; it is known to compile.

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
        plural=names["plural"],
        scope=spec["scope"],
        versions={
            version["name"]: _version(version, kind, whole and partial(_schema_in, whole, number))
            for number, version in enumerate(spec["versions"])
        },
    )


def _document_errors(document: dict[str, Any]) -> list[FieldError]:
    # The checks of CRD documents and the cost estimator are 2,700 lines. A server that trusts its CRDs never runs them.
    from webhook.schema.crd.document import validate_crd  # noqa: PLC0415
    from webhook.schema.crd.shape import shape_errors  # noqa: PLC0415

    return shape_errors(document) or validate_crd(document)  # the second is for what has the shape of a CRD


def _version(raw: Mapping[str, Any], kind: str, read: Callable[[], Mapping[str, Any]] | None) -> Version:
    schema = Structural(read or _schema_of(raw), name=kind)
    if read is None:
        schema.compile()
    subresources = raw.get("subresources") or {}
    return Version(
        name=raw["name"],
        served=bool(raw.get("served")),
        storage=bool(raw.get("storage")),
        schema=schema,
        status="status" in subresources,
        replicas=(subresources.get("scale") or {}).get("specReplicasPath") or "",
    )


def _schema_of(version: Mapping[str, Any]) -> Mapping[str, Any]:
    schema: Mapping[str, Any] = (version.get("schema") or {}).get("openAPIV3Schema") or {}
    return schema


def _schema_in(whole: Callable[[], dict[str, Any]], number: int) -> Mapping[str, Any]:
    return _schema_of(whole()["spec"]["versions"][number])
