"""Resolve everything that a service refers to: template, image, runtime config, resources and routing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from webhook.cluster.view import ClusterView
from webhook.facts.aim.lookup import IMAGES, config_of, find, image_of
from webhook.facts.aim.resources import effective_resources, profile_gpus
from webhook.facts.aim.routing import Routing, effective_routing
from webhook.facts.aim.template import Resolution, resolve_template
from webhook.facts.nodes import Referent, mapping, namespace_of, trimmed


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
