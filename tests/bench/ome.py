"""An InferenceService among 200 runtimes and 200 models: microseconds of normalising and validating it.

A service that names no runtime has one chosen; where none is for its model, the answer says of each why not.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from tests.bench.report import Row, Table
from webhook import catalog, engine
from webhook.admission.decision import GroupVersionKind, Request
from webhook.cluster import MemoryView

COUNT = 200
CALLS = 1000
ARCHITECTURES = (
    "LlamaForCausalLM",
    "Qwen2ForCausalLM",
    "MistralForCausalLM",
    "DeepseekV3ForCausalLM",
    "Phi3ForCausalLM",
)
SERVICE = GroupVersionKind("ome.io", "v1beta1", "InferenceService")

Json = dict[str, Any]


def document(kind: str, name: str, spec: Json) -> Json:
    namespaced = {} if kind.startswith("Cluster") else {"namespace": "inference"}
    return {"apiVersion": "ome.io/v1beta1", "kind": kind, "metadata": {"name": name, **namespaced}, "spec": spec}


def format_of(index: int) -> Json:
    """What a model of this number is: five architectures, ten versions of the framework, two quantizations."""
    return {
        "modelFormat": {"name": "safetensors", "version": "1.0.0"},
        "modelFramework": {"name": "transformers", "version": f"4.{40 + index // 5 % 10}.0"},
        "modelArchitecture": ARCHITECTURES[index % 5],
        **({"quantization": "fp8"} if index % 100 >= 50 else {}),
    }


def models() -> list[Json]:
    storage = {"storageUri": "hf://example/model", "path": "/raid/models/example"}
    return [
        document(
            "ClusterBaseModel",
            f"model-{index}",
            {**format_of(index), "modelParameterSize": f"{1 + index // 2}B", "storage": storage},
        )
        for index in range(COUNT)
    ]


def runtimes() -> list[Json]:
    """Two for each kind of model, one for small ones and one for large ones, as the ones that upstream ships."""
    runner = {"name": "ome-container", "image": "example.com/sglang:0.5", "args": ["--port", "8080"]}
    found = []
    for index in range(COUNT):
        low, high = ("1B", "60B") if index < COUNT // 2 else ("50B", "110B")
        spec = {
            "supportedModelFormats": [{**format_of(index), "autoSelect": True, "priority": 1 + index % 3}],
            "modelSizeRange": {"min": low, "max": high},
            "protocolVersions": ["openAI"],
            "engineConfig": {"runner": runner},
        }
        found.append(document("ClusterServingRuntime", f"srt-{index}", spec))
    return found


def service(model: str, **spec: Any) -> Json:
    engine_ = {"minReplicas": 1, "labels": {"team": "inference"}}
    return document("InferenceService", "chat", {"model": {"name": model}, "engine": engine_, **spec})


def whole(obj: Json, view: MemoryView, loaded: catalog.Catalog, old: Json | None = None) -> Callable[[], None]:
    """Both calls of one request, as the API server makes them."""
    request = Request(SERVICE, "inferenceservices", "UPDATE" if old else "CREATE", obj, old)

    def run() -> None:
        mutation = engine.mutate(request, loaded, view)
        engine.validate(replace(request, object=mutation.object), loaded, view)

    return run


def rows() -> list[tuple[str, Callable[[], None]]]:
    loaded = catalog.load()
    loaded.prepared(loaded.kinds[SERVICE]).prepare()  # as served
    cluster = models()
    view = MemoryView([*cluster, *runtimes()])
    odd = {**format_of(0), "modelArchitecture": "Unheard", "storage": {"storageUri": "hf://example/odd"}}
    misfit = MemoryView([*cluster, document("ClusterBaseModel", "odd", odd), *runtimes()])
    stored = engine.mutate(Request(SERVICE, "inferenceservices", "CREATE", service("model-7")), loaded, view).object
    assert stored is not None
    assert stored["spec"]["runtime"]["name"] == "srt-7"
    named = {"name": "srt-7", "kind": "ClusterServingRuntime"}
    return [
        ("a runtime is chosen", whole(service("model-7"), view, loaded)),
        ("names its runtime", whole(service("model-7", runtime=named), view, loaded)),
        ("applied again", whole(stored, view, loaded, stored)),
        ("none is for the model", whole(service("odd"), misfit, loaded)),
    ]


def tables(*, quick: bool = False) -> list[Table]:
    note = f"normalise + validate an InferenceService, {COUNT} runtimes and {COUNT} models in view; single calls, warm"
    columns = ("p50 ms", "p99 ms", "CPU p50 ms")
    table = Table("Selection of a runtime", note, columns)
    for name, run in rows():
        run()
        calls = CALLS // 50 if quick else CALLS
        wall, cpu = (sorted(column) for column in zip(*(timed(run) for _ in range(calls)), strict=True))
        found = ([statistics.median(wall)], [wall[calls * 99 // 100]], [statistics.median(cpu)])
        table.rows.append(Row(name, dict(zip(columns, found, strict=True))))
    return [table]


def timed(run: Callable[[], None]) -> tuple[float, float]:
    """Milliseconds on the clock and on the processor: the second does not count those who share it."""
    started, busy = time.perf_counter(), time.thread_time()
    run()
    return (time.perf_counter() - started) * 1e3, (time.thread_time() - busy) * 1e3
