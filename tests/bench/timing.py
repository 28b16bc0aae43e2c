"""Clocks and caches: samples of calls, CPU time and memory of processes, and cold caches."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

__all__ = ["cold", "cpu_of", "memory_of", "thrashing", "warm", "warm_in_turn"]

ROUNDS = 15
PAUSE = 0.02
"""Seconds between cold calls: a gate is asked now and then."""


def warm(call: Callable[[Any], object], inputs: Sequence[Any], rounds: int = ROUNDS) -> list[float]:
    """Microseconds of a call, one sample a round: each round calls it once for every input."""
    return warm_in_turn([call], inputs, rounds)[0]


def warm_in_turn(
    calls: Sequence[Callable[[Any], object]], inputs: Sequence[Any], rounds: int = ROUNDS
) -> list[list[float]]:
    """As :func:`warm` for each of the calls, in turn, so that all of them see the same machine."""
    for call in calls:
        for each in inputs:
            call(each)
    samples: list[list[float]] = [[] for _ in calls]
    for _ in range(rounds):
        for call, found in zip(calls, samples, strict=True):
            started = time.perf_counter()
            for each in inputs:
                call(each)
            found.append((time.perf_counter() - started) / len(inputs) * 1e6)
    return samples


def cold(call: Callable[[Any], object], inputs: Sequence[Any], thrash: Callable[[], object]) -> list[float]:
    """Microseconds of each call, after a pause and with caches that hold other data and code."""
    samples = []
    for each in inputs:
        time.sleep(PAUSE)
        thrash()
        started = time.perf_counter()
        call(each)
        samples.append((time.perf_counter() - started) * 1e6)
    return samples


@contextmanager
def thrashing() -> Iterator[Callable[[], object]]:
    """A function that evicts the caches of this core. Without a C compiler, it evicts data only."""
    compiler = shutil.which("cc")
    if compiler is None:
        data = bytearray(32 << 20)
        yield lambda: data.translate(None)
        return
    with tempfile.TemporaryDirectory(prefix="modelgate-bench-") as name:
        library = Path(name) / "thrash.so"
        source = Path(__file__).with_name("thrash.c")
        subprocess.run([compiler, "-O1", "-shared", "-fPIC", "-o", library, source], check=True)
        thrash = ctypes.CDLL(str(library)).thrash
        thrash.argtypes, thrash.restype = [ctypes.c_uint64], ctypes.c_uint64
        yield lambda: thrash(1)


def cpu_of(pid: int) -> float:
    """Seconds of CPU that a process and its threads have used, from the scheduler's nanoseconds."""
    total = 0
    for path in Path(f"/proc/{pid}/task").glob("*/schedstat"):
        try:
            total += int(path.read_text().split()[0])
        except OSError:  # the thread has ended
            continue
    return total / 1e9


def memory_of(pid: int) -> float:
    """MiB of memory that a process holds (RSS)."""
    text = Path(f"/proc/{pid}/status").read_text()
    return int(text.partition("VmRSS:")[2].split()[0]) / 1024
