"""A webhook that answers each call over a new TLS connection, with the leaf of any one of several replicas.

The server of the gate keeps connections open, and the API server reuses them: a certificate that it does not trust
would hide behind them. Here each call is a handshake, and the replica that serves it is drawn by lot. Leaves are taken
up by the gate's own :class:`webhook.serve.tls.Certificate`.
"""

from __future__ import annotations

import asyncio
import json
import random
import ssl
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Self

from tests.e2e.client import connected
from tests.e2e.processes import free_port
from webhook.serve.tls import Certificate

_LOOK_SECONDS = 0.2


class Webhook:
    """Allows everything. ``served`` counts the calls by the serial number of the leaf."""

    def __init__(self, folders: list[Path]) -> None:
        self.port = free_port()
        self.calls = 0
        self.replicas = [Certificate(folder) for folder in folders]
        self._stop = asyncio.Event()
        self._loop = asyncio.new_event_loop()

    def __enter__(self) -> Self:
        started = threading.Event()
        self._thread = threading.Thread(target=self._loop.run_until_complete, args=(self._run(started),))
        self._thread.start()
        assert started.wait(20)
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join()
        self._loop.close()

    async def _run(self, started: threading.Event) -> None:
        context = self.replicas[0].context
        context.sni_callback = self._present
        async with await asyncio.start_server(self._answer, "127.0.0.1", self.port, ssl=context, backlog=1000):
            started.set()
            while not self._stop.is_set():
                for each in self.replicas:
                    each.refresh()
                try:
                    await asyncio.wait_for(self._stop.wait(), _LOOK_SECONDS)
                except TimeoutError:
                    continue

    def _present(self, connection: ssl.SSLObject, _name: str | None, _context: ssl.SSLContext) -> None:
        random.choice(self.replicas)._present(connection, None, _context)

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower()
            length = int(head.split("content-length:")[1].split("\r\n")[0])
            review = json.loads(await reader.readexactly(length))
            self.calls += 1
            response = {"uid": review["request"]["uid"], "allowed": True}
            body = json.dumps({"apiVersion": review["apiVersion"], "kind": review["kind"], "response": response})
            head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close\r\n"
            writer.write(f"{head}content-length: {len(body)}\r\n\r\n{body}".encode())
            await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError, ssl.SSLError):
            return  # the client broke off, and says so itself
        finally:
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
