"""Starts: ``modelgate check`` of one file and of many, and the server until it is ready."""

from __future__ import annotations

import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.bench.objects import full, sparse
from tests.bench.report import Row, Table
from tests.bench.server import serving
from tests.bench.timing import memory_of
from webhook.catalog import POLICIES, ship
from webhook.catalog.kept import SHIPPED

ROUNDS = 7
DOCUMENTS = 1000
COLUMNS = ("CPU s", "wall s")


def tables(*, quick: bool = False) -> list[Table]:
    rounds = 2 if quick else ROUNDS
    note = (
        "Byte code is there. The rules of the kind are compiled at each call; the image has them compiled. Medians of "
        "new processes."
    )
    table = Table("Start of the command line", note, COLUMNS)
    with tempfile.TemporaryDirectory(prefix="modelgate-bench-") as name, aside(POLICIES / SHIPPED, Path(name, "kept")):
        folder = Path(name)
        one, many = folder / "one.yaml", folder / "many.yaml"
        one.write_text(_yaml(1))
        many.write_text(_yaml(100 if quick else DOCUMENTS))
        environment = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
        _check(one, environment)  # writes byte code where it may
        installed, shipped, thousand, version = [], [], [], []
        for _ in range(rounds):
            installed.append(_check(one, environment))
            thousand.append(_check(many, environment))
            version.append(_run([sys.executable, "-c", "pass"], environment))
        with compiled():
            _check(one, environment)
            shipped += [_check(one, environment) for _ in range(rounds)]
        named = {
            "an empty program": version,
            "check one.yaml": installed,
            "check one.yaml, in the image": shipped,
        }
        named[f"check of {100 if quick else DOCUMENTS:,} documents"] = thousand
        for text, samples in named.items():
            cells = dict(zip(COLUMNS, map(list, zip(*samples, strict=True)), strict=True))
            table.rows.append(Row(text, cells))
        return [table, _server(rounds)]


@contextmanager
def aside(folder: Path, place: Path) -> Iterator[None]:
    """A folder that a checkout may have is somewhere else for a while."""
    if not folder.exists():
        yield
        return
    shutil.move(folder, place)
    try:
        yield
    finally:
        shutil.move(place, folder)


@contextmanager
def compiled() -> Iterator[None]:
    """The built-in policies compiled, as the build of an image leaves them."""
    folder = POLICIES / SHIPPED
    ship()
    try:
        yield
    finally:
        shutil.rmtree(folder)


def _yaml(count: int) -> str:
    """JSON is YAML; one document each."""
    texts = []
    for number in range(count):
        obj = sparse(number) if number % 2 else full(number)
        meta = {key: obj["metadata"][key] for key in ("name", "namespace", "labels")}
        texts.append(json.dumps({**obj, "metadata": meta}, indent=2))
    return "\n---\n".join(texts)


def _check(file: Path, environment: dict[str, str]) -> tuple[float, float]:
    return _run([sys.executable, "-m", "webhook", "check", str(file)], environment)


def _run(command: list[str], environment: dict[str, str]) -> tuple[float, float]:
    """Seconds of CPU and of the clock."""
    before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    done = subprocess.run(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=False)
    seconds = time.perf_counter() - started
    if done.returncode not in (0, 1) or b"Traceback" in done.stderr:
        raise RuntimeError(done.stderr.decode())
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, seconds


def _server(rounds: int) -> Table:
    table = Table(
        "Start of the server",
        "Until /readyz is 200, all kinds loaded, as in the image.",
        ("ready s", "CPU s", "RSS MiB"),
    )
    ready, cpu, memory = [], [], []
    with compiled():
        for _ in range(rounds):
            with serving() as server:
                ready.append(server.ready)
                cpu.append(server.cpu)
                memory.append(memory_of(server.pid))
    table.rows.append(Row("modelgate serve", {"ready s": ready, "CPU s": cpu, "RSS MiB": memory}))
    return table
