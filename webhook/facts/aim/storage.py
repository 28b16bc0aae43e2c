"""The storage class of a cache's volume, whether it supports ReadWriteMany, and the facts about it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from webhook.cluster.view import ClusterView, Kind
from webhook.facts.aim.lookup import config_of
from webhook.facts.fact import BOOLEAN, STRING, Fact, fields
from webhook.facts.nodes import name_of, namespace_of, trimmed

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
