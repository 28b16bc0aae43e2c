"""CPU time of the engine in this process, and a reference loop by which machines are compared."""

from __future__ import annotations

import gc
import sys
import time
from typing import Final, Literal

from tests.hostile import bodies
from webhook import engine
from webhook.admission import review
from webhook.cluster import MemoryView
from webhook.engine.seen import Judgements

Call = Literal["mutate", "validate"]
CALLS: Final[tuple[Call, ...]] = ("mutate", "validate")

REFERENCE_MS: Final = 17.0
"""The reference loop on the machine that the bars are meant for: a 2.5 GHz Xeon without other work, CPython 3.11."""

_VIEW: Final = MemoryView()


def settle() -> None:
    """Set the collector as the server does."""
    bodies.loaded()
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 100)


def forget() -> None:
    """Empty every memory of judgements, so that an object is judged as one that was never seen."""
    modules = [module for name, module in sys.modules.items() if name.startswith("webhook.")]
    for memory in {value for module in modules for value in vars(module).values() if isinstance(value, Judgements)}:
        memory.empty()


def answered(call: Call, body: bytes) -> bytes:
    """What the gate does between the body and the reply, on its event loop or in a child."""
    version, request = review.decode(body)
    decide = engine.mutate if call == "mutate" else engine.validate
    return review.encode(call, version, request, decide(request, bodies.loaded(), _VIEW))


def cpu_ms(call: Call, body: bytes, rounds: int = 1) -> float:
    """Milliseconds of CPU, the least of some rounds."""
    return min(_once(call, body) for _ in range(rounds))


def _once(call: Call, body: bytes) -> float:
    started = time.thread_time()
    answered(call, body)
    return (time.thread_time() - started) * 1e3


def slowness() -> float:
    """How many times slower than the reference machine this one is now."""
    return min(_reference() for _ in range(5)) / REFERENCE_MS


def _reference() -> float:
    started = time.thread_time()
    table: dict[int, int] = {}
    for number in range(200_000):
        table[number & 1023] = table.get(number & 255, 0) + number
    return (time.thread_time() - started) * 1e3
