"""What a service refers to, as facts: template, image, runtime config, resources, route and caches."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from webhook.cluster.view import ClusterView, Kind
from webhook.facts.aim.health import failed_caches, health_of, lacks_token, template_cache, uncached
from webhook.facts.aim.lookup import (
    DEFAULT_CONFIG,
    GROUP,
    IMAGES,
    STORAGE,
    config_of,
    find,
    image_of,
    is_derived,
    similar,
    storage_fact,
    storage_of,
    templates_for,
)
from webhook.facts.aim.resources import GPU, amount, effective_resources, profile_gpus
from webhook.facts.aim.routing import Routing, effective_routing, route_of, same_routes
from webhook.facts.aim.template import Resolution, resolve_template, same
from webhook.facts.fact import BOOLEAN, STRING, STRINGS, Fact, cut_middle, fields
from webhook.facts.nodes import Referent, at, mapping, name_of, namespace_of, trimmed
from webhook.facts.settings import Settings


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


def _resolved(service: dict[str, Any], view: ClusterView, settings: Settings) -> dict[str, Any]:
    resolved = resolve_service(service, view, choose=settings.chooses_template)
    return {
        "template": _template(service, view, resolved, choose=settings.chooses_template),
        "config": {"name": resolved.config_name, "found": resolved.config is not None, "missing": _missing(resolved)},
        "routing": _routing(service, resolved),
        "resources": {
            "lost": lost_resources(service, resolved),
            "gpus": other_gpus(resolved),
            "selected": selected_gpus(service, resolved),
        },
        "caching": _caching(service, view, resolved),
    }


def _missing(resolved: Resolved) -> bool:
    return resolved.config is None and resolved.config_name != DEFAULT_CONFIG


def _template(service: dict[str, Any], view: ClusterView, resolved: Resolved, *, choose: bool) -> dict[str, Any]:
    found = resolved.template
    basis = found.template or found.base_found
    cluster = found.template is not None and found.template.cluster_scoped
    health = health_of(found.template)
    return {
        "origin": found.origin.value,
        "base": found.base,
        "name": found.name,
        "kind": found.template.kind if found.template else "",
        "derived": found.derived,
        "known": basis is not None,
        "error": found.error,
        "image": trimmed(basis.spec, "aimImageName") if basis else "",
        "imageFound": resolved.image is not None,
        "imageKind": "AIMClusterImage" if cluster else "AIMImage or AIMClusterImage",
        "config": (trimmed(basis.spec, "runtimeConfigName") or DEFAULT_CONFIG) if basis else DEFAULT_CONFIG,
        "candidates": candidates(service, view),
        "rivals": rivals(service, view, found, choose=choose),
        "status": health.status,
        "because": cut_middle(health.because, 100),
        "sources": health.sources,
        "lacksToken": lacks_token(resolved.image, mapping(service, "spec"), basis.spec if basis else found.spec),
        **_named_image(service, view),
    }


def _named_image(service: dict[str, Any], view: ClusterView) -> dict[str, Any]:
    """Whether the image that the service names exists; otherwise a similar name."""
    name, namespace = trimmed(service, "spec", "aimImageName"), namespace_of(service)
    exists = find(view, IMAGES, namespace, name) is not None
    return {"imageExists": exists, "similar": "" if exists else similar(view, IMAGES, namespace, name)}


def _routing(service: dict[str, Any], resolved: Resolved) -> dict[str, Any]:
    routing, config = resolved.routing, resolved.config
    inherited = mapping(config.spec, "routing") if config else {}
    route = route_of(service, routing.template)
    return {
        "enabled": routing.enabled,
        "inherited": inherited.get("enabled") is True,
        "gateway": routing.gateway is not None,
        "ownTemplate": bool(at(service, "spec", "routing", "routeTemplate")),
        "template": routing.template,
        "path": route.path,
        "error": cut_middle(route.error),
    }


def _route(service: dict[str, Any], view: ClusterView) -> dict[str, Any]:
    """The services that share the path on the gateway: ``names`` of this namespace, ``elsewhere`` in others."""
    same, namespace = same_routes(service, view), namespace_of(service)
    names = [name_of(each) for each in same if namespace_of(each) == namespace]
    return {"names": names, "elsewhere": len(names) < len(same)}


def _caching(service: dict[str, Any], view: ClusterView, resolved: Resolved) -> dict[str, Any]:
    """``failed``: the failed caches that the service waits for."""
    namespace = namespace_of(service)
    requested = at(service, "spec", "cacheModel") is True
    cache = template_cache(view, namespace, resolved.template.name)
    default = trimmed(resolved.config.spec, "defaultStorageClassName") if resolved.config else ""
    storage_class = trimmed(cache, "spec", "storageClassName")
    failed = failed_caches(view, namespace, resolved.template.template, storage_class) if cache or requested else []
    if trimmed(cache, "status", "status") == "Failed":
        failed = [f"AIMTemplateCache {name_of(cache)}", *(f"AIMModelCache {name}" for name in failed)]
    else:
        failed = [f"AIMModelCache {name}" for name in failed]
    return {
        "cache": name_of(cache),
        "failed": failed,
        "uncached": uncached(view, namespace, resolved.template.template, storage_class),
        "storage": storage_fact(storage_of(view, storage_class, default)),
    }


_TEXTS: Final = (
    "origin",
    "base",
    "name",
    "kind",
    "error",
    "image",
    "imageKind",
    "similar",
    "config",
    "status",
    "because",
)
_TEMPLATE: Final = fields(
    **dict.fromkeys(_TEXTS, STRING),
    **dict.fromkeys(("derived", "known", "imageFound", "imageExists", "sources", "lacksToken"), BOOLEAN),
    **dict.fromkeys(("candidates", "rivals"), STRINGS),
)
_ROUTING: Final = fields(
    **dict.fromkeys(("enabled", "inherited", "gateway", "ownTemplate"), BOOLEAN),
    **dict.fromkeys(("template", "path", "error"), STRING),
)
_CONFIG: Final = fields(name=STRING, found=BOOLEAN, missing=BOOLEAN)
_CACHING: Final = fields(cache=STRING, failed=STRINGS, uncached=BOOLEAN, storage=STORAGE)

RESOLVED: Final = Fact(
    _resolved,
    fields(
        template=_TEMPLATE,
        config=_CONFIG,
        routing=_ROUTING,
        resources=fields(lost=STRINGS, gpus=STRINGS, selected=STRINGS),
        caching=_CACHING,
    ),
    configurable=True,
)
"""One fact, so that the references from the service to its template and image are resolved once."""

ROUTE: Final = Fact(_route, fields(names=STRINGS, elsewhere=BOOLEAN))
"""A fact of its own, because it looks at every service of the cluster."""
