"""The pod of a benchmark: that of its tool, and what the object writes over it.

Source: pkg/controller/v1beta1/benchmark of OME (17b77eda).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from webhook.cluster.view import ClusterView, Kind
from webhook.facts.fact import OPEN, STRINGS, fields
from webhook.facts.nodes import at, items, mapping, namespace_of, text, texts, whole
from webhook.facts.ome.lookup import find_model
from webhook.facts.ome.merging import merged
from webhook.facts.ome.storage import storage_error
from webhook.facts.ome.wiring import ready_label

Json = dict[str, Any]

OUTPUT: Final = "benchmark-output-storage"
TOOL: Final = "genai-bench"
_OF_JOB: Final = ("volumes", "affinity", "nodeSelector", "tolerations")
_OF_TOOL: Final = ("image", "env", "envFrom", "volumeMounts", "resources")
_GPUS: Final = {"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}

JOB: Final = fields(arguments=STRINGS, container=OPEN, pod=OPEN, merged=OPEN)
"""Of a BenchmarkJob: the container of the tool with what the object writes over it, and the pod without containers."""


def job(benchmark: Json, view: ClusterView) -> Json:
    """The pod of a benchmark. What its tool asks of the node is in a ConfigMap, and not known."""
    spec = mapping(benchmark, "spec")
    override = mapping(spec, "podOverride")
    container, pod = _tool(spec), {"tolerations": [_GPUS]}
    _add_model(container, pod, spec, view)
    _add_output(container, pod, spec)
    alone = {"container": container, "pod": pod}
    over = {
        key: {"at": "spec.podOverride", "alone": below, "with": "the pod of the benchmark"}
        for key, below in alone.items()
    }
    container = merged(container, {key: override[key] for key in _OF_TOOL if key in override})
    pod = merged(pod, {key: override[key] for key in _OF_JOB if key in override})
    if _service(spec, view) is None and at(spec, "endpoint", "inferenceService") is not None:
        names = {text(volume, "name") for volume in items(pod, "volumes")}
        unknown = [name for mount in items(container, "volumeMounts") if (name := text(mount, "name")) not in names]
        pod["volumes"] = [*items(pod, "volumes"), *({"name": name, "emptyDir": {}} for name in dict.fromkeys(unknown))]
    return {"arguments": [*_arguments(spec)], "container": container, "pod": pod, "merged": over}


def _tool(spec: Json) -> Json:
    env: list[Json] = [{"name": "ENABLE_UI", "value": "false"}]
    if secret := text(spec, "huggingFaceSecretReference", "name"):
        source = {"secretKeyRef": {"name": secret, "key": "HUGGINGFACE_API_KEY"}}
        env.append({"name": "HUGGINGFACE_API_KEY", "valueFrom": source})
    return {"name": TOOL, "image": "ghcr.io/sgl-project/genai-bench:0.1.113", "env": env}


def _service(spec: Json, view: ClusterView) -> Json | None:
    reference = mapping(spec, "endpoint", "inferenceService")
    name, namespace = text(reference, "name"), text(reference, "namespace")
    return view.get(Kind("ome.io", "InferenceService"), namespace, name) if name else None


def _add_model(container: Json, pod: Json, spec: Json, view: ClusterView) -> None:
    """The model of the service that is measured, which has the tokenizer, on the nodes that have it."""
    service = _service(spec, view)
    name = text(service, "spec", "predictor", "model", "baseModel") or text(service, "spec", "model", "name")
    model = find_model(view, namespace_of(service), name)
    if model is None:
        return
    path = at(model.spec, "storage", "path")
    pod["nodeSelector"] = {ready_label(model): "Ready"}
    if isinstance(path, str):
        pod["volumes"] = [{"name": name, "hostPath": {"path": path}}]
        container["volumeMounts"] = [{"name": name, "mountPath": path, "readOnly": True}]
        container["env"].append({"name": "MODEL_PATH", "value": path})


def _add_output(container: Json, pod: Json, spec: Json) -> None:
    """The volume of the results, if it is a claim."""
    uri = text(spec, "outputLocation", "storageUri")
    if not uri.startswith("pvc://") or storage_error(uri):
        return
    claim, _, folder = uri.removeprefix("pvc://").partition("/")
    source = {"persistentVolumeClaim": {"claimName": claim.rpartition(":")[2]}}
    pod["volumes"] = [*items(pod, "volumes"), {"name": OUTPUT, **source}]
    mount = {"name": OUTPUT, "mountPath": f"/{folder}", "subPath": folder}
    container["volumeMounts"] = [*items(container, "volumeMounts"), mount]


def _arguments(spec: Json) -> Iterator[str]:
    """Those that the object decides: the rest follow from its service and the storage of its results."""
    yield "benchmark"
    endpoint = mapping(spec, "endpoint", "endpoint")
    for key, flag in (("apiFormat", "backend"), ("url", "base"), ("modelName", "model-name")):
        if key in endpoint:
            yield from (f"--api-{flag}", text(endpoint, key))
    yield from ("--task", text(spec, "task"))
    yield from ("--max-time-per-run", str(whole(spec, "maxTimePerIteration") or 0))
    yield from ("--max-requests-per-run", str(whole(spec, "maxRequestsPerIteration") or 0))
    for scenario in texts(spec, "trafficScenarios"):
        yield from ("--traffic-scenario", scenario)
    numbers = at(spec, "numConcurrency")
    for number in numbers if isinstance(numbers, list) else ():
        yield from ("--num-concurrency", str(number))
    if folder := text(spec, "resultFolderName"):
        yield from ("--experiment-folder-name", folder)
