"""The gate behind several replicas' certificates, of which each call sees one over a new TLS connection.

The API server keeps connections open and reuses them: a certificate that it does not trust would hide behind them. A
gate that drains closes each connection after its answer, so here every replica is a real gate that has been told to
stop and drains until the end. A forwarder of bytes stands in front, and draws by lot which replica gets a connection.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import random
import signal
import ssl
import threading
import urllib.error
import urllib.request
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Self

from tests.e2e.client import connected
from tests.e2e.gate import CHECKOUT
from tests.e2e.processes import Process, free_port, wait_until
from tests.e2e.programs import modelgate

_SETTINGS = {"MODELGATE_TLS_POLL_SECONDS": "0.2", "PYTHONPATH": str(CHECKOUT)}
_CHUNK = 65536


class Replica:
    """A gate process with the certificate of one folder, which closes each connection after its answer."""

    def __init__(self, folder: Path) -> None:
        self.port = free_port()
        flags = [f"--port={self.port}", f"--tls-dir={folder}", "--drain-seconds=600"]
        self.process = Process("gate", modelgate("serve", *flags), folder.with_suffix(".log"), _SETTINGS)

    def drain(self) -> None:
        """Wait until it serves, and make it drain."""
        wait_until(lambda: self._status("/healthz") == 200, "the gate to serve", watching=[self.process])
        os.kill(self.process.pid, signal.SIGTERM)
        wait_until(lambda: self._status("/readyz") == 503, "the gate to drain", watching=[self.process])

    def _status(self, path: str) -> int:
        context = ssl._create_unverified_context()
        try:
            with urllib.request.urlopen(f"https://localhost:{self.port}{path}", context=context, timeout=5) as answer:
                return int(answer.status)
        except urllib.error.HTTPError as error:
            return error.code
        except OSError:
            return 0


class Webhook:
    """The replicas behind one port; ``calls`` counts connections, of which each is one handshake and one call."""

    def __init__(self, folders: list[Path]) -> None:
        self.port = free_port()
        self.calls = 0
        self.replicas = [Replica(folder) for folder in folders]
        self._stop = asyncio.Event()
        self._loop = asyncio.new_event_loop()

    def __enter__(self) -> Self:
        for each in self.replicas:
            each.drain()
        started = threading.Event()
        self._thread = threading.Thread(target=self._loop.run_until_complete, args=(self._run(started),))
        self._thread.start()
        assert started.wait(20)
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join()
        self._loop.close()
        for each in self.replicas:
            each.process.kill()

    async def _run(self, started: threading.Event) -> None:
        async with await asyncio.start_server(self._forward, "127.0.0.1", self.port, backlog=1000):
            started.set()
            await self._stop.wait()

    async def _forward(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.calls += 1
        chosen = random.choice(self.replicas)
        inner_reader, inner_writer = await asyncio.open_connection("127.0.0.1", chosen.port)
        await asyncio.gather(_copied(reader, inner_writer), _copied(inner_reader, writer))


async def _copied(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Send all that is read, then close: TLS has no half-closed connections."""
    with contextlib.suppress(ConnectionError):  # one side broke off, and says so itself
        while data := await reader.read(_CHUNK):
            writer.write(data)
            await writer.drain()
    writer.close()


class Callers:
    """Threads that create an object at a steady rate, as a dry run; ``failures`` are the answers that were not 201."""

    def __init__(self, kubeconfig: Path, path: str, body: dict[str, object], *, threads: int, each: float) -> None:
        self._kubeconfig, self._path, self._body = kubeconfig, path, body
        self._pause = 1 / each
        self._stop = threading.Event()
        self.answers: Counter[int] = Counter()
        self.failures: list[object] = []
        self._threads = [threading.Thread(target=self._call) for _ in range(threads)]

    def _call(self) -> None:
        with connected(self._kubeconfig) as client:
            while not self._stop.wait(self._pause):
                reply = client.ask("POST", f"{self._path}?dryRun=All", self._body)
                self.answers[reply.code] += 1
                if reply.code != 201:
                    self.failures.append(reply.body)

    @contextmanager
    def calling(self) -> Iterator[Callers]:
        for each in self._threads:
            each.start()
        try:
            yield self
        finally:
            self._stop.set()
            for each in self._threads:
                each.join()
