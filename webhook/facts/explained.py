"""What is chosen for an object, as tables: all runtimes in their order, or everything that a service is made of."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from webhook.cluster.view import ClusterView
from webhook.facts import aim, ome
from webhook.facts.nodes import at, mapping, namespace_of, text, trimmed
from webhook.facts.settings import Settings

__all__ = ["EXPLANATIONS", "Table"]


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of texts below a title and a header."""

    title: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def _runtimes(service: dict[str, Any], view: ClusterView, settings: Settings) -> Iterator[Table]:
    """Every runtime for the model of a service, the best first."""
    name = text(service, "spec", "model", "name")
    if not name:
        return
    found = ome.selection_of(service, view, settings, explain=True)
    named = at(service, "spec", "runtime", "name")
    title = f"runtimes for model {name}"
    if isinstance(named, str):
        title += f" (not used: the service names {named})"
    elif found.error and not found.ranked:
        title += f": {found.error}"
    elif found.awaits:
        title += f" (the choice depends on {found.awaits} of the model, which is absent)"
    rows = [
        (str(number), each.runtime.name, each.runtime.kind, str(each.score), "selected" if number == 1 else "")
        for number, each in enumerate(found.ranked, 1)
    ]
    rows += [("-", each.runtime.name, each.runtime.kind, "", each.reason) for each in found.excluded]
    yield Table(title, ("rank", "runtime", "kind", "score", "reason"), tuple(rows))


def _service(service: dict[str, Any], view: ClusterView, settings: Settings) -> Iterator[Table]:
    """The objects that an AIMService is made of, and where each of them is named."""
    found = aim.resolve_service(service, view, choose=settings.aim_auto_selection)
    rows = [_template(found.template), *_image(service, found), _config(service, found)]
    routing = found.routing
    if not routing.enabled:
        rows.append(("route", "none", "routing is not enabled"))
    else:
        where = "routing of the service" if routing.own else "routing of the runtime config"
        path = aim.render(routing.template, service) if routing.template else None
        shown = "/<namespace>/<uid>" if path is None else path.path or path.error
        rows.append(("route", shown, f"{where}, template {routing.template!r}" if routing.template else where))
    for part in ("requests", "limits"):
        amounts = mapping(found.resources, part)
        if amounts:
            shown = ", ".join(f"{key}={value}" for key, value in sorted(amounts.items()))
            rows.append((f"resources.{part}", shown, "service over template over image"))
    yield Table("what the service is made of", ("part", "value", "from"), tuple(rows))


def _template(found: aim.Resolution) -> tuple[str, str, str]:
    origin = {
        aim.Origin.EXPLICIT: "spec.templateRef",
        aim.Origin.DEFAULT: "the image's default template",
        aim.Origin.SELECTED: "selected among the image's templates",
        aim.Origin.NONE: "not named",
    }[found.origin]
    if found.template is not None:
        return "template", f"{found.template.kind} {found.template.name}", origin
    if found.makes:
        return "template", f"{found.name} (the operator makes it of {found.base} and the overrides)", origin
    return "template", found.error or f"{found.name} (not found)", origin


def _image(service: dict[str, Any], found: aim.Resolved) -> Iterator[tuple[str, str, str]]:
    named = trimmed(service, "spec", "aimImageName")
    origin = "spec.aimImageName" if found.image and found.image.name == named else "the template's aimImageName"
    if found.image is None:
        yield "image", f"{named} (not found)" if named else "none", "spec.aimImageName"
        return
    yield "image", f"{found.image.kind} {found.image.name}: {trimmed(found.image.spec, 'image')}", origin


def _config(service: dict[str, Any], found: aim.Resolved) -> tuple[str, str, str]:
    spec = mapping(service, "spec")
    origin = "spec.runtimeConfigName" if trimmed(spec, "runtimeConfigName") else "the template, or the name default"
    if found.config is None:
        return "runtime config", f"{found.config_name} (not found in {namespace_of(service)} or the cluster)", origin
    return "runtime config", f"{found.config.kind} {found.config.name}", origin


EXPLANATIONS: Final[Mapping[tuple[str, str], Callable[[dict[str, Any], ClusterView, Settings], Iterator[Table]]]] = {
    ("ome.io", "InferenceService"): _runtimes,
    ("aim.silogen.ai", "AIMService"): _service,
}
"""Group and kind → what is chosen for an object of it."""
