"""Look up the models and runtimes that services refer to."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple

from webhook.cluster.view import ClusterView, Kind
from webhook.facts.nodes import text

__all__ = ["BASE_MODELS", "RUNTIMES", "Found", "find_model", "find_runtime", "runtimes_for"]

GROUP: Final = "ome.io"
BASE_MODELS: Final = ("BaseModel", "ClusterBaseModel")
"""The kinds of models, the namespaced kind first: the order of OME's lookup."""
RUNTIMES: Final = ("ServingRuntime", "ClusterServingRuntime")


class Found(NamedTuple):
    """An object found by its name."""

    kind: str
    object: dict[str, Any]

    @property
    def name(self) -> str:
        return text(self.object, "metadata", "name")

    @property
    def spec(self) -> dict[str, Any]:
        spec = self.object.get("spec")
        return spec if isinstance(spec, dict) else {}

    @property
    def disabled(self) -> bool:
        return self.spec.get("disabled") is True

    @property
    def cluster_scoped(self) -> bool:
        return self.kind.startswith("Cluster")


def find_model(view: ClusterView, namespace: str, name: str, first: str = "") -> Found | None:
    """Find a model by name. ``first`` is the preferred kind; the default is the namespaced kind."""
    return _find(view, BASE_MODELS, namespace, name, first)


def find_runtime(view: ClusterView, namespace: str, name: str, first: str = "") -> Found | None:
    """Find a runtime by name, as :func:`find_model`."""
    return _find(view, RUNTIMES, namespace, name, first)


def runtimes_for(view: ClusterView, namespace: str | None) -> Iterator[Found]:
    """Every runtime that services of the namespace (None: of any namespace) may use, namespaced ones first."""
    for kind in RUNTIMES:
        for item in view.list(Kind(GROUP, kind), "" if kind.startswith("Cluster") else namespace):
            yield Found(kind, item)


def _find(view: ClusterView, kinds: Sequence[str], namespace: str, name: str, first: str) -> Found | None:
    for kind in sorted(kinds, key=lambda kind: kind != first):
        found = view.get(Kind(GROUP, kind), "" if kind.startswith("Cluster") else namespace, name) if name else None
        if found is not None:
            return Found(kind, found)
    return None
