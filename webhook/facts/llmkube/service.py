"""The Model that an LLMKube InferenceService serves, as far as rules compare the two.

Rules by data cannot look up another object, nor tell the kinds of a source.
"""

from __future__ import annotations

from typing import Any, Final

from webhook.cluster.view import ClusterView, Kind
from webhook.facts.fact import Fact
from webhook.facts.llmkube.page import classify_page
from webhook.facts.llmkube.source import parse_source
from webhook.facts.nodes import at, mapping, name_of, namespace_of, text, whole
from webhook.facts.schemas import BOOLEAN, INTEGER, STRING, STRINGS, fields

__all__ = ["SERVICE_FACTS"]

_GROUP: Final = "inference.llmkube.dev"
_MODEL: Final = Kind(_GROUP, "Model")
_SERVICE: Final = Kind(_GROUP, "InferenceService")
_CLAIM: Final = Kind("", "PersistentVolumeClaim")


def _find(view: ClusterView, service: dict[str, Any], name: str) -> dict[str, Any] | None:
    return view.get(_MODEL, namespace_of(service), name) if name else None


def _model(service: dict[str, Any], view: ClusterView) -> dict[str, Any]:
    """What the Model says; ``gpus`` is the number that pods request: of the Model, or else of the service.

    Without a Model, everything else is empty, and 0.
    """
    found = _find(view, service, text(service, "spec", "modelRef"))
    spec = mapping(found, "spec")
    gpu, source = mapping(spec, "hardware", "gpu"), text(spec, "source")
    count, requested = whole(gpu, "count") or 0, whole(service, "spec", "resources", "gpu") or 0
    files = at(spec, "files")
    return {
        "found": found is not None,
        "gpus": count if count > 0 else max(requested, 0),
        "count": max(count, 0),
        "enabled": gpu.get("enabled") is True or count > 0,
        "vendor": text(gpu, "vendor"),
        "runtime": text(gpu, "runtime"),
        "memory": text(gpu, "memory"),
        "resourceName": text(gpu, "resourceName"),
        "claimed": bool(gpu.get("resourceClaims")),
        "accelerator": text(spec, "hardware", "accelerator"),
        "format": text(spec, "format") or ("gguf" if found else ""),
        "source": source,
        "kind": str(parse_source(source).kind) if source else "",
        "page": str(classify_page(source)),
        "files": [each for each in files if isinstance(each, str)] if isinstance(files, list) else [],
        "mmproj": text(spec, "mmproj"),
        "phase": text(found, "status", "phase"),
        "contextLength": max(whole(found, "status", "gguf", "contextLength") or 0, 0),
    }


def _draft(service: dict[str, Any], view: ClusterView) -> dict[str, Any]:
    """Whether the Model with the draft weights that the service names is missing."""
    name = text(service, "spec", "speculativeDecoding", "draftModelRef")
    return {"missing": bool(name) and _find(view, service, name) is None}


def _rival(service: dict[str, Any], view: ClusterView) -> str:
    """Another service of the namespace whose Service has the same name: dots become hyphens."""
    name, namespace = name_of(service), namespace_of(service)
    others = (name_of(each) for each in view.list(_SERVICE, namespace)) if name else ()
    return next((each for each in others if each != name and each.replace(".", "-") == name.replace(".", "-")), "")


def _cache(service: dict[str, Any], view: ClusterView) -> dict[str, Any]:
    """Whether the claim of the cache that the service names is missing."""
    name = text(service, "spec", "modelCache", "claimName")
    return {"missing": bool(name) and view.get(_CLAIM, namespace_of(service), name) is None}


_TEXTS: Final = (
    "vendor", "runtime", "memory", "resourceName", "accelerator", "format", "source", "kind", "page", "mmproj", "phase"
)  # fmt: skip

SERVICE_FACTS: Final = {
    "model": Fact(
        _model,
        fields(
            **dict.fromkeys(("found", "enabled", "claimed"), BOOLEAN),
            **dict.fromkeys(("gpus", "count", "contextLength"), INTEGER),
            **dict.fromkeys(_TEXTS, STRING),
            files=STRINGS,
        ),
    ),
    "draft": Fact(_draft, fields(missing=BOOLEAN)),
    "rival": Fact(_rival, STRING),
    "cache": Fact(_cache, fields(missing=BOOLEAN)),
}
