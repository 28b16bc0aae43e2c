"""OME: its facts, what they read, and what is shown of the choice of a runtime."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from webhook.cluster.view import ClusterView, Kind
from webhook.facts.fact import Fetched, Knowledge, Table
from webhook.facts.nodes import at, text
from webhook.facts.ome.choice import comparison, selection_of
from webhook.facts.ome.facts import FACTS
from webhook.facts.ome.pods import pods_of_benchmark, pods_of_runtime, pods_of_service
from webhook.facts.ome.service import CONFIG
from webhook.facts.settings import Settings


def _runtimes(service: dict[str, Any], view: ClusterView, settings: Settings) -> Iterator[Table]:
    """Every runtime for the model of a service, the best first."""
    name = text(service, "spec", "model", "name")
    if not name:
        return
    found = selection_of(service, view, settings, explain=True)
    named = at(service, "spec", "runtime", "name")
    title = f"runtimes for model {name}"
    if isinstance(named, str):
        title += f" (not used: the service names {named})"
    elif found.error and not found.ranked:
        title += f": {found.error}"
    elif found.awaits:
        title += f" (the choice depends on {found.awaits} of the model, which is absent)"
    rows = [
        (str(number), each.runtime.name, each.runtime.kind, str(each.score), "selected" if number == 1 else "")
        for number, each in enumerate(found.ranked, 1)
    ]
    rows += [("-", each.runtime.name, each.runtime.kind, "", each.reason) for each in found.excluded]
    yield Table(title, ("rank", "runtime", "kind", "score", "reason"), tuple(rows))


_GROUP: Final = "ome.io"
_SERVICE: Final = Kind(_GROUP, "InferenceService")
_WATCHED: Final = (
    "BaseModel",
    "ClusterBaseModel",
    "ClusterServingRuntime",
    "FineTunedWeight",
    "InferenceService",
    "ServingRuntime",
)
_CLAIMS: Final = ("ResourceClaim", "ResourceClaimTemplate")

KNOWLEDGE: Final = Knowledge(
    FACTS,
    watched=frozenset(Kind(_GROUP, kind) for kind in _WATCHED),
    fetched=frozenset(
        [
            Fetched(Kind("", "ConfigMap"), CONFIG),
            Fetched(Kind("", "PersistentVolumeClaim")),
            *(Fetched(Kind("resource.k8s.io", kind)) for kind in _CLAIMS),
        ]
    ),
    wholes={
        "InferenceService": pods_of_service,
        "BenchmarkJob": pods_of_benchmark,
        **dict.fromkeys(("ServingRuntime", "ClusterServingRuntime"), pods_of_runtime),
    },
    comparisons={_SERVICE: comparison},
    explanations={_SERVICE: _runtimes},
    choices={(_SERVICE, "model"): ("name", "kind"), (_SERVICE, "runtime"): ("name", "kind")},
)
