"""Look up images, templates and runtime configs by name, and the storage classes of caches; namespaced kinds first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from webhook.cluster.view import ClusterView, Kind
from webhook.facts.fact import BOOLEAN, STRING, Fact, fields
from webhook.facts.names import nearest
from webhook.facts.nodes import Referent, name_of, namespace_of, trimmed

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


STORAGE_CLASS: Final = Kind("storage.k8s.io", "StorageClass")

_DEFAULT: Final = ("storageclass.kubernetes.io/is-default-class", "storageclass.beta.kubernetes.io/is-default-class")

_ONE_NODE: Final = frozenset(
    {
        *("kubernetes.io/no-provisioner", "rancher.io/local-path", "hostpath.csi.k8s.io", "k8s.io/minikube-hostpath"),
        *("ebs.csi.aws.com", "kubernetes.io/aws-ebs", "disk.csi.azure.com", "kubernetes.io/azure-disk"),
        *("pd.csi.storage.gke.io", "kubernetes.io/gce-pd", "cinder.csi.openstack.org", "csi.vsphere.vmware.com"),
        *("dobs.csi.digitalocean.com", "csi.hetzner.cloud", "linodebs.csi.linode.com", "topolvm.io"),
        *("openebs.io/local", "local.csi.openebs.io", "zfs.csi.openebs.io"),
    }
)
"""Provisioners of disks with file systems that only one node can write. A cache's volume is ReadWriteMany.

Provisioners that can do both, depending on their parameters, are not listed, so they are not reported.
"""


@dataclass(frozen=True, slots=True)
class Storage:
    """``name`` is "" for the cluster's default if that is unknown.

    ``missing``: the class does not exist, or the cluster has no default. ``one_node``: the provisioner, if its volumes
    cannot be shared by nodes.
    """

    name: str = ""
    missing: bool = False
    one_node: str = ""


def storage_of(view: ClusterView, *names: str) -> Storage:
    """The class of the first non-empty name, otherwise the default class of the cluster."""
    name = next(filter(None, names), "")
    classes = view.list(STORAGE_CLASS)
    if not classes:
        return Storage(name)  # a view without classes is not informative
    found = _class(classes, name)
    if found is None:
        return Storage(name, missing=True)
    provisioner = trimmed(found, "provisioner")
    return Storage(name_of(found), one_node=provisioner if provisioner in _ONE_NODE else "")


def _class(classes: Sequence[dict[str, Any]], name: str) -> dict[str, Any] | None:
    """The class with this name. Without a name the default class: of several, the newest, then the first by name."""
    if name:
        return next((each for each in classes if name_of(each) == name), None)
    defaults = (each for each in classes if _is_default(each))
    return max(defaults, key=lambda each: trimmed(each, "metadata", "creationTimestamp"), default=None)


def _is_default(storage_class: dict[str, Any]) -> bool:
    return any(trimmed(storage_class, "metadata", "annotations", key) == "true" for key in _DEFAULT)


STORAGE: Final = fields(name=STRING, missing=BOOLEAN, oneNode=STRING)


def storage_fact(storage: Storage) -> dict[str, Any]:
    return {"name": storage.name, "missing": storage.missing, "oneNode": storage.one_node}


def cache_storage(cache: dict[str, Any], view: ClusterView) -> Storage:
    """The class of the cache, otherwise of its runtime config. An AIMModelCache uses the config named default."""
    own = trimmed(cache, "spec", "storageClassName")
    return storage_of(view, own, _of_config(cache, view))


def _of_cache(cache: dict[str, Any], view: ClusterView) -> dict[str, Any]:
    return storage_fact(cache_storage(cache, view))


def _of_template(template: dict[str, Any], view: ClusterView) -> dict[str, Any]:
    return storage_fact(storage_of(view, _of_config(template, view)))


def _of_config(consumer: dict[str, Any], view: ClusterView) -> str:
    config = config_of(view, namespace_of(consumer), trimmed(consumer, "spec", "runtimeConfigName"))
    return trimmed(config.spec, "defaultStorageClassName") if config else ""


def _config(config: dict[str, Any], view: ClusterView) -> dict[str, Any]:
    return storage_fact(storage_of(view, trimmed(config, "spec", "defaultStorageClassName")))


CACHE_STORAGE: Final = Fact(_of_cache, STORAGE)
TEMPLATE_STORAGE: Final = Fact(_of_template, STORAGE)
CONFIG_STORAGE: Final = Fact(_config, STORAGE)
