"""AIM: its facts, what they read, and what is shown of the parts of a service."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from webhook.cluster.view import ClusterView, Kind
from webhook.facts.aim.facts import FACTS
from webhook.facts.aim.routing import render
from webhook.facts.aim.service import Resolved, resolve_service
from webhook.facts.aim.template import Origin, Resolution
from webhook.facts.knowledge import Knowledge, Table
from webhook.facts.nodes import mapping, namespace_of, trimmed
from webhook.facts.settings import Settings


def _service(service: dict[str, Any], view: ClusterView, settings: Settings) -> Iterator[Table]:
    """The objects that an AIMService is made of, and where each of them is named."""
    found = resolve_service(service, view, choose=settings.aim_auto_selection)
    rows = [_template(found.template), *_image(service, found), _config(service, found)]
    routing = found.routing
    if not routing.enabled:
        rows.append(("route", "none", "routing is not enabled"))
    else:
        where = "routing of the service" if routing.own else "routing of the runtime config"
        path = render(routing.template, service) if routing.template else None
        shown = "/<namespace>/<uid>" if path is None else path.path or path.error
        rows.append(("route", shown, f"{where}, template {routing.template!r}" if routing.template else where))
    for part in ("requests", "limits"):
        amounts = mapping(found.resources, part)
        if amounts:
            shown = ", ".join(f"{key}={value}" for key, value in sorted(amounts.items()))
            rows.append((f"resources.{part}", shown, "service over template over image"))
    yield Table("what the service is made of", ("part", "value", "from"), tuple(rows))


def _template(found: Resolution) -> tuple[str, str, str]:
    origin = {
        Origin.EXPLICIT: "spec.templateRef",
        Origin.DEFAULT: "the image's default template",
        Origin.SELECTED: "selected among the image's templates",
        Origin.NONE: "not named",
    }[found.origin]
    if found.template is not None:
        return "template", f"{found.template.kind} {found.template.name}", origin
    if found.makes:
        return "template", f"{found.name} (the operator makes it of {found.base} and the overrides)", origin
    return "template", found.error or f"{found.name} (not found)", origin


def _image(service: dict[str, Any], found: Resolved) -> Iterator[tuple[str, str, str]]:
    named = trimmed(service, "spec", "aimImageName")
    origin = "spec.aimImageName" if found.image and found.image.name == named else "the template's aimImageName"
    if found.image is None:
        yield "image", f"{named} (not found)" if named else "none", "spec.aimImageName"
        return
    yield "image", f"{found.image.kind} {found.image.name}: {trimmed(found.image.spec, 'image')}", origin


def _config(service: dict[str, Any], found: Resolved) -> tuple[str, str, str]:
    spec = mapping(service, "spec")
    origin = "spec.runtimeConfigName" if trimmed(spec, "runtimeConfigName") else "the template, or the name default"
    if found.config is None:
        return "runtime config", f"{found.config_name} (not found in {namespace_of(service)} or the cluster)", origin
    return "runtime config", f"{found.config.kind} {found.config.name}", origin


_GROUP: Final = "aim.silogen.ai"
_SERVICE: Final = Kind(_GROUP, "AIMService")
_WATCHED: Final = (
    "AIMClusterImage",
    "AIMClusterRuntimeConfig",
    "AIMClusterServiceTemplate",
    "AIMImage",
    "AIMModelCache",
    "AIMRuntimeConfig",
    "AIMService",
    "AIMServiceTemplate",
    "AIMTemplateCache",
)
_CHOSEN: Final = ("template.name", "template.kind", "template.image", "config.name", "routing.path")

KNOWLEDGE: Final = Knowledge(
    FACTS,
    watched=frozenset(
        [*(Kind(_GROUP, kind) for kind in _WATCHED), Kind("", "Node"), Kind("storage.k8s.io", "StorageClass")]
    ),
    explanations={_SERVICE: _service},
    choices={(_SERVICE, "resolved"): _CHOSEN},
)
