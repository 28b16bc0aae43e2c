"""Look up images, templates and runtime configs by name: the namespaced kind first, then the cluster kind."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from webhook.cluster.view import ClusterView, Kind
from webhook.facts.names import nearest
from webhook.facts.nodes import Referent, name_of, trimmed

GROUP: Final = "aim.silogen.ai"
IMAGES: Final = ("AIMImage", "AIMClusterImage")
TEMPLATES: Final = ("AIMServiceTemplate", "AIMClusterServiceTemplate")
CONFIGS: Final = ("AIMRuntimeConfig", "AIMClusterRuntimeConfig")

DEFAULT_CONFIG: Final = "default"
"""The only runtime config that may be absent."""

_DERIVED: Final = "aim.silogen.ai/derived-template"
"""The label of templates that the operator derives from another template and the overrides of a service."""


def find(view: ClusterView, kinds: tuple[str, str], namespace: str, name: str) -> Referent | None:
    """Return the namespaced object of this name, whatever its health, otherwise the cluster-scoped one.

    ``namespace`` is "" for a cluster-scoped consumer, which uses cluster-scoped objects only.
    """
    own, shared = kinds
    if name and namespace and (obj := view.get(Kind(GROUP, own), namespace, name)):
        return Referent(own, obj)
    if name and (obj := view.get(Kind(GROUP, shared), "", name)):
        return Referent(shared, obj)
    return None


def image_of(view: ClusterView, template: Referent) -> Referent | None:
    """The image that a template runs. A cluster template uses cluster images only."""
    return find(view, IMAGES, template.namespace, trimmed(template.spec, "aimImageName"))


def similar(view: ClusterView, kinds: tuple[str, str], namespace: str, name: str) -> str:
    """The most similar name that :func:`find` would find, "" if none is similar: never one of another namespace."""
    own, shared = kinds
    mine = view.list(Kind(GROUP, own), namespace) if namespace else ()
    return nearest(name, map(name_of, (*mine, *view.list(Kind(GROUP, shared), ""))))


def default_template(view: ClusterView, namespace: str, image: str) -> tuple[str, Referent | None]:
    """The template of services that name none, and the image that sets it.

    An image of the namespace without a default does not hide the default of the cluster image of the same name.
    """
    for space in dict.fromkeys((namespace, "")):
        found = find(view, IMAGES, space, image)
        if found is not None and (name := trimmed(found.spec, "defaultServiceTemplate")):
            return name, found
    return "", None


def is_derived(template: Referent) -> bool:
    """Whether the operator created this template, and keeps updating it, for services with overrides."""
    return trimmed(template.object, "metadata", "labels", _DERIVED) == "true"


def config_of(view: ClusterView, namespace: str, name: str) -> Referent | None:
    """The runtime config of this name. The config of the namespace replaces that of the cluster as a whole."""
    return find(view, CONFIGS, namespace, name or DEFAULT_CONFIG)


def templates_for(view: ClusterView, namespace: str) -> Iterator[Referent]:
    """Every template that a service of the namespace may use, those of the namespace first."""
    for kind in TEMPLATES:
        for obj in view.list(Kind(GROUP, kind), "" if kind.startswith("AIMCluster") else namespace):
            yield Referent(kind, obj)
