"""Field names of other AIM releases, which users copy from older or newer documents."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from webhook.facts.nodes import mapping

__all__ = ["CONFIG_FIELDS", "IMAGE_FIELDS", "SERVICE_FIELDS", "TEMPLATE_FIELDS", "renamed"]

_MODEL: Final = dict.fromkeys(("modelId", "aimModelId", "modelName", "model", "modelRef"), "aimImageName")
_ROUTING: Final = {"routing.pathTemplate": "routing.routeTemplate"}

SERVICE_FIELDS: Final[Mapping[str, str]] = {
    **_MODEL,
    **_ROUTING,
    "template": "templateRef",
    "templateName": "templateRef",
    "caching": "cacheModel",
    "runtimeConfigRef": "runtimeConfigName",
}
TEMPLATE_FIELDS: Final[Mapping[str, str]] = {**_MODEL, "runtimeConfigRef": "runtimeConfigName"}
IMAGE_FIELDS: Final[Mapping[str, str]] = {
    "modelId": "metadata.name",
    "runtimeConfigName": "the AIMRuntimeConfig named default, which applies to images",
    "defaultTemplate": "defaultServiceTemplate",
}
CONFIG_FIELDS: Final[Mapping[str, str]] = {
    **_ROUTING,
    "storage.defaultStorageClassName": "defaultStorageClassName",
    "storageClassName": "defaultStorageClassName",
}


def renamed(obj: dict[str, Any], names: Mapping[str, str]) -> list[dict[str, str]]:
    """The fields of a specification, as it was sent, that have another name in this release."""
    spec = mapping(obj, "spec")
    return [{"was": was, "now": now} for was, now in names.items() if _has(spec, was)]


def _has(spec: dict[str, Any], path: str) -> bool:
    *parents, last = path.split(".")
    return last in mapping(spec, *parents) if parents else last in spec
