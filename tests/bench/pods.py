"""What the verdict about pods costs: a healthy InferenceService of 15 KB, alone and over its runtime, with and without.

Each round measures all ways in turn, in one process.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tests.bench import objects
from tests.bench.ome import document
from tests.bench.report import Row, Table
from tests.bench.stages import REVIEWS, asked, serving
from tests.bench.timing import warm_in_turn
from tests.memories import MEMORIES
from webhook import catalog
from webhook.cluster import MemoryView
from webhook.engine import judgement
from webhook.engine.seen import Judgements
from webhook.serve.gate import Gate

COLUMNS = ("without µs", "seen before µs", "never seen µs")

CONFIG: objects.Json = {
    "volumes": [{"name": "shm", "emptyDir": {"medium": "Memory"}}],
    "tolerations": [{"key": "nvidia.com/gpu", "operator": "Exists"}],
    "runner": {
        "name": "ome-container",
        "image": "example.com/sglang:0.5",
        "ports": [{"name": "http", "containerPort": 8080, "protocol": "TCP"}],
        "readinessProbe": {"httpGet": {"path": "/health", "port": 8080}},
        "env": [{"name": f"OF_RUNTIME_{number}", "value": "x"} for number in range(10)],
        "resources": {"limits": {"cpu": "2"}},
        "volumeMounts": [{"name": "shm", "mountPath": "/dev/shm"}],
    },
}
ROUTER = {"runner": {"name": "router", "image": "example.com/router:0.5"}}
MODEL = document(
    "ClusterBaseModel", "m", {"modelFormat": {"name": "safetensors"}, "storage": {"storageUri": "hf://a/b"}}
)
FORMATS = [{"name": "safetensors", "modelFormat": {"name": "safetensors"}, "autoSelect": True, "priority": 1}]
OVER = {"supportedModelFormats": FORMATS, "engineConfig": CONFIG, "decoderConfig": CONFIG, "routerConfig": ROUTER}
RUNTIME = document("ClusterServingRuntime", "r", OVER)


NAMED = {"runtime": {"name": "r", "kind": "ClusterServingRuntime", "apiGroup": "ome.io"}}


def service(number: int, spec: objects.Json) -> objects.Json:
    """Both components differ, as they do in a cluster."""
    obj = objects.service(number)
    obj["spec"] |= {"decoder": objects.service(number + REVIEWS)["spec"]["decoder"], **spec}
    return obj


def tables(*, quick: bool = False) -> list[Table]:
    loaded, count = catalog.load(), 20 if quick else REVIEWS
    table = Table("Pods", "In process, warm, whole calls of validate: as in the stages.", COLUMNS)
    view = MemoryView([MODEL, RUNTIME])
    for name, spec in (("alone", {}), ("over its runtime", NAMED)):
        raw = [objects.body(service(number, spec), number) for number in range(count)]
        sent = [objects.normalised(each, loaded, view) for each in raw]
        ask = asked(serving(Gate(catalog=loaded, view=view), raw, sent), "validate")
        samples = warm_in_turn([_without(ask), ask, _unseen(ask)], sent)
        cells = dict(zip(COLUMNS, samples, strict=True))
        table.rows.append(Row(f"validate: InferenceService {name}, 15 KB", cells))
    return [table]


def _without(ask: Callable[[bytes], bytes]) -> Callable[[bytes], Any]:
    return _with(ask, [(judgement, "pod_findings"), (judgement, "child_findings")], lambda: lambda *_: None)


def _unseen(ask: Callable[[bytes], bytes]) -> Callable[[bytes], Any]:
    return _with(ask, MEMORIES, Judgements)


def _with(
    ask: Callable[[bytes], bytes], places: Sequence[tuple[Any, str]], made: Callable[[], Any]
) -> Callable[[bytes], Any]:
    """With another value at places in modules. A mock takes 10 µs, so this is none."""
    usual = [getattr(module, name) for module, name in places]

    def reply(raw: bytes) -> bytes:
        for module, name in places:
            setattr(module, name, made())
        try:
            return ask(raw)
        finally:
            for (module, name), value in zip(places, usual, strict=True):
                setattr(module, name, value)

    return reply
