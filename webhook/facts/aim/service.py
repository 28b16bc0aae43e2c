"""Resolve everything that a service refers to: template, image, runtime config, resources and route."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from webhook.cluster.view import ClusterView, Kind
from webhook.facts.aim.lookup import GROUP, IMAGES, config_of, find, image_of, is_derived, templates_for
from webhook.facts.aim.resources import GPU, amount, effective_resources, profile_gpus
from webhook.facts.aim.routing import Routing, effective_routing
from webhook.facts.aim.template import Resolution, resolve_template, same
from webhook.facts.nodes import Referent, at, mapping, name_of, namespace_of, trimmed


@dataclass(frozen=True, slots=True)
class Resolved:
    """``image`` is the image of the template. It runs even if the service names another one."""

    template: Resolution
    image: Referent | None
    config_name: str
    config: Referent | None
    routing: Routing
    resources: dict[str, Any]


def resolve_service(service: dict[str, Any], view: ClusterView, *, choose: bool = False) -> Resolved:
    """Resolve a service with the objects of the view."""
    spec = mapping(service, "spec")
    resolution = resolve_template(service, view, choose=choose)
    image = _image(service, view, resolution)
    template_spec = (resolution.template.spec if resolution.template else resolution.spec) or {}
    config_name = trimmed(spec, "runtimeConfigName") or trimmed(template_spec, "runtimeConfigName") or "default"
    config = config_of(view, namespace_of(service), config_name)
    gpus = profile_gpus(resolution.template)
    resources = effective_resources(spec, template_spec, image.spec if image else {}, gpus)
    return Resolved(resolution, image, config_name, config, effective_routing(service, config), resources)


def _image(service: dict[str, Any], view: ClusterView, resolution: Resolution) -> Referent | None:
    """The image of the template. A derived template is in the namespace of the service, wherever its base is."""
    if resolution.template:
        return image_of(view, resolution.template)
    return find(view, IMAGES, namespace_of(service), trimmed(resolution.spec, "aimImageName"))


def candidates(service: dict[str, Any], view: ClusterView) -> list[str]:
    """Names of the templates that run the service's image: the valid values of its templateRef."""
    namespace, image = namespace_of(service), trimmed(service, "spec", "aimImageName")
    found: dict[str, Referent] = {}
    for template in templates_for(view, namespace):
        found.setdefault(template.name, template)  # a namespaced template hides the cluster template
    return [name for name, template in found.items() if _offers(template, image)]


def _offers(template: Referent, image: str) -> bool:
    return trimmed(template.spec, "aimImageName") == image and not is_derived(template)


def lost_resources(service: dict[str, Any], resolved: Resolved) -> list[str]:
    """The resources of the template or image that the service's own block, which replaces them, does not contain.

    GPUs are not lost if discovery fills them in, or has not run yet.
    """
    if not isinstance(at(service, "spec", "resources"), dict):
        return []
    resolution = resolved.template
    template = resolution.template or resolution.base_found
    below = effective_resources({}, template.spec if template else {}, resolved.image.spec if resolved.image else {})
    discovered = resolution.template is not None and at(resolution.template.object, "status", "profile") is not None
    return [
        f"{part}.{name}"
        for part in ("requests", "limits")
        for name in mapping(below, part)
        if name not in mapping(resolved.resources, part) and (discovered or name != GPU)
    ]


def other_gpus(resolved: Resolved) -> list[str]:
    """Where the effective resources request another number of GPUs than the profile of the template uses."""
    wanted = profile_gpus(resolved.template.template)
    if not wanted:
        return []
    asked = {part: at(resolved.resources, part, GPU) for part in ("requests", "limits")}
    return [
        f"{part}.{GPU} is {number}, but the profile of the template uses {wanted}"
        for part, number in asked.items()
        if amount(number) != wanted
    ]


def selected_gpus(service: dict[str, Any], resolved: Resolved) -> list[str]:
    """Where the resources request another number of GPUs than the selector of the overrides or template.

    A discovered profile counts instead of the template's selector: see :func:`other_gpus`.
    """
    spec, found = mapping(service, "spec"), resolved.template
    basis = found.template or found.base_found
    wanted, below = at(spec, "overrides", "gpuSelector", "count"), basis.spec if basis else {}
    if wanted is None and not profile_gpus(found.template):
        wanted, below = at(below, "gpuSelector", "count"), {}
    block = effective_resources(spec, below, resolved.image.spec if resolved.image and below else {})
    asked = {part: at(block, part, GPU) for part in ("requests", "limits")}
    return [
        f"{part}.{GPU} is {number}, but gpuSelector.count is {wanted}"
        for part, number in asked.items()
        if number is not None and isinstance(wanted, int) and amount(number) != wanted
    ]


def rivals(service: dict[str, Any], view: ClusterView, resolution: Resolution, *, choose: bool) -> list[str]:
    """Services of the namespace that derive a template with the same name but different content."""
    if not resolution.makes:
        return []
    wishes = at(service, "spec", "overrides")
    others = [
        other
        for other in view.list(Kind(GROUP, "AIMService"), namespace_of(service))
        if at(other, "spec", "overrides") == wishes and name_of(other) != name_of(service)
    ]
    return [name_of(other) for other in others if _differs(resolve_template(other, view, choose=choose), resolution)]


def _differs(other: Resolution, mine: Resolution) -> bool:
    return other.makes and other.name == mine.name and not same(other.spec, mine.spec)
