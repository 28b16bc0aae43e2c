"""``python -m tests.fuzz.framing -n N``: raw bytes into the HTTP protocol of the server, over a transport in memory.

Requests of all framings (length, chunked, pipelined, absolute form) are mutated, cut into pieces and sent. The server
answers or closes, raises nothing, and holds neither a connection nor a task once the peer is gone. Never a 500.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import logging
import random
import re
import sys
from collections import Counter
from typing import Any

import uvicorn
from starlette.types import ASGIApp
from uvicorn.server import ServerState

from webhook.catalog import Catalog, Kinds
from webhook.serve.app import application
from webhook.serve.gate import Gate
from webhook.serve.http.connection import Connection

STATUS = re.compile(rb"HTTP/1\.1 (\d{3}) ")
TURNS = 200
"""Turns of the event loop that an answer may take, and a task that has lost its peer."""

API = {"group": "apps", "version": "v1"}
OBJECT = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}}
REQUEST = {
    "uid": "1",
    "kind": {**API, "kind": "Deployment"},
    "resource": {**API, "resource": "deployments"},
    "operation": "CREATE",
    "object": OBJECT,
}
BODY = json.dumps({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": REQUEST}).encode()
JSON_TYPE = b"Content-Type: application/json\r\n"
LENGTH = (
    b"POST /validate?timeout=5s HTTP/1.1\r\nHost: g\r\n" + JSON_TYPE + b"Content-Length: %d\r\n\r\n" % len(BODY) + BODY
)
CHUNKED = (
    b"POST /mutate HTTP/1.1\r\nHost: g\r\n" + JSON_TYPE + b"Transfer-Encoding: chunked\r\n\r\n"
    + b"%x\r\n%s\r\n0\r\n\r\n" % (len(BODY), BODY)
)  # fmt: skip
GET = b"GET /healthz HTTP/1.1\r\nHost: g\r\n\r\n"
SEEDS = (
    *(LENGTH, CHUNKED, GET, LENGTH + GET, GET * 5, GET + CHUNKED + LENGTH),
    GET.replace(b"/healthz", b"https://g/healthz"),
    GET.replace(b"\r\n\r\n", b"\r\nExpect: 100-continue\r\n\r\n"),
    LENGTH.replace(b"Host", b"Connection: close\r\nHost"),
    CHUNKED[:-2] + b"Trailer: a\r\n\r\n",
)
PIECES = (
    *(b"\r\n", b"\n", b"\r", b"\x00", b"\xff", b" ", b"\t", b":", b";", b",", b"0\r\n\r\n", b"\r\n\r\n", b"HTTP/2.0"),
    *(b"HTTP/0.9", b"Content-Length: 0\r\n", b"Content-Length: -1\r\n", b"Content-Length: 99999999999999999999\r\n"),
    *(b"Transfer-Encoding: chunked\r\n", b"Transfer-Encoding: gzip, chunked\r\n", b"Upgrade: websocket\r\n"),
    *(b"Connection: upgrade\r\nUpgrade: h2c\r\n", b"Connection: close\r\n", b"Expect: 100-continue\r\n"),
    b"CONNECT g:1 ",
    *(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", b"ffffffffffffffff\r\n", b"\x16\x03\x01\x02\x00", b"?timeout=%00"),
    *(b"X: \r\n y\r\n",),
    *(b"a" * 5000, b"X-A: " + b"b" * 70_000 + b"\r\n", b"%2e%2e/", b"POST ", b"*"),
)  # fmt: skip


class Peer(asyncio.Transport):
    """The other end of a connection: keeps what is written, and notes that it was closed."""

    def __init__(self) -> None:
        super().__init__({"peername": ("127.0.0.1", 1), "sockname": ("127.0.0.1", 2)})
        self.received = bytearray()
        self.closed = False

    def write(self, data: Any) -> None:
        self.received += data

    def is_closing(self) -> bool:
        return self.closed

    def close(self) -> None:
        self.closed = True

    abort = close

    def get_write_buffer_size(self) -> int:
        return 0

    def pause_reading(self) -> None: ...

    def resume_reading(self) -> None: ...

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None: ...


class Server:
    """The protocol's surroundings, as uvicorn makes them."""

    def __init__(self, app: ASGIApp) -> None:
        self.config = uvicorn.Config(app, http=Connection, ws="none", log_config=None, server_header=False)
        self.config.load()
        self.state = ServerState()
        self.raised: list[str] = []
        asyncio.get_running_loop().set_exception_handler(self._note)

    def _note(self, _loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        self.raised.append(repr(context.get("exception") or context["message"]))

    async def outcome(self, pieces: list[bytes]) -> str:
        """What became of a connection over which these pieces came."""
        peer, protocol = Peer(), Connection(config=self.config, server_state=self.state, app_state={})
        protocol.connection_made(peer)
        for piece in pieces:
            if peer.closed:
                break
            protocol.data_received(piece)
            await asyncio.sleep(0)
        await self._until(lambda: peer.closed or (bool(peer.received) and not self.state.tasks))
        seen = self._seen(peer)
        protocol.connection_lost(None)
        await self._until(lambda: not self.state.tasks)
        if self.state.connections or self.state.tasks:
            self.state = ServerState()
            return "DEFECT left behind"
        return f"DEFECT raised {self.raised.pop()}" if self.raised else seen

    async def _until(self, condition: Any) -> None:
        for _ in range(TURNS):
            if condition():
                return
            await asyncio.sleep(0)

    def _seen(self, peer: Peer) -> str:
        statuses = STATUS.findall(bytes(peer.received))
        if b"500" in statuses or (peer.received and not statuses):
            return f"DEFECT {bytes(peer.received)[:60]!r}"
        return "answered" if statuses else "closed" if peer.closed else "waits for more"


def mutated(dice: random.Random) -> list[bytes]:
    """A connection's bytes, changed in up to four places, in up to six pieces."""
    raw = dice.choice(SEEDS)
    for _ in range(dice.randint(0, 4)):
        start, length = dice.randrange(len(raw) + 1), dice.choice((0, 0, 1, 1, 2, 10, 200))
        inserted = dice.choice((dice.choice(PIECES), dice.randbytes(dice.randint(0, 4)), raw[start : start + 30]))
        raw = raw[:start] + inserted + raw[start + length :]
    cuts = sorted(dice.randrange(len(raw) + 1) for _ in range(dice.randint(0, 5)))
    return [raw[start:end] for start, end in zip([0, *cuts], [*cuts, len(raw)], strict=True) if end > start]


async def run(seeds: range, app: ASGIApp) -> Counter[str]:
    """The outcomes; each defect is printed with its seed."""
    server, counts = Server(app), Counter[str]()
    for seed in seeds:
        try:
            outcome = await server.outcome(mutated(random.Random(seed)))
        except Exception as error:  # noqa: BLE001 - what is looked for
            outcome = f"DEFECT {error!r:.200}"
        if outcome.startswith("DEFECT"):
            print(f"seed {seed}: {outcome}", flush=True)
        counts[outcome] += 1
    return counts


def main(argv: list[str] | None = None) -> int:
    """Run, print each defect and the counts; 1 where there was one."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz.framing", description=main.__doc__)
    parser.add_argument("-n", type=int, default=20_000, help="how many connections")
    parser.add_argument("--seed", type=int, default=0, help="the first seed")
    options = parser.parse_args(argv)
    levels = {log: log.level for log in map(logging.getLogger, ("modelgate", "uvicorn.error"))}
    for log in levels:
        log.setLevel(logging.CRITICAL)
    try:
        app = application(Gate(catalog=Catalog(Kinds({}), "digest")))
        counts = asyncio.run(run(range(options.seed, options.seed + options.n), app))
    finally:
        for log, level in levels.items():
            log.setLevel(level)
    print(f"{options.n} connections: {dict(sorted(counts.items()))}")
    return int(any(outcome.startswith("DEFECT") for outcome in counts))


if __name__ == "__main__":
    sys.exit(main())
