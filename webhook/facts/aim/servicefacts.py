"""Facts for the rules of an AIMService about the objects that it refers to."""

from __future__ import annotations

from typing import Any, Final

from webhook.cluster.view import ClusterView
from webhook.facts.aim.health import failed_caches, health_of, lacks_token, template_cache, uncached
from webhook.facts.aim.lookup import DEFAULT_CONFIG, IMAGES, find, similar
from webhook.facts.aim.routing import route_of, same_routes
from webhook.facts.aim.service import (
    Resolved,
    candidates,
    lost_resources,
    other_gpus,
    resolve_service,
    rivals,
    selected_gpus,
)
from webhook.facts.aim.storage import STORAGE, storage_fact, storage_of
from webhook.facts.fact import BOOLEAN, STRING, STRINGS, Fact, cut_middle, fields
from webhook.facts.nodes import at, mapping, name_of, namespace_of, trimmed
from webhook.facts.settings import Settings


def _resolved(service: dict[str, Any], view: ClusterView, settings: Settings) -> dict[str, Any]:
    resolved = resolve_service(service, view, choose=settings.aim_auto_selection)
    return {
        "template": _template(service, view, resolved, choose=settings.aim_auto_selection),
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
