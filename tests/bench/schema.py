"""Defaulting, pruning and validating objects of 2 and 20 KB, against validators of JSON Schema.

Ours does all three; the others only validate, by a schema rewritten for them. Medians of
interleaved rounds, in microseconds, with the ratio to jsonschema-rs.
"""

from __future__ import annotations

import copy
import gc
import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import yaml

from tests.bench.report import Row, Table
from tests.shared import ROOT, SHARED
from webhook.schema import Structural, load_crd

ROUNDS = 9
POLICIES = ROOT / "policies"

MODEL: dict[str, Any] = {
    "apiVersion": "inference.llmkube.dev/v1alpha1",
    "kind": "Model",
    "metadata": {
        "name": "llama-3-8b",
        "namespace": "inference",
        "uid": "5f1c4ac1-6b1c-4a53-9d5e-0b2f3c2d8a11",
        "resourceVersion": "184467",
        "generation": 3,
        "creationTimestamp": "2026-07-01T10:00:00Z",
        "labels": {f"example.com/team-{i}": f"value-{i}" for i in range(6)},
        "annotations": {f"example.com/note-{i}": "a note of some length about this object" for i in range(5)},
    },
    "spec": {
        "source": "https://models.example.com/llama-3-8b/llama-3-8b-instruct.Q4_K_M.gguf",
        "files": ["model-00001-of-00003.gguf", "model-00002-of-00003.gguf", "model-00003-of-00003.gguf"],
        "mmproj": "mmproj-f16.gguf",
        "sha256": "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
        "format": "gguf",
        "quantization": "Q4_K_M",
        "refreshPolicy": "OnChange",
        "hardware": {
            "accelerator": "cuda",
            "memoryBudget": "24Gi",
            "memoryFraction": 0.85,
            "gpu": {
                "enabled": True,
                "count": 2,
                "vendor": "nvidia",
                "layers": -1,
                "memory": "48Gi",
                "tolerationKey": "nvidia.com/gpu",
                "resourceClaims": [
                    {"name": "gpu-0", "resourceClaimTemplateName": "template"},
                    {"name": "gpu-1", "resourceClaimName": "claim"},
                ],
                "sharding": {"strategy": "tensor", "layerSplit": ["16", "16"]},
            },
        },
        "resources": {"cpu": "8", "memory": "32Gi"},
    },
    "status": {
        "phase": "Ready",
        "path": "/models/llama-3-8b",
        "size": "4.9 GiB",
        "cacheKey": "0a1b2c3d4e5f6071",
        "acceleratorReady": True,
        "conditions": [
            {
                "type": kind,
                "status": "True",
                "reason": "AsExpected",
                "message": "everything is as it should be",
                "lastTransitionTime": "2026-07-01T10:00:00Z",
            }
            for kind in ("Available", "Progressing")
        ],
    },
}


def _container(name: str, number: int) -> dict[str, Any]:
    return {
        "name": f"{name}-{number}",
        "image": f"registry.example.com/serving/{name}@sha256:{'ab' * 32}",
        "command": ["python3", "-m", "serving.launch"],
        "args": [f"--option-{i}=value-{i}" for i in range(14)],
        "env": [{"name": f"VARIABLE_{i}", "value": f"a value of the variable {i}"} for i in range(16)]
        + [{"name": "POD_NAME", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}],
        "ports": [{"name": "http", "containerPort": 8080, "protocol": "TCP"}],
        "resources": {
            "limits": {"cpu": "16", "memory": "128Gi", "nvidia.com/gpu": 4},
            "requests": {"cpu": 16, "memory": "128Gi"},
        },
        "volumeMounts": [{"name": f"volume-{i}", "mountPath": f"/mnt/volume-{i}", "readOnly": True} for i in range(4)],
        "readinessProbe": {"httpGet": {"path": "/health", "port": "http"}, "periodSeconds": 10, "failureThreshold": 3},
        "securityContext": {"privileged": False, "runAsNonRoot": True, "capabilities": {"drop": ["ALL"]}},
    }


def _component(name: str) -> dict[str, Any]:
    return {
        "minReplicas": 1,
        "maxReplicas": 4,
        "labels": {"example.com/component": name},
        "nodeSelector": {"example.com/pool": "gpu", "kubernetes.io/arch": "amd64"},
        "tolerations": [
            {"key": f"example.com/taint-{i}", "operator": "Exists", "effect": "NoSchedule"} for i in range(4)
        ],
        "volumes": [{"name": f"volume-{i}", "configMap": {"name": f"config-{i}"}} for i in range(4)],
        "containers": [_container(name, i) for i in range(2)],
        "initContainers": [_container(f"init-{name}", 0)],
    }


SERVICE: dict[str, Any] = {
    "apiVersion": "ome.io/v1beta1",
    "kind": "InferenceService",
    "metadata": {"name": "llama", "namespace": "inference"},
    "spec": {
        "model": {"name": "llama-3-8b", "kind": "ClusterBaseModel"},
        "engine": _component("engine"),
        "decoder": _component("decoder"),
    },
}


COLUMNS = ("µs",)


def tables(*, quick: bool = False) -> list[Table]:
    """One table for each object, then what loading and compiling takes."""
    rounds = 2 if quick else ROUNDS
    model = _compare("Schema: Model of LLMKube", _schema(POLICIES / "llmkube/crds/models.yaml"), MODEL, rounds)
    found = [model]
    ours = POLICIES / "ome/crds/inferenceservices.json"
    theirs = SHARED / "upstream-crds/ome/ome.io_inferenceservices.yaml"
    for path in (ours, theirs):
        if path.exists():
            title = f"Schema: InferenceService of OME, {'our' if path is ours else 'upstream'} CRD"
            found.append(_compare(title, _schema(path), SERVICE, rounds))
    return [*found, _load_times()]


def _schema(path: Path) -> dict[str, Any]:
    crd = yaml.load(path.read_text(), Loader=yaml.CSafeLoader)
    schema: dict[str, Any] = crd["spec"]["versions"][-1]["schema"]["openAPIV3Schema"]
    return schema


def _compare(title: str, raw: dict[str, Any], given: dict[str, Any], rounds: int) -> Table:
    structural = Structural(raw)
    obj, unknown, _ = structural.decode(given)
    size = len(json.dumps(obj, separators=(",", ":")))
    errors = structural.check(obj).errors
    if unknown or errors:
        raise SystemExit(f"{title}: the object of the benchmark is not clean: {unknown} {[*map(str, errors)]}")
    undefaulted = copy.deepcopy(obj)
    _without_defaults(undefaulted, raw)
    broken = copy.deepcopy(obj) | {"spec": {**obj["spec"], "unknownField": 1, "source": 5, "model": 5}}
    runs: dict[str, Callable[[], object]] = {
        "ours: decode, then validate": lambda: structural.check(structural.decode(obj).object),
        "ours: both in one pass": lambda: structural.is_clean(obj),
        "ours: with defaults to fill": lambda: structural.check(structural.decode(undefaulted).object),
        "ours: invalid, all errors": lambda: structural.check(structural.decode(broken).object),
        **dict(_others(raw, obj)),
    }
    table = Table(title, f"{size:,} bytes; one call, warm.", COLUMNS)
    table.rows.extend(Row(name, {COLUMNS[0]: samples}) for name, samples in _measure(runs, rounds).items())
    return table


def _without_defaults(value: Any, raw: dict[str, Any]) -> None:
    """Take away what the schema would fill in."""
    for name, schema in (raw.get("properties") or {}).items():
        if isinstance(value, dict) and name in value:
            if "default" in schema:
                del value[name]
            else:
                _without_defaults(value[name], schema)


def _others(raw: dict[str, Any], obj: dict[str, Any]) -> Iterator[tuple[str, Callable[[], object]]]:
    plain = _json_schema(raw)
    try:
        import jsonschema_rs  # noqa: PLC0415 - the benchmark says which are missing

        fast = jsonschema_rs.Draft4Validator(plain)
        yield "jsonschema-rs is_valid", lambda: fast.is_valid(obj)
        yield "jsonschema-rs iter_errors", lambda: list(fast.iter_errors(obj))
    except ImportError:
        print("  jsonschema-rs is not installed")
    try:
        import jsonschema  # noqa: PLC0415

        slow = jsonschema.Draft4Validator(plain)
        yield "jsonschema is_valid", lambda: slow.is_valid(obj)
    except ImportError:
        print("  jsonschema is not installed")
    try:
        import fastjsonschema  # noqa: PLC0415

        generated = fastjsonschema.compile({"$schema": "http://json-schema.org/draft-04/schema#", **plain})
        yield "fastjsonschema", lambda: generated(obj)
    except ImportError:
        print("  fastjsonschema is not installed")


def _json_schema(raw: Any) -> Any:
    """A structural schema for draft 4: without Kubernetes' extensions, formats and defaults."""
    if isinstance(raw, list):
        return [_json_schema(item) for item in raw]
    if not isinstance(raw, dict):
        return raw
    plain = {
        key: _keyword(key, value) for key, value in raw.items() if not key.startswith("x-") and key not in _DROPPED
    }
    if raw.get("nullable") and "type" in raw:
        plain["type"] = [raw["type"], "null"]
    return plain


_DROPPED = ("nullable", "format", "description", "default")


def _keyword(key: str, value: Any) -> Any:
    if key in ("properties", "patternProperties"):
        return {name: _json_schema(schema) for name, schema in value.items()}
    return value if key in ("enum", "required") else _json_schema(value)


def _measure(runs: dict[str, Callable[[], object]], rounds: int) -> dict[str, list[float]]:
    """Microseconds per call: rounds in turn, so that all see the same machine."""
    counts = {name: _calls(run) for name, run in runs.items()}
    samples: dict[str, list[float]] = {name: [] for name in runs}
    gc.disable()
    for _ in range(rounds):
        for name, run in runs.items():
            start = time.perf_counter()
            for _ in range(counts[name]):
                run()
            samples[name].append((time.perf_counter() - start) / counts[name] * 1e6)
    gc.enable()
    return samples


def _calls(run: Callable[[], object]) -> int:
    """So many calls take about 20 ms."""
    run()
    start = time.perf_counter()
    run()
    return max(1, int(0.02 / (time.perf_counter() - start)))


def _load_times() -> Table:
    columns = ("check ms", "compile ms", "compile the rules ms")
    note = "Checked as the API server does, compiled, and the rules compiled. The server does not check its own again."
    table = Table("Schema: loading CRDs", note, columns)
    total = [0.0, 0.0, 0.0]
    for path in sorted(path for path in POLICIES.glob("*/crds/*") if path.suffix in (".json", ".yaml")):
        crd = yaml.load(path.read_text(), Loader=yaml.CSafeLoader)
        start = time.perf_counter()
        load_crd(crd)
        checked = time.perf_counter()
        schemas = [Structural(v["schema"]["openAPIV3Schema"]) for v in crd["spec"]["versions"]]
        for schema in schemas:
            schema.is_clean  # noqa: B018 - compiled when first used
        compiled = time.perf_counter()
        for schema in schemas:
            schema.rules  # noqa: B018
        ends = (checked - start, compiled - checked, time.perf_counter() - compiled)
        total = [a + b * 1000 for a, b in zip(total, ends, strict=True)]
        table.rows.append(Row(path.stem, {name: [end * 1000] for name, end in zip(columns, ends, strict=True)}))
    table.rows.append(Row("all", {name: [taken] for name, taken in zip(columns, total, strict=True)}))
    return table
