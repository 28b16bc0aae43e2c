"""A real ``modelgate serve`` on one core, with certificates of its own, in a memory group where there is one."""

from __future__ import annotations

import contextlib
import http.client
import os
import socket
import ssl
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from certs.authority import Authority
from certs.issue import issue
from certs.names import LOCAL
from tests.hostile import processes
from tests.hostile.cgroup import MemoryGroup
from tests.shared import ROOT

START_SECONDS = 60.0


@dataclass(frozen=True)
class Gate:
    """A gate that answers."""

    process: subprocess.Popen[bytes]
    folder: Path
    port: int
    group: MemoryGroup | None

    @property
    def pid(self) -> int:
        return self.process.pid

    @property
    def authority_file(self) -> Path:
        return self.folder / "ca.crt"

    def context(self) -> ssl.SSLContext:
        return ssl.create_default_context(cafile=self.authority_file)

    def connection(self, timeout: float = 40) -> http.client.HTTPSConnection:
        return http.client.HTTPSConnection("localhost", self.port, context=self.context(), timeout=timeout)

    def get(self, path: str) -> tuple[int, str]:
        with contextlib.closing(self.connection()) as connection:
            connection.request("GET", path)
            response = connection.getresponse()
            return response.status, response.read().decode()

    def post(self, path: str, body: bytes) -> tuple[int, bytes]:
        with contextlib.closing(self.connection()) as connection:
            connection.request("POST", path, body, {"Content-Type": "application/json"})
            response = connection.getresponse()
            return response.status, response.read()

    def counter(self, name: str, label: str = "") -> float:
        """The sum of the samples of a metric whose labels contain a text."""
        lines = (line for line in self.get("/metrics")[1].splitlines() if line.startswith(f"{name}{{"))
        return sum(float(line.rpartition(" ")[2]) for line in lines if label in line)

    def log(self) -> str:
        return (self.folder / "log").read_text(errors="replace")

    def ended(self) -> int | None:
        """The exit code of a gate that has ended."""
        return self.process.poll()


@contextlib.contextmanager
def serving(*flags: str, group: MemoryGroup | None = None, checkout: Path = ROOT, **environment: str) -> Iterator[Gate]:
    """A gate with these flags, from this or from another checkout."""
    with tempfile.TemporaryDirectory(prefix="modelgate-hostile-") as name, contextlib.ExitStack() as stack:
        folder, port = _prepared(Path(name))
        command = [sys.executable, "-m", "webhook", "serve", "--port", str(port), "--tls-dir", name]
        command += ["--drain-seconds", "0", *flags]
        log = stack.enter_context((folder / "log").open("wb"))
        process = subprocess.Popen(
            group.command(command) if group else command,
            cwd=checkout,
            stdout=log,
            stderr=log,
            env={**os.environ, "PYTHONPATH": str(checkout), **environment},
        )
        stack.callback(_stop, process)
        os.sched_setaffinity(process.pid, {processes.cores()[0]})
        gate = Gate(process, folder, port, group)
        wait_until(lambda: _is_ready(gate), START_SECONDS, "the gate is ready")
        yield gate


def wait_until(condition: Callable[[], bool], seconds: float, what: str) -> float:
    """Seconds until a condition holds.

    Raises:
        TimeoutError: it does not.
    """
    started = time.monotonic()
    while not condition():
        if time.monotonic() > started + seconds:
            raise TimeoutError(f"waited {seconds:g}s until {what}")
        time.sleep(0.05)
    return time.monotonic() - started


def _prepared(folder: Path) -> tuple[Path, int]:
    now = datetime.now(UTC)
    issue(folder, Authority.create(now), LOCAL, now)
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return folder, probe.getsockname()[1]


def _is_ready(gate: Gate) -> bool:
    assert gate.ended() is None, gate.log()
    with contextlib.suppress(OSError, http.client.HTTPException):
        return gate.get("/readyz")[0] == 200
    return False


def _stop(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(20)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
