"""Facts about the storage class of a cache's volume."""

from __future__ import annotations

from typing import Any, Final

from webhook.cluster.view import ClusterView
from webhook.facts.aim.lookup import config_of
from webhook.facts.aim.storage import Storage, storage_of
from webhook.facts.fact import Fact
from webhook.facts.nodes import namespace_of, trimmed
from webhook.facts.schemas import BOOLEAN, STRING, fields

__all__ = ["CACHE_STORAGE", "CONFIG_STORAGE", "STORAGE", "TEMPLATE_STORAGE", "cache_storage", "storage_fact"]

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
