"""The operator's Go types of an AIMService, for the fields that a route can use."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

__all__ = ["LATER", "SERVICE", "Entries", "Items", "Pointer", "Scalar", "Struct", "Type"]


@dataclass(frozen=True, slots=True)
class Type:
    """Any other type: its value is unknown, or not useful in a path."""


@dataclass(frozen=True, slots=True)
class Scalar(Type):
    """``zero`` is the value of an unset field, or None if the API server sets the field."""

    zero: str | int | bool | None = ""


@dataclass(frozen=True, slots=True)
class Pointer(Type):
    """A pointer to a value that may be absent."""

    to: Type


@dataclass(frozen=True, slots=True)
class Struct(Type):
    fields: Mapping[str, Type]


@dataclass(frozen=True, slots=True)
class Entries(Type):
    """A map of strings."""


@dataclass(frozen=True, slots=True)
class Items(Type):
    of: Type


LATER: Final = Type()
"""Also the type of fields that the API server or the operator sets after admission."""

_TEXT: Final = Scalar()
_OPTIONAL: Final = Pointer(_TEXT)
_METADATA: Final = Struct(
    {
        **dict.fromkeys(("name", "namespace", "selfLink"), _TEXT),
        **dict.fromkeys(("labels", "annotations"), Entries()),
        **dict.fromkeys(("uid", "resourceVersion", "generateName"), Scalar(zero=None)),
        **dict.fromkeys(("generation", "creationTimestamp", "deletionTimestamp", "ownerReferences"), LATER),
        **dict.fromkeys(("deletionGracePeriodSeconds", "finalizers", "managedFields"), LATER),
    }
)
_GPUS: Final = Struct({"count": Scalar(0), "model": _TEXT})
_OVERRIDES: Final = Struct({"metric": _OPTIONAL, "precision": _OPTIONAL, "gpuSelector": Pointer(_GPUS)})
_GATEWAY: Final = Struct(
    {
        "name": _TEXT,
        **dict.fromkeys(("group", "kind", "namespace", "sectionName"), _OPTIONAL),
        "port": Pointer(Scalar(0)),
    }
)
_ROUTING: Final = Struct(
    {
        "enabled": Scalar(zero=False),
        "gatewayRef": Pointer(_GATEWAY),
        "annotations": Entries(),
        "routeTemplate": _TEXT,
    }
)
_SPEC: Final = Struct(
    {
        **dict.fromkeys(("aimImageName", "templateRef", "runtimeConfigName"), _TEXT),
        "cacheModel": Scalar(zero=False),
        "replicas": Pointer(Scalar(0)),
        "resources": Pointer(Struct(dict.fromkeys(("requests", "limits", "claims"), LATER))),
        "overrides": Pointer(_OVERRIDES),
        "env": Items(Struct({"name": _TEXT, "value": _TEXT, "valueFrom": LATER})),
        "imagePullSecrets": Items(Struct({"name": _TEXT})),
        "routing": Pointer(_ROUTING),
    }
)

SERVICE: Final = Struct(
    {"apiVersion": LATER, "kind": LATER, "metadata": _METADATA, "spec": _SPEC, "status": LATER},
)
