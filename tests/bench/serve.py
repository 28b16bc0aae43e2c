"""Requests per second and latency of a real server over TLS, and the microseconds of each stage.

The server is held to one core and the load to the other. Machines are noisy: what to quote is
the median of the rounds, and the server's own CPU time per request.
"""

from __future__ import annotations

import asyncio
import os
import socket
import ssl
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import orjson

from certs.keeper import Keeper
from certs.names import LOCAL
from certs.store import DirectoryStore
from webhook import engine
from webhook.admission import patch, review
from webhook.cel.program import Budget
from webhook.cluster import MemoryView
from webhook.engine import catalog
from webhook.engine.rules import Subject, validate_rules
from webhook.engine.schema import validate_schema

CONNECTIONS = 10
REQUESTS = 3000
ROUNDS = 3


def model(size: int) -> dict[str, Any]:
    """A Model of about ``size`` bytes, as the API server sends it."""
    metadata: dict[str, Any] = {
        "name": "llama-3-70b",
        "namespace": "inference",
        "uid": "7f3c6c1e-6d0e-4d0c-9a39-0f6f5b1f6a11",
        "creationTimestamp": "2026-01-01T00:00:00Z",
        "generation": 1,
        "labels": {"app.kubernetes.io/name": "llama", "team": "inference"},
        "managedFields": [
            {
                "manager": "kubectl-client-side-apply",
                "operation": "Update",
                "apiVersion": "inference.llmkube.dev/v1alpha1",
                "time": "2026-01-01T00:00:00Z",
                "fieldsType": "FieldsV1",
                "fieldsV1": {"f:spec": {".": {}, "f:source": {}, "f:hardware": {".": {}, "f:gpu": {".": {}}}}},
            }
        ],
    }
    spec = {
        "source": "https://huggingface.co/org/repo/resolve/main/llama-3-70b.Q4_K_M.gguf",
        "format": "gguf",
        "refreshPolicy": "IfNotPresent",
        "quantization": "Q4_K_M",
        "hardware": {
            "accelerator": "cuda",
            "gpu": {
                "enabled": True,
                "count": 4,
                "vendor": "nvidia",
                "memory": "80Gi",
                "layers": -1,
                "sharding": {"strategy": "layer", "layerSplit": ["0-19", "20-39", "40-59", "60-79"]},
            },
        },
        "resources": {"cpu": "8", "memory": "64Gi"},
    }
    obj = {"apiVersion": "inference.llmkube.dev/v1alpha1", "kind": "Model", "metadata": metadata, "spec": spec}
    filler = size - len(orjson.dumps(obj)) - len('"annotations":{"note":""},')
    metadata["annotations"] = {"note": "x" * max(0, filler)}
    return obj


def body(obj: dict[str, Any]) -> bytes:
    api = {"group": "inference.llmkube.dev", "version": "v1alpha1"}
    request = {
        "uid": "705ab4f5-6393-11e8-b7cc-42010a800002",
        "kind": {**api, "kind": "Model"},
        "resource": {**api, "resource": "models"},
        "name": obj["metadata"]["name"],
        "namespace": obj["metadata"]["namespace"],
        "operation": "CREATE",
        "userInfo": {"username": "admin", "groups": ["system:masters"]},
        "object": obj,
        "oldObject": None,
        "dryRun": False,
        "options": {"kind": "CreateOptions", "apiVersion": "meta.k8s.io/v1"},
    }
    return orjson.dumps({"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1", "request": request})


def stages() -> None:
    """Print the median microseconds of each stage of both calls for a 2 KB Model."""
    loaded, view = catalog.load(), MemoryView()
    raw = body(model(2048))
    version, request = review.decode(raw)
    known = loaded.find(request.kind)
    assert known is not None
    assert request.object is not None
    mutation = engine.mutate(request, loaded, view)
    assert mutation.object is not None
    validation = engine.validate(request, loaded, view)
    decoded, _ = known.schema.decode(mutation.object)
    subject = Subject(known, decoded, None)

    def rules() -> None:
        scope = engine.scope_of(known, request, decoded, None, view)
        validate_rules(subject, scope, engine.DEFAULT_OPTIONS)

    rows: list[tuple[str, Callable[[], object]]] = [
        ("decode the review", lambda: review.decode(raw)),
        ("mutate", lambda: engine.mutate(request, loaded, view)),
        ("  schema defaults", lambda: known.schema.default(request.object or {})),
        ("  difference", lambda: patch.diff(request.object, mutation.object)),
        ("encode the patch", lambda: review.encode("mutate", version, request, mutation)),
        ("validate", lambda: engine.validate(request, loaded, view)),
        ("  schema decode", lambda: known.schema.decode(mutation.object or {})),
        ("  schema and its rules", lambda: validate_schema(known, decoded, None, Budget())),
        ("  policy rules", rules),
        ("encode the verdict", lambda: review.encode("validate", version, request, validation)),
    ]
    print(f"stages, a Model of {len(orjson.dumps(request.object))} bytes, {len(known.policy.validations)} rules: µs")
    for name, stage in rows:
        print(f"  {name:24} {median_us(stage):8.1f}")


def median_us(stage: Callable[[], object], rounds: int = 15, calls: int = 100) -> float:
    stage()
    times = []
    for _ in range(rounds):
        started = time.perf_counter()
        for _ in range(calls):
            stage()
        times.append((time.perf_counter() - started) / calls * 1e6)
    return statistics.median(times)


def throughput() -> None:
    """Print requests per second, latency and server CPU of both calls, closed loop over kept-alive connections."""
    with tempfile.TemporaryDirectory(prefix="modelgate-bench-") as name:
        folder = Path(name)
        now = datetime.now(UTC)
        Keeper(folder, LOCAL, DirectoryStore(folder / "ca"), lambda: now).look()
        with socket.create_server(("127.0.0.1", 0)) as probe:
            port = probe.getsockname()[1]
        command = [sys.executable, "-m", "webhook", "serve", "--port", str(port), "--tls-dir", name]
        cores = sorted(os.sched_getaffinity(0))
        with subprocess.Popen([*command, "--drain-seconds", "0"], stderr=subprocess.DEVNULL) as server:
            try:
                os.sched_setaffinity(server.pid, {cores[0]})
                os.sched_setaffinity(0, {cores[-1]})
                asyncio.run(_measure(server.pid, port, ssl.create_default_context(cafile=folder / "ca.crt")))
            finally:
                server.terminate()
                os.sched_setaffinity(0, cores)


async def _measure(pid: int, port: int, context: ssl.SSLContext) -> None:
    payload = body(model(2048))
    print(f"over TLS, {CONNECTIONS} connections, {len(payload)} bytes, server on one core, median of {ROUNDS} rounds")
    print(f"  {'':12}{'requests/s':>12}{'p50 ms':>10}{'p99 ms':>10}{'CPU µs/request':>18}")
    for path in ("/mutate", "/validate"):
        rounds = [await _round(pid, port, context, path, payload) for _ in range(ROUNDS + 1)][1:]
        columns = [statistics.median(column) for column in zip(*rounds, strict=True)]
        print(f"  {path:12}{columns[0]:12.0f}{columns[1]:10.2f}{columns[2]:10.2f}{columns[3]:18.0f}")


async def _round(pid: int, port: int, context: ssl.SSLContext, path: str, payload: bytes) -> tuple[float, ...]:
    head = f"POST {path}?timeout=5s HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    request = f"{head}Content-Length: {len(payload)}\r\n\r\n".encode() + payload
    latencies: list[float] = []

    async def client() -> None:
        reader, writer = await _connect(port, context)
        for _ in range(REQUESTS // CONNECTIONS):
            started = time.perf_counter()
            writer.write(request)
            head = await reader.readuntil(b"\r\n\r\n")
            assert head.startswith(b"HTTP/1.1 200"), head
            length = int(head.lower().split(b"content-length:")[1].split(b"\r\n")[0])
            await reader.readexactly(length)
            latencies.append(time.perf_counter() - started)
        writer.close()
        await writer.wait_closed()

    cpu, started = _cpu(pid), time.perf_counter()
    await asyncio.gather(*(client() for _ in range(CONNECTIONS)))
    seconds = time.perf_counter() - started
    latencies.sort()
    count = len(latencies)
    used = (_cpu(pid) - cpu) / count * 1e6
    return count / seconds, latencies[count // 2] * 1e3, latencies[count * 99 // 100] * 1e3, used


async def _connect(port: int, context: ssl.SSLContext) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    for _ in range(200):
        try:
            return await asyncio.open_connection("localhost", port, ssl=context)
        except OSError:
            await asyncio.sleep(0.1)
    raise TimeoutError("the server does not listen")


def _cpu(pid: int) -> float:
    """Seconds of CPU the process has used, from the scheduler: no matter who else is on the core."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def main() -> None:
    stages()
    throughput()


if __name__ == "__main__":
    main()
