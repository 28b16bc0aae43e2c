"""A real server over TLS: requests per second, latency and CPU at 1 to 50 connections, for three sizes of object.

The server is held to one core and the load to the other. What to quote is the median of the rounds, and the server's
own CPU time per request, which does not depend on what else the machine does.
"""

from __future__ import annotations

import asyncio
import os
import socket
import ssl
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from certs.keeper import Keeper
from certs.names import LOCAL
from certs.store import DirectoryStore
from tests.bench.objects import body, normalised, sized, sparse
from tests.bench.report import Row, Table
from tests.bench.timing import cpu_of, memory_of
from webhook import catalog

CONNECTIONS = (1, 10, 25, 50)
SIZES = {"2 KB": 2_000, "15 KB": 15_000, "256 KB": 256_000}
REVIEWS = 100
ROUNDS = 3
COLUMNS = ("requests/s", "p50 ms", "p99 ms", "CPU µs/request")


class Serving(NamedTuple):
    """A running server, and how long it took until it was ready, in seconds."""

    pid: int
    port: int
    context: ssl.SSLContext
    ready: float
    cpu: float


@contextmanager
def serving(*flags: str) -> Iterator[Serving]:
    """``modelgate serve`` on the first core, while this process keeps to the last."""
    cores = sorted(os.sched_getaffinity(0))
    with tempfile.TemporaryDirectory(prefix="modelgate-bench-") as name:
        folder = Path(name)
        now = datetime.now(UTC)
        Keeper(folder, LOCAL, DirectoryStore(folder / "ca"), lambda: now).look()
        with socket.create_server(("127.0.0.1", 0)) as probe:
            port = probe.getsockname()[1]
        command = [sys.executable, "-m", "webhook", "serve", "--port", str(port), "--tls-dir", name, *flags]
        context = ssl.create_default_context(cafile=folder / "ca.crt")
        started = time.perf_counter()
        with subprocess.Popen([*command, "--drain-seconds", "0"], stderr=subprocess.DEVNULL) as server:
            try:
                os.sched_setaffinity(server.pid, {cores[0]})
                os.sched_setaffinity(0, {cores[-1]})
                asyncio.run(_ready(port, context))
                yield Serving(server.pid, port, context, time.perf_counter() - started, cpu_of(server.pid))
            finally:
                server.terminate()
                os.sched_setaffinity(0, cores)


async def _ready(port: int, context: ssl.SSLContext) -> None:
    reader, writer = await _connect(port, context)
    for _ in range(2000):
        writer.write(b"GET /readyz HTTP/1.1\r\nHost: localhost\r\n\r\n")
        code, _ = await _answer(reader)
        if code == 200:
            writer.close()
            return
        await asyncio.sleep(0.01)
    raise TimeoutError("the server is not ready")


async def _connect(port: int, context: ssl.SSLContext) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    for _ in range(3000):
        try:
            return await asyncio.open_connection("localhost", port, ssl=context)
        except OSError:
            await asyncio.sleep(0.01)
    raise TimeoutError("the server does not listen")


async def _answer(reader: asyncio.StreamReader) -> tuple[int, bytes]:
    head = await reader.readuntil(b"\r\n\r\n")
    length = int(head.lower().split(b"content-length:")[1].split(b"\r\n")[0])
    return int(head.split(b" ", 2)[1]), await reader.readexactly(length)


async def a_round(
    server: Serving, path: str, payloads: Sequence[bytes], requests: int, connections: int
) -> tuple[float, float, float, float]:
    """Requests per second, median and 99th percentile in ms, and µs of CPU per request, in a closed loop."""
    head = f"POST {path}?timeout=5s HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    sent = [f"{head}Content-Length: {len(each)}\r\n\r\n".encode() + each for each in payloads]
    latencies: list[float] = []

    async def client(first: int) -> None:
        reader, writer = await _connect(server.port, server.context)
        for number in range(first, first + requests // connections):
            started = time.perf_counter()
            writer.write(sent[number % len(sent)])
            code, reply = await _answer(reader)
            assert code == 200, reply
            latencies.append(time.perf_counter() - started)
        writer.close()
        await writer.wait_closed()

    cpu, started = cpu_of(server.pid), time.perf_counter()
    await asyncio.gather(*(client(each * 7) for each in range(connections)))
    seconds = time.perf_counter() - started
    latencies.sort()
    count = len(latencies)
    used = (cpu_of(server.pid) - cpu) / count * 1e6
    return count / seconds, latencies[count // 2] * 1e3, latencies[count * 99 // 100] * 1e3, used


def _rows(server: Serving, name: str, path: str, payloads: Sequence[bytes], requests: int) -> Iterator[Row]:
    for connections in CONNECTIONS if len(payloads[0]) < 10**5 else CONNECTIONS[:2]:
        count = max(requests, connections * 4)
        rounds = [asyncio.run(a_round(server, path, payloads, count, connections)) for _ in range(ROUNDS + 1)][1:]
        cells = dict(zip(COLUMNS, map(list, zip(*rounds, strict=True)), strict=True))
        yield Row(f"{path} {name}, {connections} connection{'s' if connections > 1 else ''}", cells)


def tables(*, quick: bool = False) -> list[Table]:
    loaded = catalog.load()
    subjects = {"sparse Model": [body(sparse(number), number) for number in range(REVIEWS)]}
    subjects |= {
        f"full Model of {name}": [body(sized(size, each), each) for each in range(REVIEWS if size < 10**5 else 20)]
        for name, size in SIZES.items()
    }
    note = (
        f"Over TLS with kept-alive connections, the server on one core and the load on another; {REVIEWS} different "
        f"reviews in turn, median of {ROUNDS} rounds. validate gets what mutate of another replica has answered, so it "
        "computes the stamps again. Large reviews are judged in processes of their own, and of many at once some are "
        "refused: they are sent over 1 and 10 connections only."
    )
    table = Table("Server", note, COLUMNS)
    memory = Table("Memory of the server", "RSS in MiB.", ("MiB",))
    with serving() as server:
        memory.rows.append(Row("ready, idle", {"MiB": [memory_of(server.pid)]}))
        for name, raw in subjects.items():
            requests = (200 if quick else 3000) // (10 if "256" in name else 1)
            table.rows.extend(_rows(server, name, "/mutate", raw, requests))
            table.rows.extend(_rows(server, name, "/validate", [normalised(each, loaded) for each in raw], requests))
        memory.rows.append(Row("after the load", {"MiB": [memory_of(server.pid)]}))
    return [table, memory]
