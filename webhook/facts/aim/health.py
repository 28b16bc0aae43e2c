"""Whether a service can run: the status of its template, the token that its image needs, and the caches of its models.

A failed cache blocks a service.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final

from webhook.cluster.view import ClusterView, Kind
from webhook.facts.aim.lookup import GROUP, cache_storage, templates_for
from webhook.facts.aim.resources import amount
from webhook.facts.nodes import Referent, at, items, name_of, text, trimmed


@dataclass(frozen=True, slots=True)
class Health:
    """``status`` is "" if it is unknown; ``because`` is the operator's message for a failure.

    ``sources``: whether discovery found models. An available template without models serves nothing.
    """

    status: str = ""
    because: str = ""
    sources: bool = False


def health_of(template: Referent | None) -> Health:
    if template is None:
        return Health()
    conditions = items(template.object, "status", "conditions")
    failures = (each for each in conditions if trimmed(each, "type") == "Failure" and trimmed(each, "status") == "True")
    because = next((trimmed(failure, "message") for failure in failures), "")
    sources = any(trimmed(source, "sourceUri") for source in items(template.object, "status", "modelSources"))
    return Health(trimmed(template.object, "status", "status"), because, sources)


_NAMES: Final = frozenset({"HF_TOKEN", "HUGGING_FACE_HUB_TOKEN", "HF_TOKEN_PATH"})
"""The variables in which huggingface_hub looks for a token."""


def lacks_token(image: Referent | None, *specs: Any) -> bool:
    """Whether an image requires a token, and no ``env`` or ``caching.env`` of the specifications contains one."""
    if image is None or at(image.object, "status", "imageMetadata", "model", "hfTokenRequired") is not True:
        return False
    variables = [each for spec in specs for each in (*items(spec, "env"), *items(spec, "caching", "env"))]
    return not any(text(each, "name") in _NAMES for each in variables)


BEST = ("Available", "Progressing", "Pending", "Failed")


def template_cache(view: ClusterView, namespace: str, template: str) -> dict[str, Any] | None:
    """An AIMTemplateCache of the namespace for a template. A service uses it even if it does not request a cache."""
    caches = view.list(Kind(GROUP, "AIMTemplateCache"), namespace)
    return next((cache for cache in caches if template and trimmed(cache, "spec", "templateRef") == template), None)


def failed_caches(view: ClusterView, namespace: str, template: Referent | None, storage_class: str) -> list[str]:
    """The failed AIMModelCaches of a template's models, for models without a better cache."""
    if template is None:
        return []
    best = _best_of(view, namespace, template, storage_class)
    return [name_of(cache) for cache in best if cache and _status(cache) == "Failed"]


def uncached(view: ClusterView, namespace: str, template: Referent | None, storage_class: str) -> bool:
    """Whether a model of a template lacks an AIMModelCache, so that the operator creates one with a volume."""
    best = _best_of(view, namespace, template, storage_class) if template else []
    return not best or None in best


def same_source(cache: dict[str, Any], view: ClusterView) -> bool:
    """Whether another AIMModelCache of the namespace holds the same model on the same storage class."""
    namespace, name = trimmed(cache, "metadata", "namespace"), name_of(cache)
    same = _caches(view, namespace, trimmed(cache, "spec", "sourceUri"))
    others = [each for each in same if name_of(each) != name]
    storage_class = cache_storage(cache, view).name if others else ""
    return any(cache_storage(each, view).name == storage_class for each in others)


def larger_source(cache: dict[str, Any], view: ClusterView) -> dict[str, str]:
    """The size of the cache's model, and a template that states it, if the cache is smaller; else empty texts.

    The discovery of a template finds the sizes of its models. A service in the namespace of the cache may use the
    templates of this namespace and of the cluster.
    """
    source, room = trimmed(cache, "spec", "sourceUri"), amount(at(cache, "spec", "size"))
    for template in templates_for(view, trimmed(cache, "metadata", "namespace")) if isinstance(room, Decimal) else ():
        for model in items(template.object, "status", "modelSources"):
            size = at(model, "size")
            needed = amount(size) if trimmed(model, "sourceUri") == source else None
            if isinstance(needed, Decimal) and needed > room:
                return {"size": str(size), "template": template.name}
    return {"size": "", "template": ""}


def _best_of(view: ClusterView, namespace: str, template: Referent, storage_class: str) -> list[dict[str, Any] | None]:
    """The best cache of each known model of a template."""
    sources = (trimmed(source, "sourceUri") for source in items(template.object, "status", "modelSources"))
    return [_best(view, namespace, source, storage_class) for source in sources]


def _best(view: ClusterView, namespace: str, source: str, storage_class: str) -> dict[str, Any] | None:
    found = [
        cache
        for cache in _caches(view, namespace, source)
        if not storage_class or trimmed(cache, "spec", "storageClassName") == storage_class
    ]
    return min(found, key=lambda cache: BEST.index(_status(cache)), default=None)


def _caches(view: ClusterView, namespace: str, source: str) -> Iterator[dict[str, Any]]:
    caches = view.list(Kind(GROUP, "AIMModelCache"), namespace)
    return (cache for cache in caches if trimmed(cache, "spec", "sourceUri") == source)


def _status(cache: dict[str, Any]) -> str:
    status = trimmed(cache, "status", "status")
    return status if status in BEST else "Pending"
