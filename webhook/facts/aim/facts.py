"""AIM: the facts of its kinds, what they read, and what is shown of the parts of a service.

Users copy field names of other releases from older or newer documents: they are found, too.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any, Final

from webhook.cluster.view import ClusterView, Kind
from webhook.facts.aim.fit import fit_of_service
from webhook.facts.aim.health import failed_caches, lacks_token, larger_source, same_source, uncached
from webhook.facts.aim.lookup import (
    CACHE_STORAGE,
    CONFIG_STORAGE,
    CONFIGS,
    DEFAULT_CONFIG,
    GROUP,
    IMAGES,
    TEMPLATE_STORAGE,
    TEMPLATES,
    config_of,
    find,
    image_of,
    similar,
)
from webhook.facts.aim.parts import ACCOUNT, PARTS, account_of, model_of, parts_of
from webhook.facts.aim.resources import gpu_model, models_on_nodes, profile_gpus
from webhook.facts.aim.routing import render, template_error
from webhook.facts.aim.service import RESOLVED, ROUTE, Resolved, resolve_service
from webhook.facts.aim.template import Origin, Resolution
from webhook.facts.fact import BOOLEAN, INTEGER, STRING, STRINGS, Fact, Knowledge, Table, cut_middle, fields, listed
from webhook.facts.names import label
from webhook.facts.nodes import Referent, at, mapping, name_of, namespace_of, trimmed
from webhook.facts.settings import Settings

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
_CLUSTER_TEMPLATE: Final = TEMPLATES[1]
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


def _config(obj: dict[str, Any], view: ClusterView) -> dict[str, Any]:
    return _config_in(namespace_of(obj), obj, view)


def _config_in(namespace: str, obj: dict[str, Any], view: ClusterView) -> dict[str, Any]:
    name = trimmed(obj, "spec", "runtimeConfigName") or DEFAULT_CONFIG
    found = config_of(view, namespace, name)
    return {"found": found is not None, "missing": found is None and name != DEFAULT_CONFIG}


def _access(template: dict[str, Any], view: ClusterView, settings: Settings) -> dict[str, Any]:
    """What the runtime config of a template gives for pulling its image, and what the discovery has found."""
    where = settings.aim_namespace if template.get("kind") == _CLUSTER_TEMPLATE else namespace_of(template)
    account = account_of(template, config_of(view, where, trimmed(template, "spec", "runtimeConfigName")))
    model = model_of(template)
    return {**account, "model": model, "label": label(model), "gpus": max(profile_gpus(Referent("", template)), 0)}


def _cluster_template_config(template: dict[str, Any], view: ClusterView, settings: Settings) -> dict[str, Any]:
    """A cluster template looks for its runtime config in the operator's namespace."""
    return _config_in(settings.aim_namespace, template, view)


def _precision(_: dict[str, Any], __: ClusterView, settings: Settings) -> bool:
    return settings.aim_documented_precision


def _gpus(path: tuple[str, ...], obj: dict[str, Any], view: ClusterView) -> dict[str, Any]:
    """``missing``: some nodes have GPU labels, but not for this GPU."""
    model, here = gpu_model(trimmed(obj, *path, "gpuSelector", "model")), models_on_nodes(view) or frozenset()
    return {"missing": bool(model and here and model not in here), "here": sorted(here)}


def _parts(service: dict[str, Any], view: ClusterView, settings: Settings) -> dict[str, Any]:
    """A fact of its own, because rules need less of other objects than the children."""
    return parts_of(service, resolve_service(service, view, choose=settings.chooses_template))


def _image(template: dict[str, Any], view: ClusterView) -> dict[str, Any]:
    name, namespace = trimmed(template, "spec", "aimImageName"), namespace_of(template)
    found = find(view, IMAGES, namespace, name)
    return {
        "found": found is not None,
        "similar": "" if found else similar(view, IMAGES, namespace, name),
        "lacksToken": lacks_token(found, mapping(template, "spec")),
        "image": trimmed(found.spec, "image") if found else "",
    }


def _default_template(image: dict[str, Any], view: ClusterView) -> dict[str, Any]:
    """The templates that an image's default can refer to: for a cluster image, also those of every namespace.

    A template of a namespace is its tenant's: it shows that there is one, and says nothing against a cluster image.
    """
    name, namespace = trimmed(image, "spec", "defaultServiceTemplate"), namespace_of(image)
    if namespace:
        found = find(view, TEMPLATES, namespace, name)
        meant = [found.object] if found else []
    else:
        meant = [each for kind in TEMPLATES for each in view.list(Kind(GROUP, kind)) if name_of(each) == name]
    own = meant if namespace else [each for each in meant if not namespace_of(each)]
    images = {trimmed(each, "spec", "aimImageName") for each in own}
    return {"found": bool(meant), "others": sorted(images) if not images & {name_of(image), ""} else []}


def _cached_template(cache: dict[str, Any], view: ClusterView) -> dict[str, Any]:
    namespace = namespace_of(cache)
    found = find(view, TEMPLATES, namespace, trimmed(cache, "spec", "templateRef"))
    storage_class = trimmed(cache, "spec", "storageClassName")
    return {
        "found": found is not None,
        "kind": found.kind if found else "",
        "failed": failed_caches(view, namespace, found, storage_class),
        "uncached": uncached(view, namespace, found, storage_class),
        "lacksToken": found is not None and lacks_token(image_of(view, found), mapping(cache, "spec"), found.spec),
    }


def _shadowed(config: dict[str, Any], view: ClusterView) -> list[str]:
    """The fields that only the cluster's runtime config of the same name sets; this config replaces it entirely."""
    found = find(view, CONFIGS, "", name_of(config))
    if found is None:
        return []
    theirs, mine = found.spec, mapping(config, "spec")
    if "routing" not in mine:
        return _without(theirs, mine)
    routing = _without(mapping(theirs, "routing"), mapping(mine, "routing"))
    return [*_without(theirs, mine), *(f"routing.{field}" for field in routing)]


def _without(theirs: dict[str, Any], mine: dict[str, Any]) -> list[str]:
    return sorted(key for key, value in theirs.items() if value not in (None, "", [], {}) and key not in mine)


def _route_template(config: dict[str, Any], _: ClusterView) -> str:
    template = at(config, "spec", "routing", "routeTemplate")
    return cut_middle(template_error(template)) if isinstance(template, str) else ""


def _renamed(names: Mapping[str, str], obj: dict[str, Any], _: ClusterView) -> list[dict[str, str]]:
    return renamed(obj, names)


def _names(names: Mapping[str, str]) -> Fact:
    return Fact(partial(_renamed, names), listed(fields(was=STRING, now=STRING)), raw=True)


_CACHED: Final = fields(found=BOOLEAN, kind=STRING, failed=STRINGS, uncached=BOOLEAN, lacksToken=BOOLEAN)
_ACCESS: Final = Fact(_access, fields(**ACCOUNT, model=STRING, label=STRING, gpus=INTEGER), configurable=True)
_CONFIG: Final = fields(found=BOOLEAN, missing=BOOLEAN)
_DOCUMENTED: Final = Fact(_precision, BOOLEAN, configurable=True, raw=True)
"""Raw, because its rules are about the definitions of one release: a later one accepts all eight values."""
_IMAGE: Final = Fact(_image, fields(found=BOOLEAN, similar=STRING, lacksToken=BOOLEAN, image=STRING))
_DEFAULT: Final = Fact(_default_template, fields(found=BOOLEAN, others=STRINGS))
_AVAILABLE: Final = fields(missing=BOOLEAN, here=STRINGS)
_GPUS: Final = Fact(partial(_gpus, ("spec",)), _AVAILABLE)

FACTS: Final[Mapping[str, Mapping[str, Fact]]] = {
    "AIMService": {
        "resolved": RESOLVED,
        "route": ROUTE,
        "parts": Fact(_parts, PARTS, configurable=True),
        "gpus": Fact(partial(_gpus, ("spec", "overrides")), _AVAILABLE),
        "documentedPrecision": _DOCUMENTED,
        "renamed": _names(SERVICE_FIELDS),
    },
    "AIMServiceTemplate": {
        "image": _IMAGE,
        "config": Fact(_config, _CONFIG),
        "gpus": _GPUS,
        "storage": TEMPLATE_STORAGE,
        "access": _ACCESS,
        "documentedPrecision": _DOCUMENTED,
        "renamed": _names(TEMPLATE_FIELDS),
    },
    "AIMClusterServiceTemplate": {
        "image": _IMAGE,
        "config": Fact(_cluster_template_config, _CONFIG, configurable=True),
        "gpus": _GPUS,
        "access": _ACCESS,
        "documentedPrecision": _DOCUMENTED,
        "renamed": _names(TEMPLATE_FIELDS),
    },
    "AIMImage": {"defaultTemplate": _DEFAULT, "renamed": _names(IMAGE_FIELDS)},
    "AIMClusterImage": {"defaultTemplate": _DEFAULT, "renamed": _names(IMAGE_FIELDS)},
    "AIMModelCache": {
        "sameSource": Fact(same_source, BOOLEAN),
        "source": Fact(larger_source, fields(size=STRING, template=STRING)),
        "storage": CACHE_STORAGE,
    },
    "AIMTemplateCache": {
        "template": Fact(_cached_template, _CACHED),
        "config": Fact(_config, _CONFIG),
        "storage": CACHE_STORAGE,
    },
    "AIMRuntimeConfig": {
        "shadowed": Fact(_shadowed, STRINGS),
        "routeTemplate": Fact(_route_template, STRING),
        "storage": CONFIG_STORAGE,
        "renamed": _names(CONFIG_FIELDS),
    },
    "AIMClusterRuntimeConfig": {
        "routeTemplate": Fact(_route_template, STRING),
        "storage": CONFIG_STORAGE,
        "renamed": _names(CONFIG_FIELDS),
    },
}


def _parts_of_service(service: dict[str, Any], view: ClusterView, settings: Settings) -> Iterator[Table]:
    """The objects that an AIMService is made of, and where each of them is named."""
    found = resolve_service(service, view, choose=settings.chooses_template)
    rows = [_template_row(found.template), *_image_rows(service, found), _config_row(service, found)]
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


def _template_row(found: Resolution) -> tuple[str, str, str]:
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


def _image_rows(service: dict[str, Any], found: Resolved) -> Iterator[tuple[str, str, str]]:
    named = trimmed(service, "spec", "aimImageName")
    origin = "spec.aimImageName" if found.image and found.image.name == named else "the template's aimImageName"
    if found.image is None:
        yield "image", f"{named} (not found)" if named else "none", "spec.aimImageName"
        return
    yield "image", f"{found.image.kind} {found.image.name}: {trimmed(found.image.spec, 'image')}", origin


def _config_row(service: dict[str, Any], found: Resolved) -> tuple[str, str, str]:
    spec = mapping(service, "spec")
    origin = "spec.runtimeConfigName" if trimmed(spec, "runtimeConfigName") else "the template, or the name default"
    if found.config is None:
        return "runtime config", f"{found.config_name} (not found in {namespace_of(service)} or the cluster)", origin
    return "runtime config", f"{found.config.kind} {found.config.name}", origin


_SERVICE: Final = Kind(GROUP, "AIMService")
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
    fits={"AIMService": fit_of_service},
    watched=frozenset(
        [*(Kind(GROUP, kind) for kind in _WATCHED), Kind("", "Node"), Kind("storage.k8s.io", "StorageClass")]
    ),
    explanations={_SERVICE: _parts_of_service},
    choices={(_SERVICE, "resolved"): _CHOSEN},
)
