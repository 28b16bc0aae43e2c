"""A gate in a process of its own, on loopback, with certificates from our own CA."""

from __future__ import annotations

import contextlib
import http.client
import os
import socket
import ssl
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import pytest

from certs.authority import Authority
from certs.issue import issue
from certs.names import LOCAL
from certs.store import DirectoryStore, authority


@dataclass(frozen=True)
class Served:
    """A running gate, and how to speak to it."""

    process: subprocess.Popen[bytes]
    folder: Path
    port: int
    authority: Authority

    def context(self) -> ssl.SSLContext:
        return ssl.create_default_context(cafile=self.folder / "ca.crt")

    def connection(self) -> http.client.HTTPSConnection:
        return http.client.HTTPSConnection("localhost", self.port, context=self.context(), timeout=20)

    def get(self, path: str) -> tuple[int, str]:
        with contextlib.closing(self.connection()) as connection:
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


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Callable[..., Served]]:
    """Starts a gate with the given flags."""
    with contextlib.ExitStack() as stack:

        def start(*flags: str, **environment: str) -> Served:
            now = datetime.now(UTC)
            issuer = authority(DirectoryStore(tmp_path / "ca"), now)
            issue(tmp_path, issuer, LOCAL, now)
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
            served = Served(process, tmp_path, port, issuer)

            def ready() -> bool:
                assert process.poll() is None, served.log()
                with contextlib.suppress(OSError):
                    return served.get("/readyz")[0] == 200
                return False

            until(ready, "the gate is ready")
            return served

        yield start
