"""llmaz: the facts of its kind, and what they read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Final

from webhook.cluster.view import ClusterView
from webhook.facts.fact import STRING, Fact, Knowledge, fields
from webhook.facts.fit import GpuLoad, ServedPod, Workload, wants_number
from webhook.facts.memory import Bound, model_of_repository, of_repository
from webhook.facts.names import missing_shards
from webhook.facts.nodes import at, items, mapping, text
from webhook.facts.settings import Settings
from webhook.golang import time
from webhook.golang.errors import GoError

_EXAMPLE: Final = "use an RFC 3339 time, such as 2024-05-21T10:00:00Z"
_NO_DAY: Final = ("month out of range", "day out of range")


def moment_error(text: str | list[Any]) -> str:
    """Return why a time is invalid, or "" if it is valid (``metav1.Time.UnmarshalJSON``, ``time.RFC3339``).

    ``text`` may be a list: the API server accepts any list where a string with a format is required.
    """
    try:
        at = time.parse(text) if isinstance(text, str) else None
    except GoError as error:
        if not error.message.endswith(" out of range"):
            return f"is not a valid time; {_EXAMPLE}"
        if error.message.endswith(_NO_DAY):
            return f"has a date that does not exist; {_EXAMPLE}"
        return f"has a time of day or an offset out of range; {_EXAMPLE}"
    if at is None:
        return f"is not a valid time; {_EXAMPLE}"
    return f"equals the zero time of Go, which means unset; {_EXAMPLE}" if at.is_zero else ""


def _created_at(model: dict[str, Any], _: ClusterView) -> dict[str, Any]:
    created = at(model, "spec", "createdAt")
    return {"error": moment_error(created) if isinstance(created, str | list) else ""}


def _shards(model: dict[str, Any], _: ClusterView) -> str:
    """The other shards of the one file that is downloaded."""
    return missing_shards([text(model, "spec", "source", "modelHub", "filename")])


FACTS: Final[Mapping[str, Mapping[str, Fact]]] = {
    "OpenModel": {
        "createdAt": Fact(_created_at, fields(error=STRING)),
        "shards": Fact(_shards, STRING),
    }
}


_GPUS: Final = ("nvidia.com/gpu", "amd.com/gpu")


def fit_of_model(model: dict[str, Any], _: ClusterView, __: Settings, ___: Sequence[str]) -> Workload | None:
    """A pod for each flavor, of which one is enough. The selector of a flavor is not written to the pod: only the
    scheduler of llmaz reads it.
    """
    flavors = items(model, "spec", "inferenceConfig", "flavors")
    repository = model_of_repository(text(model, "spec", "source", "modelHub", "modelID"))
    is_certain = repository is not None and repository.canonical
    weights = of_repository(repository, chosen_elsewhere=True) if repository is not None and is_certain else None
    pods, loads = [], []
    for place, flavor in enumerate(flavors):
        limits, field = mapping(flavor, "limits"), f"spec.inferenceConfig.flavors[{place}]"
        resources = {"limits": limits, "requests": limits}
        pod = {"containers": [{"name": "model-runner", "resources": resources}]}
        pods.append(ServedPod(pod, partial(_limit, field), is_part=True))
        if text(flavor, "params", "PP") in {"", "1"}:  # otherwise several pods share the weights
            loads += _loads(place, limits, field, weights)
    return Workload(pods, loads, is_choice=True) if flavors else None


def _limit(field: str, path: str) -> str:
    return f"{field}.limits[{path.removeprefix('resources:')}]" if path.startswith("resources:") else field


def _loads(place: int, limits: dict[str, Any], field: str, weights: Bound | None) -> list[GpuLoad]:
    """What the GPUs of a flavor load."""
    asked = {resource: wants_number(str(limits.get(resource, ""))) or 0 for resource in _GPUS}
    counts = [(resource, count) for resource, count in asked.items() if 0 < count < 10_000]
    return [GpuLoad(field, place, count, resource, weights) for resource, count in counts[:1]]


KNOWLEDGE: Final = Knowledge(FACTS, fits={"OpenModel": fit_of_model})
