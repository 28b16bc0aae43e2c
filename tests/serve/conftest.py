"""A gate in a process of its own, on loopback, with certificates from our own CA."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import socket
import ssl
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

import pytest

from certs.authority import Authority
from certs.keeper import Keeper
from certs.names import LOCAL
from certs.store import DirectoryStore
from tests.threads import beside

Seen = TypeVar("Seen")


@dataclass(frozen=True)
class Served:
    """A running gate, and how to speak to it."""

    process: subprocess.Popen[bytes]
    folder: Path
    port: int
    authority: Authority
    health_port: int = 0
    health_tls: bool = False

    def context(self) -> ssl.SSLContext:
        return ssl.create_default_context(cafile=self.folder / "ca.crt")

    def connection(self) -> http.client.HTTPSConnection:
        return http.client.HTTPSConnection("localhost", self.port, context=self.context(), timeout=20)

    def health(self) -> http.client.HTTPConnection:
        """A connection to the port of health and metrics."""
        port = self.health_port or self.port
        if self.health_port and not self.health_tls:
            return http.client.HTTPConnection("localhost", port, timeout=20)
        return http.client.HTTPSConnection("localhost", port, context=self.context(), timeout=20)

    def get(self, path: str) -> tuple[int, str]:
        """An answer to a probe."""
        with contextlib.closing(self.health()) as connection:
            connection.request("GET", path)
            response = connection.getresponse()
            return response.status, response.read().decode()

    def log(self) -> str:
        return (self.folder / "log").read_text()


def until(condition: Callable[[], bool], what: str, seconds: float = 20) -> None:
    """Wait for a condition; the deadline is for a broken program, not for a slow one."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"gave up waiting until {what}"
        time.sleep(0.02)


@contextlib.contextmanager
def asked_all_the_time(served: Served, payload: bytes | str, said: Callable[[Any], Seen]) -> Iterator[list[Seen]]:
    """Four callers that validate without a pause; what each answer said. All of them must be answers."""
    stop = threading.Event()
    seen: list[Seen] = []
    failures: list[Any] = []

    def caller(_: int) -> None:
        with contextlib.closing(served.connection()) as connection:
            while not stop.is_set():
                connection.request("POST", "/validate?timeout=5s", payload, {"Content-Type": "application/json"})
                response = connection.getresponse()
                text = response.read()
                if response.status == 200:
                    seen.append(said(json.loads(text)["response"]))
                else:
                    failures.append((response.status, text))

    with beside(stop, caller, 4):
        until(lambda: len(seen) > 50, "requests are answered")
        yield seen
    assert failures == []


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Callable[..., Served]]:
    """Starts a gate with the given flags."""
    with contextlib.ExitStack() as stack:

        def start(*flags: str, **environment: str) -> Served:
            now = datetime.now(UTC)
            issuer = Keeper(tmp_path, LOCAL, DirectoryStore(tmp_path / "ca"), lambda: now).look().state.signer.authority
            with socket.create_server(("127.0.0.1", 0)) as probe:
                port = probe.getsockname()[1]
            command = [
                sys.executable,
                "-m",
                "webhook",
                "serve",
                "--port",
                str(port),
                "--tls-dir",
                str(tmp_path),
                *flags,
            ]
            log = stack.enter_context((tmp_path / "log").open("wb"))
            process = stack.enter_context(
                subprocess.Popen(command, stdout=log, stderr=log, env={**os.environ, **environment})
            )
            stack.callback(process.kill)
            health = int(environment.get("MODELGATE_HEALTH_PORT", "0"))
            served = Served(process, tmp_path, port, issuer, health, "MODELGATE_HEALTH_TLS" in environment)

            def ready() -> bool:
                assert process.poll() is None, served.log()
                with contextlib.suppress(OSError):
                    return served.get("/readyz")[0] == 200
                return False

            until(ready, "the gate is ready", 60)  # a start takes a second of CPU time, which others may use
            return served

        yield start
