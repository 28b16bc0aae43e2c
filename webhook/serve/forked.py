"""Run one job in a child process that is forked for it: the child sees today's memory and can harm only itself.

A large review takes seconds of CPU and hundreds of megabytes. On the event loop it would hold up every other caller
and end the process at its memory limit. A child forked at that moment has the catalog, the view, the policies and the
settings of the request, without copies, messages or reloads. It is nice, holds no descriptor but its pipe, has a limit
on its memory, and is killed at the deadline. Record 43 of docs/decisions.md compares this with the alternatives.

Linux only: a pidfd tells the event loop that a child has ended. ``waitpid`` would block it while a nice child dies.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import os
import pickle
import resource
import signal
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, NoReturn

from webhook.admission.errors import DeadlineExceeded, TooLarge, Unavailable
from webhook.serve.process import memory_limit, resident, virtual
from webhook.serve.turns import UNNAMED, Caller, Turns

NICE: Final = 10
"""Small reviews come first: at nice 10 a child gets a tenth of a core that the parent wants."""

ALLOWANCE: Final = 256 * 1024 * 1024
"""Bytes that a child may allocate: the worst object of 3 MiB needs about 200 MiB."""

LEAST: Final = 64 * 1024 * 1024
"""Bytes below which no child is started: a process so near to its limit would be killed by the kernel."""

SENT_LIMIT: Final = 10 * 1024 * 1024
"""Bytes that a child may send: the largest reply, and what to count and log."""

LONGEST: Final = 8.0
"""Seconds that one child may run, however long its caller waits, because others wait for their turn. An object of
50,000 values takes one second on a slow core, and several at nice 10 on a busy one."""

TURN: Final = 2.5
"""Seconds that a child may run while another caller waits that has used less: half of the chart's default timeout, so
that the other half is left for the next caller."""

LOOK: Final = 0.1
"""Seconds between two looks whether one waits."""

_CHUNK: Final = 1024 * 1024
_MEMORY: Final = pickle.dumps(("memory", None))  # made beforehand: a child that reports it has no memory left


@dataclass(slots=True)
class _Child:
    """A child that runs: its process, the bytes that it has sent, and the future of the waiting caller."""

    pid: int
    pidfd: int
    pipe: int
    done: asyncio.Future[None]
    received: bytearray = field(default_factory=bytearray)
    killed: str = ""

    def kill(self, why: str) -> None:
        self.killed = self.killed or why
        with contextlib.suppress(ProcessLookupError):
            signal.pidfd_send_signal(self.pidfd, signal.SIGKILL)


class Children:
    """Runs jobs in children: one at a time, because each may take much memory, and in the order of :class:`Turns`.

    ``count`` is called with the outcome of each job: ``done``, ``error``, ``memory``, ``deadline``, ``large``,
    ``killed`` or ``shed``.
    """

    def __init__(self, count: Callable[[str], None] = lambda _outcome: None, limit: int | None = None) -> None:
        self._count = count
        self._limit = memory_limit() if limit is None else limit
        self._turns = Turns()

    async def run(self, job: Callable[[], Any], until: float, caller: Caller = UNNAMED) -> Any:
        """The result of ``job``, which must be picklable; ``until`` is a time of ``time.monotonic``.

        Raises:
            DeadlineExceeded: there was no time left.
            TooLarge: it needs more memory than there is, or its reply is too large.
            Unavailable: too many jobs wait, no child can be started, it ended without an answer, or it had its share.
            Exception: what ``job`` raised.
        """
        try:
            await self._turns.wait(caller, until)
        except Unavailable as error:
            self._count("deadline" if isinstance(error, DeadlineExceeded) else "shed")
            raise
        try:
            return await self._forked(job, until)
        finally:
            self._turns.end()

    async def _forked(self, job: Callable[[], Any], until: float) -> Any:
        allowance = min(ALLOWANCE, self._limit - resident() - LEAST) if self._limit else ALLOWANCE
        if allowance < LEAST:
            self._count("shed")
            raise Unavailable("not enough memory is free for a large review")
        try:
            child = _fork(job, allowance)
        except OSError as error:  # of memory, processes or descriptors
            self._count("shed")
            raise Unavailable(f"no process can be started for a large review: {error.strerror}") from None
        return self._outcome(child, await self._status(child, until))

    async def _status(self, child: _Child, until: float) -> int:
        """The status of a child when it has ended, which it does at its deadline at the latest."""
        loop = asyncio.get_running_loop()
        timers = [loop.call_later(min(max(until - time.monotonic(), 0), LONGEST), child.kill, "deadline")]
        self._watch(loop, child, timers, TURN)
        try:
            loop.add_reader(child.pipe, _receive, loop, child)
            loop.add_reader(child.pidfd, _ended, loop, child)
            await asyncio.shield(child.done)
        except asyncio.CancelledError:
            child.kill("cancelled")
            await child.done
            raise
        except BaseException:
            child.kill("fault")
            raise
        finally:
            for timer in timers:
                timer.cancel()
            status = _reap(loop, child)
        return status

    def _watch(
        self, loop: asyncio.AbstractEventLoop, child: _Child, timers: list[asyncio.TimerHandle], seconds: float
    ) -> None:
        """After so many seconds, end the child if a caller waits that has used less; else look again soon."""

        def look() -> None:
            if self._turns.is_wanted():
                child.kill("turn")
            else:
                self._watch(loop, child, timers, LOOK)

        timers[1:] = [loop.call_later(seconds, look)]

    def _outcome(self, child: _Child, status: int) -> Any:
        if child.killed == "deadline":
            self._count("deadline")
            raise DeadlineExceeded("no time left: judging the object takes too long")
        if child.killed == "turn":
            self._count("shed")
            raise Unavailable("a review that takes long was given up, because reviews of other callers wait")
        if child.killed == "large":
            self._count("large")
            raise TooLarge(f"the reply would be over the limit of {SENT_LIMIT} bytes")
        if not child.received or status:
            self._count("killed")
            raise Unavailable(f"the process of a large review ended with status {os.waitstatus_to_exitcode(status)}")
        kind, value = pickle.loads(bytes(child.received))  # noqa: S301 - written by our own child
        self._count(kind)
        if kind == "memory":
            raise TooLarge("judging this object needs more memory than the gate may use")
        if kind == "error":
            raise value
        return value


def _fork(job: Callable[[], Any], allowance: int) -> _Child:
    """Start a child.

    Raises:
        OSError: there is not enough memory, or there are too many processes or descriptors; nothing is left behind.
    """
    read_end, write_end = os.pipe()
    try:
        with warnings.catch_warnings():
            # Python 3.12 and later warn of forks beside threads: a child must not need a lock that another thread
            # holds. The locks that a job takes are held across the fork (webhook/cluster/store.py).
            warnings.simplefilter("ignore", DeprecationWarning)
            pid = os.fork()
        if not pid:
            _child(job, write_end, allowance)
        os.set_blocking(read_end, False)
        return _Child(pid, _pidfd(pid), read_end, asyncio.get_running_loop().create_future())
    except OSError:
        os.close(read_end)
        raise
    finally:
        os.close(write_end)


def _pidfd(pid: int) -> int:
    """A descriptor of a child, which is ended if there cannot be one.

    Raises:
        OSError: there are too many descriptors.
    """
    try:
        return os.pidfd_open(pid)
    except OSError:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        raise


def _child(job: Callable[[], Any], pipe: int, allowance: int) -> NoReturn:
    """Everything that the child does. It never returns into the code of its parent."""
    try:
        signal.set_wakeup_fd(-1)
        for each in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(each, signal.SIG_DFL)
        os.closerange(3, pipe)
        os.closerange(pipe + 1, 2**31 - 1)
        os.nice(NICE)
        gc.disable()
        with contextlib.suppress(OSError):  # the kernel shall rather end the child than its parent
            Path("/proc/self/oom_score_adj").write_text("1000")
        _limit_memory(virtual() + allowance)
        try:
            answer = _answer(job)
        except MemoryError:  # of the job, or where its result or its error is pickled
            answer = _MEMORY
        _send(pipe, answer)
    finally:
        os._exit(0)


def _limit_memory(size: int) -> None:
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (size if hard == resource.RLIM_INFINITY else min(size, hard), hard))


def _answer(job: Callable[[], Any]) -> bytes:
    try:
        return pickle.dumps(("done", job()))
    except MemoryError:
        raise
    except Exception as error:  # noqa: BLE001 - the parent raises it again
        return pickle.dumps(("error", error.with_traceback(None)))


def _send(pipe: int, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(pipe, rest) :]


def _receive(loop: asyncio.AbstractEventLoop, child: _Child) -> None:
    data = os.read(child.pipe, _CHUNK)
    child.received += data
    if not data:
        loop.remove_reader(child.pipe)
    elif len(child.received) > SENT_LIMIT:
        loop.remove_reader(child.pipe)
        child.kill("large")


def _ended(loop: asyncio.AbstractEventLoop, child: _Child) -> None:
    """The child is dead; what it wrote last may still be in the pipe."""
    loop.remove_reader(child.pidfd)
    if not child.killed:
        with contextlib.suppress(BlockingIOError):
            while data := os.read(child.pipe, _CHUNK):
                child.received += data
    loop.remove_reader(child.pipe)
    child.done.set_result(None)


def _reap(loop: asyncio.AbstractEventLoop, child: _Child) -> int:
    """The status of a child that has ended; this also reaps it."""
    loop.remove_reader(child.pipe)
    loop.remove_reader(child.pidfd)
    _, status = os.waitpid(child.pid, 0)
    os.close(child.pipe)
    os.close(child.pidfd)
    return status
