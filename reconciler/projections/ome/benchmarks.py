"""The status of a BenchmarkJob, and its Job, which runs genai-bench.

It follows OME, with corrections: a run that has ended is not repeated when its Job is gone, the name of the served
model is that of the engine's own flag, and the additional request parameters are passed on. A dataset is not.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final

from reconciler.guard import trimmed
from reconciler.projection import Controller, Happening, Observed, Projection
from reconciler.projections import kinds
from reconciler.projections.objects import child_of, condition_of, given, job_state, named, new, on_nodes
from reconciler.projections.ome.results import Results, Unsupported, storage_flags
from reconciler.resource import kind_of
from reconciler.say.conditions import timestamp
from webhook.admission import one_line
from webhook.cluster.view import ClusterView
from webhook.facts.ome import find_model, find_runtime, ready_label
from webhook.facts.settings import Settings

CONFIG_MAP: Final = kind_of(kinds.CONFIG_MAPS)
SERVICE: Final = kind_of(kinds.OME_SERVICES)

CONFIG: Final = "benchmarkjob-config"
"""The ConfigMap with the image and resources of the tool, as JSON."""

DEFAULTS: Final = {
    "image": "ghcr.io/sgl-project/genai-bench:0.1.113",
    "cpuRequest": "2",
    "cpuLimit": "2",
    "memoryRequest": "2Gi",
    "memoryLimit": "2Gi",
}
"""What OME ships."""

SERVED: Final = "--served-model-name"
DEFAULT_MODEL: Final = "vllm-model"
"""The model that OME asks for. Its runtimes of vLLM serve each model by this name."""


@dataclass(frozen=True, slots=True)
class Target:
    """What is measured; without ``flags``, ``waits`` says for what the job waits."""

    flags: tuple[str, ...] = ()
    waits: str = ""
    path: str = ""
    """The folder of the model on its nodes, with the tokenizer."""
    label: str = ""
    """The label of the nodes that have it."""


def controller(settings: Settings) -> Controller:
    made = partial(project, settings=settings)
    return Controller(kinds.BENCHMARKS, made, {SERVICE: trimmed}, (kinds.JOBS,))


def project(benchmark: dict[str, Any], observed: Observed, settings: Settings) -> Projection:
    """Status and Job of a BenchmarkJob that has passed the gate."""
    metadata, before = benchmark["metadata"], benchmark.get("status") or {}
    name = named(metadata["name"])
    job = child_of(benchmark, observed.view, kinds.JOBS, name)
    if job is None and before.get("startTime") and before.get("state") in {"Completed", "Failed"}:
        return Projection(before)
    if observed.refused:
        return _result(benchmark, "Failed", observed, failureMessage=f"the Job cannot be created: {observed.refused}")
    if job is not None:
        return _running(benchmark, job, observed)
    try:
        results = storage_flags(benchmark["spec"]["outputLocation"], metadata["namespace"])
    except Unsupported as error:
        return _result(benchmark, "Failed", observed, failureMessage=str(error))
    target = _target(benchmark, observed.view)
    if not target.flags:
        return _result(benchmark, "Pending", observed, details=target.waits)
    wanted = _job(benchmark, name, target, results, _config(observed.view, settings))
    return replace(_result(benchmark, "Pending", observed, details="the Job is being created"), children=(wanted,))


def _running(benchmark: dict[str, Any], job: dict[str, Any], observed: Observed) -> Projection:
    """How far the Job is. It stays as it was created: another measurement is another BenchmarkJob."""
    status = job.get("status") or {}
    times = given(startTime=status.get("startTime"), completionTime=status.get("completionTime"))
    state = {"succeeded": "Completed", "failed": "Failed"}.get(job_state(job), "Running")
    failure = {}
    if state == "Failed":
        why = condition_of(job, "Failed")
        failure["failureMessage"] = why.get("message") or why.get("reason") or "the Job failed; its pod has the log"
        ended = why.get("lastTransitionTime") or timestamp(observed.now)
        times = {"startTime": ended, "completionTime": ended} | times
    projection = _result(benchmark, state, observed, **times, **failure)
    return replace(projection, children=(new(kinds.JOBS, {"name": job["metadata"]["name"]}),))


def _result(benchmark: dict[str, Any], state: str, observed: Observed, **more: str) -> Projection:
    """A status; the time of the last look changes only with the rest, so that nothing is written without need."""
    before = dict(benchmark.get("status") or {})
    last = before.pop("lastReconcileTime", None)
    more = {name: one_line(text) for name, text in more.items()}
    status = {"state": state, **more}
    status["lastReconcileTime"] = last if last and before == status else timestamp(observed.now)
    failed = state == "Failed" and before.get("failureMessage") != more["failureMessage"]
    events = (Happening("Warning", "BenchmarkFailed", more["failureMessage"]),) if failed else ()
    return Projection(status, events=events)


def _target(benchmark: dict[str, Any], view: ClusterView) -> Target:
    endpoint = benchmark["spec"]["endpoint"]
    if (given := endpoint.get("endpoint")) is not None:
        model = ("--api-model-name", given.get("modelName") or "")
        return Target(("--api-backend", given["apiFormat"], "--api-base", given["url"], *model))
    reference = endpoint["inferenceService"]
    where = f"InferenceService {reference['namespace']}/{reference['name']}"
    service = view.get(SERVICE, reference["namespace"], reference["name"])
    if service is None:
        return Target(waits=f"{where} does not exist")
    url = (service.get("status") or {}).get("url")
    if condition_of(service, "Ready").get("status") != "True" or not url:
        return Target(waits=f"{where} is not ready")
    flags = ("--api-backend", "openai", "--api-base", str(url), "--api-model-name", _served(service, view))
    return _with_model(service, view, flags)


def _with_model(service: dict[str, Any], view: ClusterView, flags: tuple[str, ...]) -> Target:
    """The target with the tokenizer of the service's model, on the nodes that have it."""
    reference, namespace = service["spec"].get("model") or {}, service["metadata"]["namespace"]
    model = find_model(view, namespace, reference.get("name", ""), reference.get("kind", ""))
    path = (model.spec.get("storage") or {}).get("path") if model is not None else ""
    if model is None or not path:
        return Target(flags)
    return Target((*flags, "--model-tokenizer", path), path=path, label=ready_label(model))


def _served(service: dict[str, Any], view: ClusterView) -> str:
    """The name by which the engine serves its model, from the flag of the service or of its runtime."""
    spec = service["spec"]
    reference = spec.get("runtime") or {}
    runtime = find_runtime(view, service["metadata"]["namespace"], reference.get("name", ""), reference.get("kind", ""))
    below = runtime.spec if runtime is not None else {}
    parts = (spec.get("engine"), below.get("engineConfig"), below)
    containers = [each for part in parts for each in _containers(part or {})]
    for container in containers:
        arguments = [*(container.get("command") or ()), *(container.get("args") or ())]
        words = " ".join(arguments).replace(f"{SERVED}=", f"{SERVED} ").split()
        if SERVED in words[:-1]:
            name = words[words.index(SERVED) + 1].strip("'\"")
            return name if "{{" not in name and "$" not in name else service["metadata"]["name"]
    return DEFAULT_MODEL


def _containers(part: dict[str, Any]) -> list[dict[str, Any]]:
    runners = [(part.get(each) or {}).get("runner") for each in ("leader", "worker")]
    return [each for each in (part.get("runner"), *runners, *(part.get("containers") or ())) if each]


def _config(view: ClusterView, settings: Settings) -> dict[str, str]:
    """Image and resources of the tool, from the ConfigMap; what it does not say is what OME ships."""
    found = (view.get(CONFIG_MAP, settings.ome_namespace, CONFIG) or {}).get("data") or {}
    said: Any = {}
    for text in found.values():
        try:
            document = json.loads(text)
        except ValueError:
            continue
        inner = document.get("podConfig", document) if isinstance(document, dict) else None
        if isinstance(inner, dict) and isinstance(inner.get("image"), str):
            said = inner
    return {key: str(said.get(key) or value) for key, value in DEFAULTS.items()}


def _job(
    benchmark: dict[str, Any], name: str, target: Target, results: Results, config: dict[str, str]
) -> dict[str, Any]:
    spec, override = benchmark["spec"], benchmark["spec"].get("podOverride") or {}
    mounts = [{"name": "model", "mountPath": target.path, "readOnly": True}] if target.path else []
    volumes = [{"name": "model", "hostPath": {"path": target.path}}] if target.path else []
    nodes = on_nodes(target.label, ["Ready"]) if target.label else {}
    container = {
        "name": "benchmark",
        "image": override.get("image") or config["image"],
        "command": ["genai-bench", "benchmark"],
        "args": [*target.flags, *_flags(benchmark), *results.flags],
        "env": [*_environment(spec, target), *(override.get("env") or ())],
        "resources": override.get("resources") or _resources(config),
        "volumeMounts": [*results.mounts, *(override.get("volumeMounts") or ()), *mounts],
        **given(envFrom=override.get("envFrom")),
    }
    gpus = [{"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}]
    pod = {
        "restartPolicy": "Never",
        "containers": [container],
        "volumes": [*results.volumes, *(override.get("volumes") or ()), *volumes],
        "tolerations": override.get("tolerations") or gpus,
        **given(affinity=override.get("affinity") or nodes, nodeSelector=override.get("nodeSelector")),
    }
    metadata = {"labels": {"benchmark": name}, "annotations": {"logging-forward": "true"}}
    job = {"backoffLimit": 0, "template": {"metadata": metadata, "spec": pod}}
    return new(kinds.JOBS, {"name": name, **metadata}, spec=job)


def _flags(benchmark: dict[str, Any]) -> Iterator[str]:
    spec = benchmark["spec"]
    yield from ("--task", spec["task"])
    yield from ("--max-time-per-run", str(spec["maxTimePerIteration"]))
    yield from ("--max-requests-per-run", str(spec["maxRequestsPerIteration"]))
    for each in spec.get("trafficScenarios") or ():
        yield from ("--traffic-scenario", each)
    for each in spec.get("numConcurrency") or ():
        yield from ("--num-concurrency", str(each))
    if spec.get("additionalRequestParams"):
        yield from ("--additional-request-params", json.dumps(spec["additionalRequestParams"], sort_keys=True))
    said = spec.get("serviceMetadata") or {}
    for key, flag in {"engine": "engine", "version": "version", "gpuType": "gpu-type", "gpuCount": "gpu-count"}.items():
        if key in said:
            yield from (f"--server-{flag}", str(said[key]))
    if spec.get("resultFolderName"):
        yield from ("--experiment-folder-name", spec["resultFolderName"])


def _environment(spec: dict[str, Any], target: Target) -> Iterator[dict[str, Any]]:
    if secret := (spec.get("huggingFaceSecretReference") or {}).get("name"):
        source = {"secretKeyRef": {"name": secret, "key": "token"}}
        yield {"name": "HF_TOKEN", "valueFrom": source}
        yield {"name": "HUGGINGFACE_API_KEY", "valueFrom": source}
    if target.path:
        yield {"name": "MODEL_PATH", "value": target.path}


def _resources(config: dict[str, str]) -> dict[str, Any]:
    return {
        "requests": {"cpu": config["cpuRequest"], "memory": config["memoryRequest"]},
        "limits": {"cpu": config["cpuLimit"], "memory": config["memoryLimit"]},
    }
