"""Parts 5 and 6: a child that dies costs one answer only; a fork during a change of the view never hangs."""

from __future__ import annotations

import os
import resource
import signal
import threading
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from tests.hostile import bodies, processes
from tests.hostile.attacks import attack, large
from tests.hostile.bars import Report
from tests.hostile.cluster import churned, following
from tests.hostile.serving import Gate, serving, wait_until

PART = "children"
METRIC = "modelgate_large_total"
FORKS = 200
CHILD_SECONDS = 20.0
DEADLINE, PATIENCE = 5, 30
"""Seconds until a review is given up, where that is tested, and where a busy machine must not come to it."""
TRIES = 5
"""To run out of memory: on a busy machine a child may be done before, or crash in native code that needed some."""
STATUSES = {503}
"""Of a review whose child was killed: the object has not been judged."""


def run(report: Report) -> None:
    """End a child in every way, and fork while the view changes."""
    with serving() as gate:
        for name, end, outcome, statuses in ENDS:
            ended(report, gate, name, end, outcome, statuses)
    hung(report)


def large_body() -> bytes:
    """A good review that is large by its bytes alone."""
    known = bodies.kinds()["Model"]
    obj = bodies.good(known)
    obj["metadata"]["annotations"] = {"note": "x" * (bodies.FEW_BYTES + 1)}
    return bodies.review(known, obj)


_SLOW = attack("AIMService", "spec.env", "equal items")


def slow_body() -> bytes:
    """A review whose judgement takes long and much memory, but ends."""
    return large(_SLOW, "CREATE")[1]


def _limit_memory(pid: int) -> None:
    def limited() -> bool:  # before it has set its own limit, the child is not at its job yet
        return resource.prlimit(pid, resource.RLIMIT_AS)[0] != resource.RLIM_INFINITY

    wait_until(limited, CHILD_SECONDS, "the child has a limit of its own")
    limit = processes.data(pid) + processes.MIB  # what it has stays, and it gets hardly more
    resource.prlimit(pid, resource.RLIMIT_DATA, (limit, limit))


ENDS: list[tuple[str, Callable[[int], None], str, set[int]]] = [
    ("killed (SIGKILL)", lambda pid: os.kill(pid, signal.SIGKILL), "killed", STATUSES),
    ("crashed (SIGSEGV)", lambda pid: os.kill(pid, signal.SIGSEGV), "killed", STATUSES),
    ("out of memory", _limit_memory, "memory", {200, 413}),
    ("stopped until its deadline", lambda pid: os.kill(pid, signal.SIGSTOP), "deadline", {503}),
]


def ended(report: Report, gate: Gate, name: str, end: Callable[[int], None], outcome: str, statuses: set[int]) -> None:
    """End one child, and look at the answer, the count, the zombies, the descriptors and the next call."""
    gate.post("/validate", _SLOW.review("CREATE", 1))  # what is loaded at the first review is not loaded by a child
    before, open_before = counted(gate, outcome), processes.descriptors(gate.pid)
    for _ in range(TRIES if end is _limit_memory else 1):
        status = answer_of_ended(gate, end, DEADLINE if outcome == "deadline" else PATIENCE)
        if counted(gate, outcome) != before:
            break
    report.add(PART, f"{name}: wrong answer", int(status not in statuses), "", 0, f"status {status}")
    report.add(PART, f"{name}: not counted as {outcome}", int(counted(gate, outcome) != before + 1), "", 0)
    report.add(PART, f"{name}: zombies", len(processes.zombies(gate.pid)), "", 0)
    report.add(PART, f"{name}: descriptors left", _more_descriptors(gate, open_before), "", 0)
    following_status = gate.post("/validate?timeout=5s", large_body())[0]
    report.add(PART, f"{name}: next large call failed", int(following_status != 200), "", 0)


def _more_descriptors(gate: Gate, before: int) -> int:
    """Descriptors beyond those of before, once the connections of the calls are closed."""
    try:
        wait_until(lambda: processes.descriptors(gate.pid) <= before, CHILD_SECONDS, "the descriptors are back")
    except TimeoutError:
        return processes.descriptors(gate.pid) - before
    return 0


def counted(gate: Gate, outcome: str) -> float:
    return gate.counter(METRIC, f'outcome="{outcome}"')


def answer_of_ended(gate: Gate, end: Callable[[int], None], timeout: int) -> int:
    """The status of a large review with this timeout, whose child was ended as soon as it was seen."""
    with ThreadPoolExecutor(1) as pool:
        answer = pool.submit(gate.post, f"/validate?timeout={timeout}s", slow_body())
        wait_until(lambda: bool(processes.children(gate.pid)) or answer.done(), CHILD_SECONDS, "a child is there")
        for child in processes.children(gate.pid):
            end(child)
        return answer.result()[0]


def hung(report: Report, count: int = FORKS) -> None:
    """Large reviews while three threads write what the gate watches; each must be answered."""
    with following() as (cluster, flags), serving(*flags) as gate:
        stop = threading.Event()
        with churned(cluster, stop):
            statuses = Counter(gate.post("/validate?timeout=25s", _seeing_body())[0] for _ in range(count))
    failed = count - statuses[200]
    note = ", ".join(f"{status}: {times}" for status, times in statuses.items())
    report.add("forks", f"of {count} large reviews while the view changes: hung or failed", failed, "", 0, note)


def _seeing_body() -> bytes:
    known = bodies.kinds()["InferenceService"]
    obj = bodies.good(known)
    obj["metadata"]["annotations"] = {"note": "x" * (bodies.FEW_BYTES + 1)}
    return bodies.review(known, obj)
