"""Look up what services refer to: models, runtimes, and the claims that pods name.

Pods name PersistentVolumeClaims for volumes, and ResourceClaims and their templates for devices.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from typing import Any, Final

from webhook.cluster.view import ClusterView, Kind
from webhook.facts.fact import STRINGS, fields
from webhook.facts.nodes import Memo, Referent, items, text
from webhook.golang.names import dns_1123_subdomain

GROUP: Final = "ome.io"
BASE_MODELS: Final = ("BaseModel", "ClusterBaseModel")
"""The kinds of models, the namespaced kind first: the order of OME's lookup."""
RUNTIMES: Final = ("ServingRuntime", "ClusterServingRuntime")
LISTS: Final = {"ServingRuntime": 256, "ClusterServingRuntime": 2}
"""Lists whose index is kept: of the namespaces in use, and of the cluster, which may be as long as all others."""


def find_model(view: ClusterView, namespace: str, name: str, first: str = "") -> Referent | None:
    """Find a model by name. ``first`` is the preferred kind; the default is the namespaced kind."""
    return _find(view, BASE_MODELS, namespace, name, first)


def find_runtime(view: ClusterView, namespace: str, name: str, first: str = "") -> Referent | None:
    """Find a runtime by name, as :func:`find_model`."""
    return _find(view, RUNTIMES, namespace, name, first)


def runtimes_for(view: ClusterView, namespace: str | None) -> Iterator[Referent]:
    """Every runtime that services of the namespace (None: of any namespace) may use, namespaced ones first."""
    for kind, listed in _listed(view, namespace):
        for item in listed:
            yield Referent(kind, item)


def _listed(view: ClusterView, namespace: str | None) -> Iterator[tuple[str, Sequence[dict[str, Any]]]]:
    for kind in RUNTIMES:
        yield kind, view.list(Kind(GROUP, kind), "" if kind.startswith("Cluster") else namespace)


class RuntimeIndex:
    """Runtimes by their sorts, so that a choice among them does not grow with those of other sorts.

    It is made once for each list of a view, which gives the same list until an object of the kind changes. ``sorts``
    are those of one runtime.
    """

    def __init__(self, sorts: Callable[[dict[str, Any]], Iterable[Hashable]]) -> None:
        self._sorts = sorts
        self._known = {kind: Memo(self._by_sort, LISTS[kind]) for kind in RUNTIMES}

    def of(self, view: ClusterView, namespace: str, sort: Hashable) -> list[Referent]:
        """The runtimes of a sort that services of the namespace may use, in the order of :func:`runtimes_for`."""
        listed = list(_listed(view, namespace))
        return [Referent(kind, item) for kind, items in listed for item in self._known[kind](items).get(sort, ())]

    def _by_sort(self, listed: Sequence[dict[str, Any]]) -> dict[Hashable, list[dict[str, Any]]]:
        found: dict[Hashable, list[dict[str, Any]]] = {}
        for item in listed:
            for sort in self._sorts(item):
                found.setdefault(sort, []).append(item)
        return found


def _find(view: ClusterView, kinds: Sequence[str], namespace: str, name: str, first: str) -> Referent | None:
    for kind in sorted(kinds, key=lambda kind: kind != first):
        found = view.get(Kind(GROUP, kind), "" if kind.startswith("Cluster") else namespace, name) if name else None
        if found is not None:
            return Referent(kind, found)
    return None


_VOLUMES: Final = Kind("", "PersistentVolumeClaim")
_CLAIMS: Final = Kind("resource.k8s.io", "ResourceClaim")
_TEMPLATES: Final = Kind("resource.k8s.io", "ResourceClaimTemplate")

_LOOKED_UP: Final = 16
"""Claims of an object that are looked up. Each is a request to the API server, within the time of the review."""

MISSING_CLAIMS: Final = fields(volumes=STRINGS, claims=STRINGS, templates=STRINGS)


def missing_claims(pods: Iterable[Any], namespace: str, view: ClusterView) -> dict[str, list[str]]:
    """The names of the claims of pod specs that do not exist in the namespace; none for an unknown namespace ("")."""
    named = dict.fromkeys(_named(pods)) if namespace else {}
    missing: dict[Kind, list[str]] = {_VOLUMES: [], _CLAIMS: [], _TEMPLATES: []}
    for kind, name in list(named)[:_LOOKED_UP]:
        if view.get(kind, namespace, name) is None:
            missing[kind].append(name)
    return {"volumes": missing[_VOLUMES], "claims": missing[_CLAIMS], "templates": missing[_TEMPLATES]}


def _named(pods: Iterable[Any]) -> Iterator[tuple[Kind, str]]:
    for pod in pods:
        for volume in items(pod, "volumes"):
            name = text(volume, "persistentVolumeClaim", "claimName")
            if name:
                yield _VOLUMES, name
        for each in items(pod, "resourceClaims"):
            claim, template = text(each, "resourceClaimName"), text(each, "resourceClaimTemplateName")
            if bool(claim) != bool(template) and not dns_1123_subdomain(claim or template):  # else KP001 says so
                yield (_CLAIMS, claim) if claim else (_TEMPLATES, template)
