"""Part 4: memory and descriptors of the whole tree under everything that is made to fill them."""

from __future__ import annotations

import contextlib
import http.client
import math
import resource
import socket
import ssl
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial

from tests.hostile import processes
from tests.hostile.attacks import attack
from tests.hostile.bars import Report
from tests.hostile.cgroup import MemoryGroup, memory_group
from tests.hostile.isolation import good_body
from tests.hostile.serving import Gate, serving, wait_until
from tests.hostile.wire import post

PART = "memory"
PEAK_MIB = 450.0
BACK_MIB = 20.0
"""Over idle, ten seconds after an attack."""
BACK_SECONDS = 10.0
SPARE_DESCRIPTORS = 2

Attackers = Callable[[Gate], object]


@dataclass(frozen=True)
class Sizes:
    """How much of each; the short form takes less."""

    amplifying: int = 50
    items: int = 1_000_000
    unread: int = 12
    half_open: int = 10_000
    slow: int = 1_000
    floods: int = 200


def run(report: Report, sizes: Sizes) -> None:
    """Each attack against a gate of its own."""
    with memory_group() as group:
        if group is None:
            report.skip(PART, "no cgroup could be made: peaks are sums of PSS, and nothing is limited")
        for name, attack in _attacks(sizes).items():
            with serving(group=group) as gate:
                gate.post("/validate", good_body())
                idle = processes.anonymous(gate.pid), processes.descriptors(gate.pid)
                _attacked(report, gate, idle, name, attack)


def _attacks(sizes: Sizes) -> dict[str, Attackers]:
    return {
        f"{sizes.amplifying} amplifying requests": partial(amplified, sizes=sizes),
        "a body of 7 MiB": large_body,
        f"{sizes.unread} replies that are not read": partial(unread, count=sizes.unread),
        f"{sizes.half_open} half-open handshakes": partial(half_open, count=sizes.half_open),
        f"{sizes.slow} slow senders": partial(slow_senders, count=sizes.slow),
        f"{sizes.floods} floods of header fields": partial(header_floods, count=sizes.floods),
    }


def _attacked(report: Report, gate: Gate, idle: tuple[float, int], name: str, attack: Attackers) -> None:
    peak = watched(gate, attack)
    status = _good_status(gate)
    if gate.ended() is not None:
        report.add(PART, f"{name}: peak", math.inf, "MiB", PEAK_MIB, f"the gate has ended with {gate.ended()}")
        return
    report.add(PART, f"{name}: peak", peak, "MiB", PEAK_MIB)
    report.add(PART, f"{name}: good call afterwards", int(status != 200), "failed", 0, f"status {status}")
    back = partial(_is_back, gate, idle)
    with contextlib.suppress(TimeoutError):
        wait_until(back, BACK_SECONDS, "memory and descriptors are back")
    extra = max(0, processes.descriptors(gate.pid) - idle[1] - SPARE_DESCRIPTORS)
    report.add(
        PART, f"{name}: over idle after {BACK_SECONDS:g} s", processes.anonymous(gate.pid) - idle[0], "MiB", BACK_MIB
    )
    report.add(PART, f"{name}: descriptors left after {BACK_SECONDS:g} s", extra, "", 0)


def _good_status(gate: Gate) -> int:
    """The status of a good call; 0 where no answer came."""
    with contextlib.suppress(OSError, http.client.HTTPException):
        return gate.post("/validate?timeout=5s", good_body())[0]
    return 0


def _is_back(gate: Gate, idle: tuple[float, int]) -> bool:
    descriptors = processes.descriptors(gate.pid) - idle[1]
    return processes.anonymous(gate.pid) - idle[0] <= BACK_MIB and descriptors <= SPARE_DESCRIPTORS


def watched(gate: Gate, attack: Attackers) -> float:
    """MiB of the tree at the most during an attack: of its group, or else the largest sum of PSS seen."""
    stop, peaks = threading.Event(), [0.0]

    def look() -> None:
        while not stop.wait(0.05):
            peaks.append(processes.pss(gate.pid))

    thread = threading.Thread(target=look)
    if gate.group:
        gate.group.forget()
    thread.start()
    try:
        with contextlib.suppress(OSError):  # a gate that has ended; the caller looks
            attack(gate)
    finally:
        stop.set()
        thread.join()
    return _group_peak(gate.group) or max(peaks)


def _group_peak(group: MemoryGroup | None) -> float:
    return group.peak() if group else 0.0


def amplified(gate: Gate, sizes: Sizes) -> Counter[int]:
    """Requests whose patch is many times as large, four at a time; the statuses, 0 for a closed connection."""
    body = amplifier(sizes.items)

    def one(_number: int) -> int:
        with contextlib.suppress(OSError, EOFError):
            return gate.post("/mutate?timeout=30s", body)[0]
        return 0

    with ThreadPoolExecutor(4) as pool:
        return Counter(pool.map(one, range(sizes.amplifying)))


def amplifier(items: int) -> bytes:
    """An AIMService with so many empty references: the schema fills in each of them."""
    return attack("AIMService", "spec.imagePullSecrets", "empty objects").review("CREATE", items)


def large_body(gate: Gate) -> None:
    body = bytearray(good_body())
    body[-1:-1] = b" " * (7 * processes.MIB - len(body))
    gate.post("/mutate?timeout=5s", bytes(body))


def unread(gate: Gate, count: int) -> None:
    """Requests of a MiB with large replies, which are left in the socket for ten seconds."""
    body = amplifier(340_000)
    with contextlib.ExitStack() as stack:
        peers = [stack.enter_context(_connected(gate)) for _ in range(count)]
        for peer in peers:
            peer.sendall(post("/mutate?timeout=30s", body))
        _pause(gate, 10)


def half_open(gate: Gate, count: int) -> None:
    """Connections that never begin their handshake; they stay for five seconds."""
    _allow_descriptors(count + 200)
    with contextlib.ExitStack() as stack:
        for _ in range(count):
            with contextlib.suppress(OSError):
                stack.enter_context(socket.create_connection(("127.0.0.1", gate.port), timeout=5))
        _pause(gate, 5)


def slow_senders(gate: Gate, count: int) -> None:
    """Connections that send a byte of a body now and then."""
    head = post("/validate?timeout=5s", b"x" * 100_000)[:-100_000]
    with contextlib.ExitStack() as stack:
        peers = []
        for _ in range(count):
            with contextlib.suppress(OSError):
                peers.append(stack.enter_context(_connected(gate)))
                peers[-1].sendall(head)
        for _ in range(5):
            for peer in peers:
                with contextlib.suppress(OSError):
                    peer.sendall(b" ")
            _pause(gate, 0.5)


def header_floods(gate: Gate, count: int) -> None:
    """Requests whose header fields have no end."""
    flood = b"GET /healthz HTTP/1.1\r\n" + b"x-a: " + b"a" * 8000 + b"\r\n"
    for _ in range(count):
        with contextlib.suppress(OSError), _connected(gate) as peer:
            for _ in range(200):
                peer.sendall(flood)


@contextlib.contextmanager
def _connected(gate: Gate) -> Iterator[ssl.SSLSocket]:
    plain = socket.create_connection(("127.0.0.1", gate.port), timeout=20)
    with gate.context().wrap_socket(plain, server_hostname="localhost") as peer:
        yield peer


def _pause(gate: Gate, seconds: float) -> None:
    """Wait, but not for a gate that has ended."""
    until = time.monotonic() + seconds
    while time.monotonic() < until and gate.ended() is None:
        time.sleep(0.05)


def _allow_descriptors(count: int) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, min(count, hard)), hard))
