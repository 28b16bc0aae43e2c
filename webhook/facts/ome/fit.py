"""The pods of an OME service over its runtime, on the nodes that get its model, and what its engines load."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any, Final, NamedTuple

from webhook.cluster.view import ClusterView
from webhook.facts.fit import GpuLoad, Ranks, ServedPod, Workload, flag, keeps_outside, loads_elsewhere, wants_number
from webhook.facts.memory import Bound, Model, cache_bytes, model_of_repository, of_repository, of_statement
from webhook.facts.nodes import Referent, at, items, mapping, namespace_of, text, texts
from webhook.facts.ome.choice import preferred
from webhook.facts.ome.facts import FACTS
from webhook.facts.ome.lookup import find_model
from webhook.facts.settings import Settings

Json = dict[str, Any]

_DOWNLOADED: Final = "models.ome.io/"
_GPUS: Final = ("nvidia.com/gpu", "amd.com/gpu")
_REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"


class _Part(NamedTuple):
    """A pod of a component, and the node of the service that has a share in it."""

    path: str
    given: Json
    pod: Json


def _parts(service: Json, view: ClusterView, settings: Settings) -> Iterator[_Part]:
    """The pods of a service over its runtime; none without that."""
    for component in FACTS["InferenceService"]["made"].value(service, view, settings)["components"]:
        for member in ("pod", "worker") if component["known"] else ():
            if member in component:
                path = component["merged"][member]["at"]
                yield _Part(path, mapping(service, *path.split(".")), _before_download(component[member]))


def _before_download(pod: Json) -> Json:
    """The pod without the label that a node gets once it has the model."""
    selector = mapping(pod, "nodeSelector")
    kept = {key: value for key, value in selector.items() if not key.startswith(_DOWNLOADED)}
    return pod if len(kept) == len(selector) else {**pod, "nodeSelector": kept}


def fit_of_service(service: Json, view: ClusterView, settings: Settings, _: Sequence[str]) -> Workload | None:
    """What a service asks for; None if its runtime is not known."""
    parts = [*_parts(service, view, settings)]
    if not parts:
        return None
    name, first = text(service, "spec", "model", "name"), preferred(service, "model", settings)
    model = find_model(view, namespace_of(service), name, first)
    chosen = at(service, "spec", "acceleratorSelector") or any(at(part.given, "acceleratorOverride") for part in parts)
    unseen = "OME chooses an accelerator for the pods" if chosen else ""
    storage = mapping(model.spec, "storage") if model is not None else {}
    pods = [ServedPod(_on_model_nodes(part.pod, storage), partial(_origin, part), unseen) for part in parts]
    loads = [load for place, part in enumerate(parts) for load in _loads(place, part, model)]
    ranks = (_ranks(part, model) for part in parts)
    return Workload(pods, loads, next(filter(None, ranks), None))


def _ranks(part: _Part, model: Referent | None) -> Ranks | None:
    """The ranks of vLLM, of the container that has a number of them."""
    named = None if model is None else _model_of(model)
    if named is None or not named.canonical or not named.heads:
        return None
    for container in items(part.pod, "containers"):
        args = _words(container)
        ranks = wants_number(flag(args, "--tensor-parallel-size", "-tp")) or 0
        if ranks > 1 and _is_vllm(container, args) and flag(args, "--hf-overrides", "--config") is None:
            return Ranks(_origin(part, "runner"), named.heads, ranks, named.name)
    return None


def _words(container: Json) -> list[str]:
    """The words of the command line of a container, also of one that a shell reads."""
    return [word for arg in (*texts(container, "command"), *texts(container, "args")) for word in arg.split()]


def _is_vllm(container: Json, args: list[str]) -> bool:
    return "vllm" in text(container, "image") or any("vllm" in arg for arg in args)


def _origin(part: _Part, path: str) -> str:
    """The field of the object that is nearest to a part of the pod."""
    name, _, resource = path.partition(":")
    if name == "resources":
        runner = mapping(part.given, "runner", "resources")
        asked = next((kind for kind in ("limits", "requests") if resource in mapping(runner, kind)), "")
        return f"{part.path}.runner.resources.{asked}[{resource}]" if asked else part.path
    return f"{part.path}.{name}" if name and name in part.given else part.path


def _on_model_nodes(pod: Json, storage: Json) -> Json:
    """The pod, with the requirements of the nodes that ever get the model: both must hold. OME's agent compares
    them, and does nothing for a model on a volume.
    """
    if text(storage, "storageUri").startswith("pvc://"):
        return pod
    selector, own = mapping(storage, "nodeSelector"), mapping(pod, "affinity", "nodeAffinity", _REQUIRED)
    terms = _terms_of_agent(mapping(storage, "nodeAffinity", _REQUIRED).get("nodeSelectorTerms"))
    if selector:
        pod = {**pod, "nodeSelector": {**selector, **mapping(pod, "nodeSelector")}}
        if any(pod["nodeSelector"].get(key) != value for key, value in selector.items()):
            expressions = [{"key": key, "operator": "In", "values": [value]} for key, value in selector.items()]
            terms = _both(terms, [{"matchExpressions": expressions}])
    if not terms:
        return pod
    both = _both(own.get("nodeSelectorTerms"), terms)
    return {**pod, "affinity": {**mapping(pod, "affinity"), "nodeAffinity": {_REQUIRED: {"nodeSelectorTerms": both}}}}


_COMPARED: Final = frozenset(["In", "NotIn", "Exists", "DoesNotExist"])


def _terms_of_agent(terms: Any) -> list[Any]:
    """What the terms demand at least: the agent compares numbers in a way of its own, and a term without a requirement
    chooses every node (pkg/modelagent/scout.go).
    """
    demanded = []
    for term in items({"terms": terms}, "terms"):
        kept = [one for one in items(term, "matchExpressions") if text(one, "operator") in _COMPARED]
        if not kept:
            return []
        demanded.append({"matchExpressions": kept})
    return demanded


_MOST: Final = 16
"""Terms that are joined with others: their number is the product."""


def _both(some: Any, others: list[Any]) -> list[Any]:
    """Terms of which one holds if one of each list holds."""
    if not isinstance(some, list) or not some:
        return others
    if len(some) > _MOST or len(others) > _MOST:
        return some
    return [_joined(one, other) for one in some for other in others]


def _joined(one: Any, other: Any) -> Json:
    parts = ("matchExpressions", "matchFields")
    return {part: [*items(one, part), *items(other, part)] for part in parts if at(one, part) or at(other, part)}


def _loads(place: int, part: _Part, model: Referent | None) -> Iterator[GpuLoad]:
    """What the pod loads. The pods of a component with several nodes share the weights: nothing is said of them."""
    containers = items(part.pod, "containers")
    runner = next((one for one in containers if any(_count(one, gpu) for gpu in _GPUS)), None)
    if model is None or runner is None or part.path.endswith((".leader", ".worker", ".router")):
        return
    resource = next(gpu for gpu in _GPUS if _count(runner, gpu))
    count, field = _count(runner, resource), _origin(part, f"resources:{resource}")
    args = _words(runner)
    if silent := _silence(args, [text(variable, "name") for variable in items(runner, "env")]):
        yield GpuLoad(field, place, count, resource, None, silent=silent)
        return
    named = _model_of(model)
    load = GpuLoad(field, place, count, resource, _weights(model, named, args), usable=0.95)
    yield _cached(load, named, args, is_vllm=_is_vllm(runner, args))


def _count(container: Json, resource: str) -> int:
    asked = at(container, "resources", "limits", resource) or at(container, "resources", "requests", resource)
    number = int(asked) if isinstance(asked, int) and not isinstance(asked, bool) else wants_number(str(asked))
    return number if number is not None and 0 < number < 10_000 else 0


def _silence(args: list[str], variables: list[str]) -> str:
    if keeps_outside(args, variables):
        return "an argument keeps a part of the model outside of the GPUs, or changes it"
    if "MODEL_PATH" not in (flag(args, "--model", "--model-path") or "MODEL_PATH"):
        return "an argument names the model"
    return "the engine is one of several that share the weights" if loads_elsewhere(args) else ""


def _model_of(model: Referent) -> Model | None:
    uri = text(model.spec, "storage", "storageUri")
    repository = uri.removeprefix("hf://").partition("@")[0] if uri.startswith("hf://") else ""
    return model_of_repository(repository)


def _weights(model: Referent, named: Model | None, args: list[str]) -> Bound | None:
    if named is None:
        return of_statement(text(model.spec, "modelParameterSize"), model.spec.get("quantization"))
    chosen = [flag(args, "--quantization", "-q") or "", flag(args, "--torchao-config") or ""]
    chosen.append(text(model.spec, "quantization"))
    return of_repository(named, [method for method in chosen if method])


def _cached(load: GpuLoad, named: Model | None, args: list[str], *, is_vllm: bool) -> GpuLoad:
    """With the cache of one sequence, where its length is written, or vLLM takes the model's own."""
    written = flag(args, "--max-model-len", "--context-length")
    tokens = wants_number(written) or 0
    if written is None and is_vllm and named is not None:
        tokens = named.context
    kind = flag(args, "--kv-cache-dtype") or ""
    size = cache_bytes(named, tokens, 0.5 if "fp8" in kind else 1.0 if kind in {"", "auto"} else 0.0, load.gpus)
    length = "--max-model-len" if written else f"the model's own length {tokens}"
    return load._replace(cache=size, tokens=tokens, length=length, usable=_usable(args, is_vllm=is_vllm))


def _usable(args: list[str], *, is_vllm: bool) -> float:
    given = flag(args, "--gpu-memory-utilization", "--mem-fraction-static")
    if given is None:
        return 0.92 if is_vllm else 0.95
    return 1.0
