"""Jobs in children: their answers, their ends, and their order."""

import asyncio
import errno
import gc
import os
import pickle
import resource
import signal
import time
from collections import Counter
from pathlib import Path

import pytest

from webhook.admission.errors import DeadlineExceeded, Malformed, TooLarge, Unavailable
from webhook.serve import forked
from webhook.serve.forked import Children
from webhook.serve.process import virtual
from webhook.serve.turns import Caller

FAR = 30.0
"""Seconds that no test needs."""

PARENT = os.getpid()


class Counted(Children):
    """Children whose outcomes are counted here."""

    def __init__(self) -> None:
        self.outcomes: Counter[str] = Counter()
        super().__init__(lambda outcome: self.outcomes.update([outcome]), limit=0)


def run(children: Children, job, seconds: float = FAR):
    async def main():
        return await children.run(job, time.monotonic() + seconds)

    return asyncio.run(main())


def descriptors() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def zombies() -> list[str]:
    status = [path.read_text() for path in Path("/proc").glob("[0-9]*/stat") if os.access(path, os.R_OK)]
    return [text for text in status if text.rsplit(")", 1)[1].split()[:2] == ["Z", str(os.getpid())]]


def test_a_child_answers_with_what_the_parent_holds():
    children, held = Counted(), {"n": 1}
    held["n"] = 2
    assert run(children, lambda: (held["n"], os.getpid() != PARENT)) == (2, True)
    assert children.outcomes == {"done": 1}
    assert not zombies()


def test_a_large_answer_arrives_whole():
    assert run(Counted(), lambda: b"x" * 5_000_000) == b"x" * 5_000_000


def test_what_a_job_raises_is_raised_here():
    def job():
        raise Malformed("no")

    children = Counted()
    with pytest.raises(Malformed, match="no"):
        run(children, job)
    assert children.outcomes == {"error": 1}


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSEGV])
def test_a_child_that_is_killed_costs_one_answer_and_leaves_no_zombie(number):
    children = Counted()
    before = descriptors()
    with pytest.raises(match=f"status -{int(number)}"):
        run(children, lambda: os.kill(os.getpid(), number))
    assert run(children, lambda: "next") == "next"
    assert children.outcomes == {"killed": 1, "done": 1}
    assert descriptors() == before
    assert not zombies()


def test_memory_is_bounded():
    children = Counted()
    with pytest.raises(TooLarge, match="memory"):
        run(children, lambda: len(bytearray(2 * forked.ALLOWANCE)))
    assert children.outcomes == {"memory": 1}


def test_a_child_is_killed_at_the_deadline(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(forked, "LONGEST", 100 * FAR)
    children = Counted()
    with pytest.raises(DeadlineExceeded):
        run(children, signal.pause, seconds=0.05)
    assert children.outcomes == {"deadline": 1}
    assert not zombies()


def test_an_answer_over_the_limit_is_refused(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(forked, "SENT_LIMIT", 1000)
    children = Counted()
    with pytest.raises(TooLarge, match="1000 bytes"):
        run(children, lambda: b"x" * 10_000_000)
    assert children.outcomes == {"large": 1}


def test_no_process_can_be_started(monkeypatch: pytest.MonkeyPatch):
    """The answer is 503, and no descriptor and no process is left."""
    before = descriptors()
    for name, error in (("fork", errno.EAGAIN), ("pidfd_open", errno.EMFILE), ("pipe", errno.EMFILE)):
        children = Counted()
        with monkeypatch.context() as patched:
            patched.setattr(os, name, failing(error))
            for _ in range(3):
                with pytest.raises(Unavailable, match=os.strerror(error)):
                    run(children, signal.pause)
        assert run(children, lambda: "next") == "next"
        assert children.outcomes == {"shed": 3, "done": 1}
    assert descriptors() == before
    assert not zombies()


def failing(error: int):
    def fail(*_: object):
        raise OSError(error, os.strerror(error))

    return fail


def test_a_child_that_cannot_be_watched_is_ended():
    async def main():
        children = Counted()
        loop = asyncio.get_running_loop()
        loop.add_reader = failing(errno.ENOMEM)  # type: ignore[method-assign]
        with pytest.raises(OSError, match="memory"):
            await children.run(signal.pause, time.monotonic() + FAR)
        del loop.add_reader
        return await children.run(lambda: "next", time.monotonic() + FAR)

    before = descriptors()
    assert asyncio.run(main()) == "next"
    assert descriptors() == before
    assert not zombies()


def test_a_long_job_gives_way_to_another_caller(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(forked, "TURN", 0.05)
    monkeypatch.setattr(forked, "LOOK", 0.01)

    async def main():
        children = Counted()
        hostile = asyncio.create_task(children.run(signal.pause, time.monotonic() + FAR, Caller("h", "mallory")))
        await asyncio.sleep(0)
        good = await children.run(lambda: "good", time.monotonic() + FAR, Caller("h", "alice"))
        with pytest.raises(Unavailable, match="given up"):
            await hostile
        return good, children.outcomes

    assert asyncio.run(main()) == ("good", {"done": 1, "shed": 1})
    assert not zombies()


def test_a_job_whose_time_ends_while_it_waits_is_not_run():
    async def main():
        children = Counted()
        first = asyncio.create_task(children.run(signal.pause, time.monotonic() + 0.3))
        await asyncio.sleep(0)
        with pytest.raises(DeadlineExceeded, match="came first"):
            await children.run(lambda: "never", time.monotonic() + 0.01)
        with pytest.raises(DeadlineExceeded):
            await first
        return await children.run(lambda: "next", time.monotonic() + FAR)

    assert asyncio.run(main()) == "next"


def test_a_caller_that_leaves_frees_the_place(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(forked, "LONGEST", 100 * FAR)

    async def main():
        children = Counted()
        first = asyncio.create_task(children.run(signal.pause, time.monotonic() + 100 * FAR))
        second = asyncio.create_task(children.run(lambda: "second", time.monotonic() + FAR))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        first.cancel()
        with pytest.raises(asyncio.CancelledError):
            await first
        return await second

    assert asyncio.run(main()) == "second"
    assert not zombies()


def test_a_child_is_nice_small_and_holds_nothing_of_its_parent():
    def job():
        limit, _ = resource.getrlimit(resource.RLIMIT_AS)
        handlers = {signal.getsignal(one) for one in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)}
        held = sorted(int(path.name) for path in Path("/proc/self/fd").iterdir())
        open_ones = [one for one in held if one > 2 and Path(f"/proc/self/fd/{one}").exists()]
        score = Path("/proc/self/oom_score_adj").read_text().strip()
        return os.nice(0), gc.isenabled(), handlers, len(open_ones), score, limit - virtual(), signal.set_wakeup_fd(-1)

    nice, before = os.nice(0), {one: signal.signal(one, lambda *_: None) for one in (signal.SIGTERM, signal.SIGHUP)}
    try:
        niceness, collects, handlers, open_ones, score, room, wakeup = asyncio.run(beside_others(job))
    finally:
        for one, handler in before.items():
            signal.signal(one, handler)
    assert niceness == min(nice + 10, 19)
    assert (collects, handlers, open_ones, score, wakeup) == (False, {signal.SIG_DFL}, 1, "1000", -1)
    assert 200 * 2**20 < room <= 256 * 2**20


async def beside_others(job):
    """The result of a job, while signals wake a descriptor, and others lie directly above the pipe of its child."""
    asyncio.get_running_loop().add_signal_handler(signal.SIGUSR1, lambda: None)
    *free, above = (os.dup(1) for _ in range(3))
    for each in free:
        os.close(each)
    try:
        return await Counted().run(job, time.monotonic() + FAR)
    finally:
        os.close(above)


@pytest.mark.parametrize(("room", "outcome"), [(0, "shed"), (63, "shed"), (100, "done")])
def test_a_child_may_take_what_the_process_has_left(room: int, outcome: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(forked, "resident", lambda: 100 * 2**20)
    outcomes: list[str] = []
    children = Children(outcomes.append, limit=(100 + 64 + room) * 2**20)
    if outcome == "shed":
        with pytest.raises(Unavailable, match="not enough memory is free"):
            run(children, lambda: "never")
    else:
        allowed = run(children, lambda: resource.getrlimit(resource.RLIMIT_AS)[0] - virtual())
        assert 60 * 2**20 < allowed <= room * 2**20
    assert outcomes == [outcome]


def test_what_is_told_of_a_child_that_ends_in_silence():
    children = Counted()
    with pytest.raises(Unavailable, match="ended with status 3"):
        run(children, lambda: os._exit(3))
    assert children.outcomes == {"killed": 1}


def test_a_job_that_finds_no_turn_in_time_is_counted():
    async def main():
        children = Counted()
        first = asyncio.create_task(children.run(signal.pause, time.monotonic() + FAR))
        await asyncio.sleep(0)
        with pytest.raises(DeadlineExceeded):
            await children.run(lambda: "never", 0)
        first.cancel()
        with pytest.raises(asyncio.CancelledError):
            await first
        return children.outcomes

    assert asyncio.run(main()) == {"deadline": 1}


def test_an_answer_of_exactly_the_limit_is_taken(monkeypatch: pytest.MonkeyPatch):
    size = len(pickle.dumps(("done", b"x" * 1000)))
    monkeypatch.setattr(forked, "SENT_LIMIT", size)
    assert run(Counted(), lambda: b"x" * 1000) == b"x" * 1000


def test_the_limit_of_the_process_counts_if_none_is_given(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(forked, "memory_limit", lambda: 1)
    monkeypatch.setattr(forked, "resident", lambda: 0)
    with pytest.raises(Unavailable, match="not enough memory is free"):
        run(Children(), lambda: "never")


def test_a_job_that_finds_no_place_is_shed(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("webhook.serve.turns.WAITING", 0)

    async def main():
        children = Counted()
        first = asyncio.create_task(children.run(signal.pause, time.monotonic() + FAR))
        await asyncio.sleep(0)
        with pytest.raises(Unavailable, match="too many"):
            await children.run(lambda: "never", time.monotonic() + FAR)
        first.cancel()
        await asyncio.gather(first, return_exceptions=True)
        return children.outcomes

    assert asyncio.run(main()) == {"shed": 1}


def test_a_long_job_is_looked_at_again_and_again(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(forked, "TURN", 0.01)
    monkeypatch.setattr(forked, "LOOK", 0.01)
    monkeypatch.setattr(forked, "LONGEST", 100 * FAR)

    async def main():
        children = Counted()
        hostile = asyncio.create_task(children.run(signal.pause, time.monotonic() + 100 * FAR, Caller("h", "mallory")))
        await asyncio.sleep(0.1)
        assert await children.run(lambda: "good", time.monotonic() + FAR, Caller("h", "alice")) == "good"
        return await asyncio.gather(hostile, return_exceptions=True)

    (outcome,) = asyncio.run(main())
    assert "given up" in str(outcome)


def test_what_was_to_end_a_child_does_nothing_after_its_end(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(forked, "LONGEST", 0.5)
    monkeypatch.setattr(forked, "TURN", 0.5)
    faults = []

    async def main():
        asyncio.get_running_loop().set_exception_handler(lambda _loop, context: faults.append(context))
        answer = await Counted().run(lambda: "quick", time.monotonic() + FAR)
        await asyncio.sleep(0.7)
        return answer

    assert (asyncio.run(main()), faults) == ("quick", [])


def dies_after_an_answer():
    held = [*Path("/proc/self/fd").iterdir()]
    pipe = next(path for path in held if int(path.name) > 2 and path.is_fifo())
    os.write(int(pipe.name), pickle.dumps(("done", "forged")))
    os._exit(3)


@pytest.mark.parametrize(("job", "status"), [(lambda: os._exit(0), 0), (dies_after_an_answer, 3)])
def test_an_end_in_silence_and_an_answer_of_a_child_that_fails_do_not_count(job, status):
    with pytest.raises(Unavailable, match=f"ended with status {status}"):
        run(Counted(), job)


def test_a_limit_that_a_child_has_already_is_not_raised():
    def job():
        resource.setrlimit(resource.RLIMIT_AS, (virtual() + 2**26, virtual() + 2**27))
        limits = []
        for size in (virtual() + 2**25, 2**50):
            forked._limit_memory(size)
            limits.append(resource.getrlimit(resource.RLIMIT_AS)[0] == size)
        return limits, resource.getrlimit(resource.RLIMIT_AS)

    limits, (soft, hard) = run(Counted(), job)
    assert (limits, soft) == ([True, False], hard)


@pytest.mark.parametrize(("why", "answered"), [("", True), ("turn", False)])
def test_what_a_child_wrote_last_is_read_unless_it_was_killed(why: str, answered: bool):
    async def main():
        loop = asyncio.get_running_loop()
        child = forked._fork(lambda: "answer", forked.ALLOWANCE)
        await asyncio.to_thread(os.waitid, os.P_PIDFD, child.pidfd, os.WEXITED | os.WNOWAIT)
        child.killed = why
        child.kill("deadline")
        assert child.killed == (why or "deadline"), "the first reason counts"
        child.killed = why
        forked._ended(loop, child)
        assert child.done.done()
        forked._reap(loop, child)
        return bytes(child.received)

    received = asyncio.run(main())
    assert (received == pickle.dumps(("done", "answer"))) == answered
    assert bool(received) == answered


def test_a_child_of_which_only_the_answer_can_be_watched_leaves_no_descriptor_in_the_loop():
    async def main():
        children, loop = Counted(), asyncio.get_running_loop()
        add, calls = loop.add_reader, []

        def second_fails(*given: object):
            calls.append(given)
            if len(calls) == 2:
                raise OSError(errno.ENOMEM, "memory")
            return add(*given)

        loop.add_reader = second_fails  # type: ignore[method-assign]
        with pytest.raises(OSError, match="memory"):
            await children.run(signal.pause, time.monotonic() + FAR)
        return [await children.run(lambda: "next", time.monotonic() + FAR) for _ in range(2)]

    assert asyncio.run(main()) == ["next"] * 2
