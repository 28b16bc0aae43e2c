"""OME: the facts of its kinds."""

from __future__ import annotations

from collections.abc import Mapping
from sys import intern
from typing import Any, Final

from webhook.cluster.view import ClusterView, Kind
from webhook.facts.fact import BOOLEAN, INTEGER, NAMES, STRING, STRINGS, TEXTS, Fact, cut_middle, fields
from webhook.facts.nodes import Memo, Referent, at, items, mapping, namespace_of, text, texts, whole
from webhook.facts.ome.benchmark import JOB, job
from webhook.facts.ome.choice import accelerators_of, choice, explained_choice, model_of, preferred, selection_of
from webhook.facts.ome.components import MADE, PODS, made, pods_of_runtime
from webhook.facts.ome.ingress import ingress_config
from webhook.facts.ome.lookup import MISSING_CLAIMS, find_model, find_runtime, missing_claims, runtime_lists
from webhook.facts.ome.notation import DEFAULTS, prometheus_error, query_error, range_of, scenario_fits
from webhook.facts.ome.runtimes import (
    configuration_error,
    fits_nothing,
    overlaps,
    priority_conflict,
    same_priority,
    stray_versions,
    unreadable_sizes,
    unreadable_versions,
)
from webhook.facts.ome.selection import Selection, incompatible
from webhook.facts.ome.service import (
    base_of,
    deployment_of,
    has_full_runner,
    migration_of,
    misspelt,
    predictor_used,
)
from webhook.facts.ome.storage import storage_error, storage_example, storage_scheme
from webhook.facts.ome.wiring import Served
from webhook.facts.settings import Behaviour, Settings
from webhook.golang.errors import GoError
from webhook.golang.strconv import parse_float


def _selection(service: dict[str, Any], view: ClusterView, settings: Settings) -> dict[str, Any]:
    model, accelerators = model_of(service, view, settings), accelerators_of(service)
    if model is None:
        return _chosen(Selection())
    lists = runtime_lists(view, namespace_of(service))
    if accelerators:
        return _chosen(choice(model, settings.ome, lists, accelerators))
    return _CHOICES(model.object, settings.ome, *lists)


def _chosen(selection: Selection) -> dict[str, Any]:
    best = selection.winner
    return {
        "name": best.runtime.name if best else "",
        "kind": best.runtime.kind if best else "",
        "score": best.score if best else 0,
        "count": len(selection.ranked),
        "ties": [each.runtime.name for each in selection.ties],
        "awaits": selection.awaits,
        "candidates": [each.runtime.name for each in selection.ranked[:3]],
    }


_CHOICES: Final = Memo(
    lambda model, behaviour, *lists: _chosen(choice(Referent(text(model, "kind"), model), behaviour, lists)), limit=256
)
"""The choice for all services of a namespace with the same model. There may be thousands of runtimes."""


def _refusal(service: dict[str, Any], view: ClusterView, settings: Settings) -> str:
    """Why no runtime can be chosen. A separate fact, because it takes long and only a message reads it."""
    model, namespace = model_of(service, view, settings), namespace_of(service)
    if model is None or accelerators_of(service):
        return selection_of(service, view, settings).error
    return _REFUSALS(model.object, settings.ome, intern(namespace), *runtime_lists(view, namespace))


_REFUSALS: Final = Memo(
    lambda model, behaviour, namespace, *lists: (
        explained_choice(Referent(text(model, "kind"), model), behaviour, namespace, lists).error
    ),
    limit=256,
)


def _model(service: dict[str, Any], view: ClusterView, settings: Settings) -> dict[str, Any]:
    return _described(model_of(service, view, settings))


def _runtime(service: dict[str, Any], view: ClusterView, settings: Settings) -> dict[str, Any]:
    namespace = namespace_of(service)
    runtime = find_runtime(
        view, namespace, text(service, "spec", "runtime", "name"), preferred(service, "runtime", settings)
    )
    model = model_of(service, view, settings)
    spec = runtime.spec if runtime else {}
    workers = {f"{part}Workers": _workers(spec, f"{part}Config") for part in ("engine", "decoder")}
    described = {**_described(runtime), **workers, "incompatible": "", "unsized": False}
    if runtime is None or model is None or not text(model.spec, "modelFormat", "name"):
        return described
    unsized = not text(model.spec, "modelParameterSize") and range_of(runtime.spec) is not None
    reason = incompatible(model.spec, runtime, settings.ome)
    reason = cut_middle(reason.partition("not in supported formats: ")[2] or reason, 130)
    return {**described, "incompatible": reason, "unsized": unsized}


def _pods(service: dict[str, Any], view: ClusterView, settings: Settings) -> dict[str, Any]:
    """The pods of the runtime. A separate fact, because what their containers hold decides nothing else."""
    name, kind = text(service, "spec", "runtime", "name"), preferred(service, "runtime", settings)
    runtime = find_runtime(view, namespace_of(service), name, kind)
    spec = runtime.spec if runtime else {}
    return {"known": runtime is not None, "leaders": _leaders(spec), "ports": _ports(spec)}


def _chosen_runtime(service: dict[str, Any], view: ClusterView, settings: Settings) -> Referent | None:
    """The runtime that a service names or, if it is certain, gets."""
    name, kind = text(service, "spec", "runtime", "name"), preferred(service, "runtime", settings)
    if not name:
        selection = _selection(service, view, settings)
        name, kind = "" if selection["awaits"] else selection["name"], selection["kind"]
    return find_runtime(view, namespace_of(service), name, kind)


def _made(service: dict[str, Any], view: ClusterView, settings: Settings) -> dict[str, Any]:
    names = texts(service, "spec", "model", "fineTunedWeights")
    weight = view.get(Kind("ome.io", "FineTunedWeight"), "", names[0]) if names else None
    model, runtime = model_of(service, view, settings), _chosen_runtime(service, view, settings)
    return made(Served(service, model, runtime, tuple(names), weight, ingress_config(service, view, settings)))


def _workers(runtime: Any, part: str) -> bool:
    """Whether a runtime sets workers that a service gets which sets none."""
    return (whole(runtime, part, "worker", "size") or 0) > 0


def _leaders(runtime: Any) -> bool:
    """Whether a runtime sets a leader, which a service gets that sets none."""
    return any(mapping(runtime, part, "leader") for part in ("engineConfig", "decoderConfig"))


def _ports(runtime: Any) -> bool:
    """Whether a container of a runtime names ports."""
    parts = [mapping(runtime, *path) for _, *path in _PODS]
    containers = (each for part in parts for each in (mapping(part, "runner"), *items(part, "containers")))
    return any(items(each, "ports") for each in containers)


def _described(found: Referent | None) -> dict[str, Any]:
    return {
        "found": found is not None,
        "kind": found.kind if found else "",
        "disabled": found is not None and found.disabled,
    }


def _deployment(service: dict[str, Any], view: ClusterView, settings: Settings) -> dict[str, Any]:
    found = deployment_of(service, view, settings)
    return {"mode": found.mode, "error": found.error}


def _migration(service: dict[str, Any], view: ClusterView, settings: Settings) -> dict[str, Any]:
    found = migration_of(service, view, settings)
    parts = {"engine": found.engine, "model": found.model, "runtime": found.runtime}
    return {"error": found.error, **{key: value for key, value in parts.items() if value is not None}}


def _weights(service: dict[str, Any], view: ClusterView) -> dict[str, list[str]]:
    """The referenced fine-tuned weights that do not exist, are of another model (with that model), or are disabled."""
    names = texts(service, "spec", "model", "fineTunedWeights")
    weights = {name: view.get(Kind("ome.io", "FineTunedWeight"), "", name) for name in names}
    model, namespace = text(service, "spec", "model", "name"), namespace_of(service)
    bases = {name: mapping(weight, "spec", "baseModelRef") for name, weight in weights.items() if weight is not None}
    return {
        "missing": [name for name, weight in weights.items() if weight is None],
        "other": [
            f"FineTunedWeight {name} is of model {_place(base, namespace)}"
            for name, base in bases.items()
            if text(base, "name") not in {"", model} or _elsewhere(base, view, namespace)
        ],
        "disabled": [name for name, weight in weights.items() if at(weight, "spec", "disabled") is True],
    }


def _place(base: dict[str, Any], namespace: str) -> str:
    own = text(base, "namespace") in {"", namespace}
    return text(base, "name") if own else f"{text(base, 'namespace')}/{text(base, 'name')}"


def _elsewhere(base: dict[str, Any], view: ClusterView, namespace: str) -> bool:
    """Whether a reference means a BaseModel of another namespace than this one."""
    there, name = text(base, "namespace"), text(base, "name")
    return there not in {"", namespace} and view.get(Kind("ome.io", "BaseModel"), there, name) is not None


def _without_replicas(service: dict[str, Any], _: ClusterView) -> list[str]:
    """The components whose maxReplicas is below 1."""
    given = {part: whole(service, "spec", part, "maxReplicas") for part in ("engine", "decoder", "router")}
    return [part for part, number in given.items() if number is not None and number < 1]


def _thresholds(service: dict[str, Any], _: ClusterView) -> list[str]:
    """The KEDA thresholds that are not numbers."""
    annotated = at(service, "metadata", "annotations", "autoscaling.keda.sh/threshold")
    given = [text(service, "spec", "kedaConfig", "scalingThreshold") or None, annotated]
    return [each for each in given if isinstance(each, str) and _float(each)[1]]


def _addresses(service: dict[str, Any], _: ClusterView) -> dict[str, str]:
    """The unusable Prometheus addresses, each with the reason."""
    annotated = at(service, "metadata", "annotations", "autoscaling.keda.sh/prometheus.serverAddress")
    given = [text(service, "spec", "kedaConfig", "promServerAddress") or None, annotated]
    wrong = [(each, prometheus_error(each)) for each in given if isinstance(each, str)]
    return {address: error for address, error in wrong if error}


def _behaviour(_: dict[str, Any], __: ClusterView, settings: Settings) -> str:
    return settings.ome.value


def _storage_of(*path: str) -> Fact:
    """The storage URI at a path: its error, its scheme and a URI to write instead. Upstream accepts empty parts of oci://."""

    def compute(obj: dict[str, Any], _: ClusterView, settings: Settings) -> dict[str, str]:
        uri = at(obj, *path, "storageUri")
        if not isinstance(uri, str):
            return {"error": "", "scheme": "", "example": ""}
        empty_parts = settings.ome is not Behaviour.RECOMMENDED
        scheme = storage_scheme(uri)
        return {
            "error": storage_error(uri, empty_parts=empty_parts),
            "scheme": scheme,
            "example": storage_example(scheme),
        }

    return Fact(compute, fields(error=STRING, scheme=STRING, example=STRING), configurable=True)


def _scenario(job: dict[str, Any], _: ClusterView, settings: Settings) -> str:
    """The first scenario that the task does not have, after "=" (it may be empty); "" if all are valid."""
    task, listed = text(job, "spec", "task"), at(job, "spec", "trafficScenarios")
    scenarios = listed if isinstance(listed, list) and listed else DEFAULTS.get(task, ())
    wrong = (each for each in scenarios if isinstance(each, str) and not scenario_fits(task, each, settings.ome))
    return next((f"={each}" for each in wrong), "")


def _temperature(job: dict[str, Any], _: ClusterView) -> dict[str, Any]:
    """The error of the temperature, and whether it is too high for sensible output."""
    given = at(job, "spec", "additionalRequestParams", "temperature")
    if not isinstance(given, str):
        return {"error": "", "high": False}
    value, error = _float(given)
    return {"error": error, "high": value > 1.5}


def _float(text: str) -> tuple[float, str]:
    """The number as Go reads it, and its error ("" if it is valid)."""
    try:
        return parse_float(text), ""
    except GoError as error:
        return 0.0, error.message


def _claims(obj: dict[str, Any], view: ClusterView) -> dict[str, list[str]]:
    """The missing claims of all pod specs of an object. A cluster-scoped runtime has pods in unknown namespaces."""
    return missing_claims((at(obj, *path) for path in _PODS), namespace_of(obj), view)


def _referred(kind: str, *path: str) -> Fact:
    """Whether the referenced object exists in its namespace."""

    def compute(obj: dict[str, Any], view: ClusterView) -> bool:
        reference = mapping(obj, *path)
        name, namespace = text(reference, "name"), text(reference, "namespace")
        return bool(name) and view.get(Kind("ome.io", kind), namespace, name) is not None

    return Fact(compute, BOOLEAN)


def _misnamed(benchmark: dict[str, Any], view: ClusterView) -> bool:
    """Whether a vLLM may serve the InferenceService of a benchmark by another name than that of its requests.

    Upstream's controller names the model ``vllm-model`` (issue 781). Its own runtimes (``vllm-…``, ``srt-…``) serve it.
    """
    reference = mapping(benchmark, "spec", "endpoint", "inferenceService")
    name, namespace = text(reference, "name"), text(reference, "namespace")
    service = view.get(Kind("ome.io", "InferenceService"), namespace, name) if name else None
    if service is None:
        return False
    chosen = text(service, "spec", "runtime", "name")
    runtime = find_runtime(view, namespace, chosen) if chosen else None
    runners = [mapping(service, "spec", "engine", "runner")]
    if runtime is not None:
        runners.append(mapping(base_of(mapping(runtime.object, "spec"), "engine"), "runner"))
    words = [text(runner, "image") for runner in runners]
    words += [word for runner in runners for key in ("command", "args") for word in texts(runner, key)]
    if not any(words):
        return not chosen.startswith(("vllm-", "srt-"))
    return any("vllm" in word.lower() for word in words) and not any("vllm-model" in word for word in words)


def _base(weight: dict[str, Any], view: ClusterView) -> bool:
    name, namespace = (text(weight, "spec", "baseModelRef", key) for key in ("name", "namespace"))
    return bool(name) and find_model(view, namespace, name) is not None


_PARTS: Final = ("engine", "decoder", "engineConfig", "decoderConfig")
_PODS: Final = (
    ("spec",),
    *(("spec", part) for part in ("router", "predictor", "routerConfig", "workers", "podOverride")),
    *(("spec", part, *below) for part in _PARTS for below in ((), ("leader",), ("worker",))),
    ("spec", "predictor", "workerSpec"),
)
_CLAIMS: Final = Fact(_claims, MISSING_CLAIMS)
_FOUND: Final = {"found": BOOLEAN, "kind": STRING, "disabled": BOOLEAN}
_FITTING: Final = fields(
    **_FOUND,
    incompatible=STRING,
    unsized=BOOLEAN,
    engineWorkers=BOOLEAN,
    decoderWorkers=BOOLEAN,
)
_BEHAVIOUR: Final = Fact(_behaviour, STRING, configurable=True, constant=True)
_OF_SPEC: Final = {
    "behaviour": _BEHAVIOUR,
    "claims": _CLAIMS,
    "versions": Fact(lambda obj, _: unreadable_versions(at(obj, "spec")), NAMES),
    "sizes": Fact(lambda obj, _: unreadable_sizes(at(obj, "spec")), STRINGS),
}
_MODEL: Final = {**_OF_SPEC, "storage": _storage_of("spec", "storage")}
_RUNTIME: Final = {
    **_OF_SPEC,
    "fitsNothing": Fact(lambda obj, _: fits_nothing(at(obj, "spec")), BOOLEAN),
    "configuration": Fact(lambda obj, _: configuration_error(at(obj, "spec")), STRING),
    "priorities": Fact(priority_conflict, STRING, configurable=True),
    "conflict": Fact(same_priority, STRING),
    "overlaps": Fact(overlaps, STRINGS),
    "pods": Fact(lambda obj, _: pods_of_runtime(obj), PODS),
    "strayVersions": Fact(lambda obj, _: stray_versions(at(obj, "spec")), NAMES),
}

FACTS: Final[Mapping[str, Mapping[str, Fact]]] = {
    "BaseModel": _MODEL,
    "ClusterBaseModel": _MODEL,
    "FineTunedWeight": {
        "behaviour": _BEHAVIOUR,
        "claims": _CLAIMS,
        "storage": _storage_of("spec", "storage"),
        "base": Fact(_base, BOOLEAN),
    },
    "ServingRuntime": _RUNTIME,
    "ClusterServingRuntime": _RUNTIME,
    "InferenceService": {
        "behaviour": _BEHAVIOUR,
        "claims": _CLAIMS,
        "deployment": Fact(_deployment, fields(mode=STRING, error=STRING), configurable=True),
        "predictorUsed": Fact(lambda obj, _: predictor_used(obj), BOOLEAN),
        "migration": Fact(_migration, fields(error=STRING), configurable=True),
        "fullRunner": Fact(lambda obj, _: has_full_runner(obj), BOOLEAN),
        "model": Fact(_model, fields(**_FOUND), configurable=True),
        "runtime": Fact(_runtime, _FITTING, configurable=True),
        "runtimePods": Fact(_pods, fields(known=BOOLEAN, leaders=BOOLEAN, ports=BOOLEAN), configurable=True),
        "storedRuntime": Fact(_runtime, _FITTING, configurable=True, stored=True),
        "selection": Fact(
            _selection,
            fields(
                name=STRING, kind=STRING, score=INTEGER, count=INTEGER, ties=STRINGS, awaits=STRING, candidates=STRINGS
            ),
            configurable=True,
        ),
        "refusal": Fact(_refusal, STRING, configurable=True),
        "made": Fact(_made, MADE, configurable=True, sparse=True),
        "weights": Fact(_weights, fields(missing=STRINGS, other=STRINGS, disabled=STRINGS)),
        "misspelt": Fact(lambda obj, _: misspelt(obj), TEXTS),
        "withoutReplicas": Fact(_without_replicas, STRINGS),
        "thresholds": Fact(_thresholds, STRINGS),
        "query": Fact(lambda obj, _: query_error(text(obj, "spec", "kedaConfig", "customPromQuery")), STRING),
        "addresses": Fact(_addresses, TEXTS),
    },
    "BenchmarkJob": {
        "behaviour": _BEHAVIOUR,
        "claims": _CLAIMS,
        "scenario": Fact(_scenario, STRING, configurable=True),
        "temperature": Fact(_temperature, fields(error=STRING, high=BOOLEAN)),
        "output": _storage_of("spec", "outputLocation"),
        "dataset": _storage_of("spec", "dataset"),
        "service": _referred("InferenceService", "spec", "endpoint", "inferenceService"),
        "misnamed": Fact(_misnamed, BOOLEAN),
        "job": Fact(job, JOB),
    },
}
