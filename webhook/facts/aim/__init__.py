"""AIM: what the rules of its kinds may know beyond an object's text."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, Final

from webhook.cluster.view import ClusterView, Kind
from webhook.facts.aim.lookup import (
    CONFIGS,
    DEFAULT_CONFIG,
    GROUP,
    IMAGES,
    TEMPLATES,
    Found,
    config_of,
    find,
)
from webhook.facts.aim.nodes import mapping, name_of, namespace_of, text
from webhook.facts.aim.renamed import CONFIG_FIELDS, IMAGE_FIELDS, SERVICE_FIELDS, TEMPLATE_FIELDS, renamed
from webhook.facts.aim.routetemplate import render, template_error
from webhook.facts.aim.routing import route_of
from webhook.facts.aim.schemas import BOOLEAN, STRING, STRINGS, fields
from webhook.facts.aim.selection import Choice, gpu_model, select
from webhook.facts.aim.service import (
    Resolved,
    candidates,
    lost_resources,
    resolve_service,
    rivals,
    template_cache,
)
from webhook.facts.aim.template import Origin, Resolution, resolve_template
from webhook.facts.fact import Fact
from webhook.facts.settings import Settings

__all__ = [
    "FACTS",
    "Choice",
    "Found",
    "Origin",
    "Resolution",
    "Resolved",
    "find",
    "gpu_model",
    "render",
    "resolve_service",
    "resolve_template",
    "select",
]


def _service(service: dict[str, Any], view: ClusterView, settings: Settings) -> Resolved:
    return resolve_service(service, view, choose=settings.aim_auto_selection)


def _template(service: dict[str, Any], view: ClusterView, settings: Settings) -> dict[str, Any]:
    resolved = _service(service, view, settings)
    found = resolved.template
    basis = found.template or found.base_found
    return {
        "origin": found.origin.value,
        "name": found.name,
        "kind": found.template.kind if found.template else "",
        "derived": found.derived,
        "known": basis is not None,
        "error": found.error,
        "image": text(basis.spec, "aimImageName") if basis else "",
        "imageFound": resolved.image is not None,
        "imageKind": "AIMClusterImage" if basis and basis.cluster_scoped else "AIMImage or AIMClusterImage",
        "config": (text(basis.spec, "runtimeConfigName") or DEFAULT_CONFIG) if basis else DEFAULT_CONFIG,
        "candidates": candidates(service, view),
        "rivals": rivals(service, view, found),
        "cache": template_cache(service, view, found.name),
    }


def _config(obj: dict[str, Any], view: ClusterView) -> dict[str, Any]:
    name = text(obj, "spec", "runtimeConfigName") or DEFAULT_CONFIG
    found = config_of(view, namespace_of(obj), name)
    return {"found": found is not None, "missing": found is None and name != DEFAULT_CONFIG}


def _cluster_template_config(template: dict[str, Any], view: ClusterView, settings: Settings) -> dict[str, Any]:
    """A cluster template looks for its runtime config in the operator's namespace."""
    name = text(template, "spec", "runtimeConfigName") or DEFAULT_CONFIG
    found = config_of(view, settings.aim_namespace, name)
    return {"found": found is not None, "missing": found is None and name != DEFAULT_CONFIG}


def _routing(service: dict[str, Any], view: ClusterView, settings: Settings) -> dict[str, Any]:
    resolved = _service(service, view, settings)
    routing, config = resolved.routing, resolved.config
    inherited = mapping(config.spec, "routing") if config else {}
    route = route_of(service, routing.template)
    return {
        "enabled": routing.enabled,
        "inherited": inherited.get("enabled") is True,
        "gateway": routing.gateway is not None,
        "ownTemplate": bool(text(service, "spec", "routing", "routeTemplate")),
        "template": routing.template,
        "path": route.path,
        "error": _shortened(route.error),
    }


def _shortened(text: str) -> str:
    """A text for a warning: the API server cuts those of more than 256 characters, and its end says what is wrong."""
    return text if len(text) <= WARNING else f"{text[: WARNING // 2]} … {text[3 - WARNING // 2 :]}"


def _resources(service: dict[str, Any], view: ClusterView, settings: Settings) -> dict[str, Any]:
    return {"lost": lost_resources(service, _service(service, view, settings))}


def _precision(_: dict[str, Any], __: ClusterView, settings: Settings) -> bool:
    return settings.aim_documented_precision


def _image(template: dict[str, Any], view: ClusterView) -> dict[str, Any]:
    name = text(template, "spec", "aimImageName")
    found = find(view, IMAGES, namespace_of(template), name)
    own = [namespace_of(each) for each in view.list(Kind(GROUP, IMAGES[0])) if name_of(each) == name]
    return {"found": found is not None, "namespaces": sorted(own)}


def _default_template(image: dict[str, Any], view: ClusterView) -> dict[str, Any]:
    """The templates that an image's default can mean: for a cluster image, those of every namespace, too."""
    name, namespace = text(image, "spec", "defaultServiceTemplate"), namespace_of(image)
    if namespace:
        found = find(view, TEMPLATES, namespace, name)
        meant = [found.object] if found else []
    else:
        meant = [each for kind in TEMPLATES for each in view.list(Kind(GROUP, kind)) if name_of(each) == name]
    others = sorted({text(each, "spec", "aimImageName") for each in meant} - {name_of(image), ""})
    return {"found": bool(meant), "others": others if len(others) == len(meant) else []}


def _cached_template(cache: dict[str, Any], view: ClusterView) -> dict[str, Any]:
    found = find(view, TEMPLATES, namespace_of(cache), text(cache, "spec", "templateRef"))
    return {"found": found is not None, "kind": found.kind if found else ""}


def _same_source(cache: dict[str, Any], view: ClusterView) -> list[str]:
    """Other caches of the namespace that hold the same model on the same storage class."""
    mine = [text(cache, "spec", key) for key in ("sourceUri", "storageClassName")]
    others = view.list(Kind(GROUP, "AIMModelCache"), namespace_of(cache))
    same = [each for each in others if [text(each, "spec", key) for key in ("sourceUri", "storageClassName")] == mine]
    return [name_of(each) for each in same if name_of(each) != name_of(cache)]


def _shadowed(config: dict[str, Any], view: ClusterView) -> list[str]:
    """What the cluster's runtime config of the name says and this one, which takes its whole place, does not."""
    found = find(view, CONFIGS, "", name_of(config))
    return sorted(mapping(found.object, "spec").keys() - mapping(config, "spec").keys()) if found else []


def _route_template(config: dict[str, Any], _: ClusterView) -> str:
    return _shortened(template_error(text(config, "spec", "routing", "routeTemplate")))


def _renamed(names: Mapping[str, str], obj: dict[str, Any], _: ClusterView) -> list[dict[str, str]]:
    return renamed(obj, names)


def _names(names: Mapping[str, str]) -> Fact:
    return Fact(partial(_renamed, names), {"type": "array", "items": fields(was=STRING, now=STRING)}, raw=True)


WARNING: Final = 170
"""Characters of a warning's 256 that are left beside the field, the code and what a rule says itself."""
_CONFIG: Final = fields(found=BOOLEAN, missing=BOOLEAN)
_DOCUMENTED: Final = Fact(_precision, BOOLEAN, configurable=True)
_IMAGE: Final = Fact(_image, fields(found=BOOLEAN, namespaces=STRINGS))
_DEFAULT: Final = Fact(_default_template, fields(found=BOOLEAN, others=STRINGS))

FACTS: Final[Mapping[str, Mapping[str, Fact]]] = {
    "AIMService": {
        "template": Fact(
            _template,
            fields(
                **dict.fromkeys(("origin", "name", "kind", "error", "image", "imageKind", "config", "cache"), STRING),
                **dict.fromkeys(("derived", "known", "imageFound"), BOOLEAN),
                **dict.fromkeys(("candidates", "rivals"), STRINGS),
            ),
            configurable=True,
        ),
        "config": Fact(_config, _CONFIG),
        "routing": Fact(
            _routing,
            fields(
                **dict.fromkeys(("enabled", "inherited", "gateway", "ownTemplate"), BOOLEAN),
                **dict.fromkeys(("template", "path", "error"), STRING),
            ),
            configurable=True,
        ),
        "resources": Fact(_resources, fields(lost=STRINGS), configurable=True),
        "documentedPrecision": _DOCUMENTED,
        "renamed": _names(SERVICE_FIELDS),
    },
    "AIMServiceTemplate": {
        "image": _IMAGE,
        "config": Fact(_config, _CONFIG),
        "documentedPrecision": _DOCUMENTED,
        "renamed": _names(TEMPLATE_FIELDS),
    },
    "AIMClusterServiceTemplate": {
        "image": _IMAGE,
        "config": Fact(_cluster_template_config, _CONFIG, configurable=True),
        "documentedPrecision": _DOCUMENTED,
        "renamed": _names(TEMPLATE_FIELDS),
    },
    "AIMImage": {"defaultTemplate": _DEFAULT, "renamed": _names(IMAGE_FIELDS)},
    "AIMClusterImage": {"defaultTemplate": _DEFAULT, "renamed": _names(IMAGE_FIELDS)},
    "AIMModelCache": {"sameSource": Fact(_same_source, STRINGS)},
    "AIMTemplateCache": {
        "template": Fact(_cached_template, fields(found=BOOLEAN, kind=STRING)),
        "config": Fact(_config, _CONFIG),
    },
    "AIMRuntimeConfig": {
        "shadowed": Fact(_shadowed, STRINGS),
        "routeTemplate": Fact(_route_template, STRING),
        "renamed": _names(CONFIG_FIELDS),
    },
    "AIMClusterRuntimeConfig": {"routeTemplate": Fact(_route_template, STRING), "renamed": _names(CONFIG_FIELDS)},
}
