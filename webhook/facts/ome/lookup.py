"""Models and runtimes of a cluster, as services refer to them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple

from webhook.cluster.view import ClusterView, Kind
from webhook.facts.nodes import text

__all__ = ["BASE_MODELS", "RUNTIMES", "Found", "find_model", "find_runtime", "namespace_of", "runtimes_for"]

GROUP: Final = "ome.io"
BASE_MODELS: Final = ("BaseModel", "ClusterBaseModel")
"""The kinds of models, that of a namespace first: the order in which OME looks."""
RUNTIMES: Final = ("ServingRuntime", "ClusterServingRuntime")


class Found(NamedTuple):
    """An object that a name leads to."""

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


def namespace_of(service: Any) -> str:
    return text(service, "metadata", "namespace")


def find_model(view: ClusterView, namespace: str, name: str, first: str = "") -> Found | None:
    """The model of a name; ``first`` is the kind to prefer, else that of the namespace."""
    return _find(view, BASE_MODELS, namespace, name, first)


def find_runtime(view: ClusterView, namespace: str, name: str, first: str = "") -> Found | None:
    """The runtime of a name, likewise."""
    return _find(view, RUNTIMES, namespace, name, first)


def runtimes_for(view: ClusterView, namespace: str | None) -> Iterator[Found]:
    """Every runtime that a service of the namespace (None: of some namespace) may use, those of namespaces first."""
    for kind in RUNTIMES:
        for item in view.list(Kind(GROUP, kind), "" if kind.startswith("Cluster") else namespace):
            yield Found(kind, item)


def _find(view: ClusterView, kinds: Sequence[str], namespace: str, name: str, first: str) -> Found | None:
    for kind in sorted(kinds, key=lambda kind: kind != first):
        found = view.get(Kind(GROUP, kind), "" if kind.startswith("Cluster") else namespace, name) if name else None
        if found is not None:
            return Found(kind, found)
    return None
