"""Turns of callers: the order by what each has used, and who is refused where too many wait."""

import asyncio
import time
from collections.abc import Awaitable, Callable

import pytest

from webhook.admission.errors import DeadlineExceeded, Unavailable
from webhook.serve import turns
from webhook.serve.turns import UNNAMED, Caller, Turns, user_of

FAR = 1e9
ANN, BOB, EVE = Caller("api", "ann"), Caller("api", "bob"), Caller("pod", "eve")


class Clock:
    """A clock that a job moves forward."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


def ordered(jobs: list[tuple[Caller, float]], first: Caller = UNNAMED) -> list[Caller]:
    """The callers in the order of their turns, while ``first`` has one; each job takes so many seconds."""

    async def main() -> list[Caller]:
        clock, order = Clock(), []
        line = Turns(clock)

        async def one(caller: Caller, seconds: float) -> None:
            await line.wait(caller, FAR)
            order.append(caller)
            clock.now += seconds
            line.end()

        await line.wait(first, FAR)
        tasks = [asyncio.create_task(one(*job)) for job in jobs]
        await asyncio.sleep(0)
        line.end()
        await asyncio.gather(*tasks)
        return order

    return asyncio.run(main())


def test_jobs_of_one_caller_run_in_the_order_in_which_they_came():
    async def main() -> list[int]:
        line, order = Turns(), []

        async def one(number: int) -> None:
            await line.wait(ANN, FAR)
            order.append(number)
            line.end()

        await line.wait(BOB, FAR)
        tasks = [asyncio.create_task(one(number)) for number in range(5)]
        await asyncio.sleep(0)
        line.end()
        await asyncio.gather(*tasks)
        return order

    assert asyncio.run(main()) == [0, 1, 2, 3, 4]


def test_a_caller_with_many_jobs_waits_behind_one_that_comes_later():
    assert ordered([(ANN, 1)] * 4 + [(BOB, 1)]) == [ANN, BOB, ANN, ANN, ANN]


def test_a_share_is_of_time_and_not_of_jobs():
    assert ordered([(ANN, 9), (ANN, 9), (BOB, 1), (BOB, 1), (BOB, 1)]) == [ANN, BOB, BOB, BOB, ANN]


def test_the_users_of_a_peer_divide_its_share():
    several = [(Caller("pod", str(number)), 1.0) for number in range(3)]
    assert ordered([*several, (ANN, 1), (BOB, 1)])[:3] == [several[0][0], ANN, several[1][0]]


def test_what_a_caller_has_used_is_forgotten():
    clock = Clock()
    line = Turns(clock)

    async def main() -> bool:
        await line.wait(ANN, FAR)
        clock.now += 5
        line.end()
        clock.now += 20 * turns.HALF_LIFE
        await line.wait(EVE, FAR)
        waiting = asyncio.create_task(line.wait(ANN, FAR))
        await asyncio.sleep(0)
        clock.now += 1
        found = line.is_wanted()
        line.end()
        await waiting
        return found

    assert asyncio.run(main())


def test_a_caller_that_has_used_more_does_not_end_the_turn_of_another():
    clock = Clock()
    line = Turns(clock)

    async def main() -> list[bool]:
        await line.wait(EVE, FAR)
        clock.now += 5
        line.end()
        await line.wait(ANN, FAR)
        waiting = asyncio.create_task(line.wait(EVE, FAR))
        await asyncio.sleep(0)
        found = []
        for _ in range(2):
            clock.now += 3
            found.append(line.is_wanted())
        line.end()
        await waiting
        assert line._waiting == []
        return found

    assert asyncio.run(main()) == [False, True]


def test_a_caller_that_has_used_as_much_does_not_end_the_turn_of_another():
    async def main() -> bool:
        line = Turns(Clock())
        await line.wait(ANN, FAR)
        waiting = asyncio.create_task(line.wait(EVE, FAR))
        await asyncio.sleep(0)
        found = line.is_wanted()
        line.end()
        assert line._waiting == [], "whose turn it is does not wait"
        await waiting
        return found

    assert not asyncio.run(main())


async def _outcome(job: Callable[[], Awaitable[None]]) -> str:
    try:
        await job()
    except Unavailable as error:
        return str(error)
    return "turn"


def test_where_too_many_wait_the_newest_of_the_peer_with_the_most_is_refused(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(turns, "WAITING", 3)

    async def main() -> list[str]:
        line = Turns()

        async def one(caller: Caller) -> None:
            await line.wait(caller, FAR)
            line.end()

        await line.wait(BOB, FAR)
        callers = [EVE, Caller("pod", "adam"), EVE, ANN, Caller("node", "zoe")]
        tasks = [asyncio.create_task(_outcome(lambda caller=caller: one(caller))) for caller in callers]
        await asyncio.sleep(0)
        line.end()
        return await asyncio.gather(*tasks)

    refused = "too many large reviews are waiting"
    assert asyncio.run(main()) == ["turn", refused, refused, "turn", "turn"]


@pytest.mark.parametrize("seconds", [0, 0.01])
def test_a_turn_that_is_not_taken_is_passed_on(seconds: float):
    async def main() -> None:
        line = Turns()

        async def one(until: float) -> None:
            await line.wait(BOB, until)
            line.end()

        await line.wait(ANN, FAR)
        tasks = [asyncio.create_task(one(until)) for until in (time.monotonic() + seconds, FAR)]
        await asyncio.sleep(seconds)
        line.end()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await asyncio.wait_for(line.wait(EVE, FAR), 20)

    asyncio.run(main())


def test_a_job_whose_time_is_over_is_told():
    async def main() -> None:
        line = Turns()
        await line.wait(ANN, FAR)
        with pytest.raises(DeadlineExceeded, match="came first"):
            await line.wait(BOB, 0)

    asyncio.run(main())


def test_the_table_of_callers_stays_small():
    async def main() -> int:
        clock = Clock()
        line = Turns(clock)
        for number in range(3 * turns.CALLERS):
            await line.wait(Caller("pod", str(number)), FAR)
            clock.now += 0.01
            line.end()
        return len(line._used)

    assert asyncio.run(main()) <= turns.CALLERS + 2


@pytest.mark.parametrize(
    ("body", "user"),
    [
        (b'{"request":{"uid":"u","name":"n","userInfo":{"username":"ann","groups":["g"]},"object":{}}}', "ann"),
        (b'{"request": {"userInfo" : { "username" : "a\\"b"}}}', 'a\\"b'),
        (b'{"request":{"userInfo":{"username":"system:serviceaccount:team:one"}}}', "system:serviceaccount:team"),
        (b'{"request":{"userInfo":{"username":"system:node:n"}}}', "system:node:n"),
        (b'{"request":{"userInfo":{"uid":"1","username":"ann"}}}', ""),
        (b'{"request":{"name":"\\"userInfo\\":{\\"username\\":\\"bob","userInfo":{"username":"ann"}}}', "ann"),
        (b"", ""),
        (b'"userInfo":{"username":"a\xff"}', "a\ufffd"),
        (b'{"request":{"userInfo":{"username":"' + b"x" * 10_000, "x" * 512),
    ],
)
def test_the_user_of_a_review_is_read_from_its_first_bytes(body: bytes, user: str):
    assert user_of(body) == user


def refused_of(callers: list[Caller]) -> list[Caller]:
    """Which of these, who all come while another has the turn, are refused."""

    async def main() -> list[Caller]:
        line = Turns()

        async def one(caller: Caller) -> None:
            await line.wait(caller, FAR)
            line.end()

        await line.wait(Caller("other", "first"), FAR)
        tasks = [asyncio.create_task(_outcome(lambda caller=caller: one(caller))) for caller in callers]
        await asyncio.sleep(0)
        line.end()
        outcomes = await asyncio.gather(*tasks)
        return [caller for caller, outcome in zip(callers, outcomes, strict=True) if outcome != "turn"]

    return asyncio.run(main())


def test_thirty_two_may_wait():
    several = [Caller(f"peer{number}", "u") for number in range(33)]
    assert refused_of(several[:32]) == []
    assert refused_of(several) == [several[-1]], "of callers with as many jobs, the newest"


def test_of_the_users_of_one_peer_the_one_with_the_most_jobs_is_refused(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(turns, "WAITING", 4)
    assert refused_of([ANN, EVE, ANN, BOB, EVE]) == [ANN], "the peer counts before the user"
    assert refused_of([EVE, EVE, ANN, BOB, Caller("api", "zoe")]) == [Caller("api", "zoe")]


def test_a_turn_counts_while_it_lasts_for_its_user_and_its_peer():
    clock = Clock()
    line = Turns(clock)

    async def main() -> list[bool]:
        found = [line.is_wanted()]
        await line.wait(ANN, FAR)
        clock.now += 2
        found.append(line.is_wanted())
        same = asyncio.create_task(line.wait(ANN, FAR))
        await asyncio.sleep(0)
        found.append(line.is_wanted())
        other = asyncio.create_task(line.wait(BOB, FAR))
        await asyncio.sleep(0)
        found.append(line.is_wanted())
        line.end()
        await other
        found.append(line.is_wanted())
        line.end()
        await same
        line.end()
        found.append(line.is_wanted())
        return found

    assert asyncio.run(main()) == [False, False, False, True, False, False]


def test_half_of_what_was_used_is_forgotten_in_ten_seconds():
    clock = Clock()
    line = Turns(clock)

    async def main() -> list[tuple[float, float]]:
        shares = []
        for caller, seconds in ((ANN, 4.0), (BOB, 2.0)):
            await line.wait(caller, FAR)
            clock.now += seconds
            line.end()
            clock.now += 10 - seconds
        shares += [line._share(ANN, clock.now), line._share(BOB, clock.now), line._share(EVE, clock.now)]
        return shares

    ann, bob, eve = asyncio.run(main())
    assert ann == pytest.approx((4 * 0.5**1.6 + 2 * 0.5**0.8, 4 * 0.5**1.6))
    assert bob == pytest.approx((ann[0], 2 * 0.5**0.8))
    assert eve == (0, 0)


def test_of_too_many_callers_those_that_have_used_the_most_are_remembered():
    clock = Clock()
    line = Turns(clock)

    async def main() -> set[str]:
        for number in range(1001):
            await line.wait(Caller(f"p{number}", ""), FAR)
            clock.now += 10 if number in (3, 5) else 0.001
            line.end()
            if number == 499:
                assert len(line._used) == 1000
            if number == 500:
                assert len(line._used) == 500
        return {key.peer for key in line._used if isinstance(key, Caller)}

    assert {"p3", "p5"} <= asyncio.run(main())


@pytest.mark.parametrize(("before", "user"), [(8 * 1024, "a"), (8 * 1024 + 1, "")])
def test_only_the_first_eight_kibibytes_are_read(before: int, user: str):
    head = b'"userInfo":{"username":"a'
    assert user_of(b" " * (before - len(head)) + head + b'"}') == user


def test_a_caller_that_leaves_is_not_waited_for():
    async def main() -> None:
        clock = Clock()
        line = Turns(clock)
        await line.wait(ANN, FAR)
        clock.now += 5
        waiting = asyncio.create_task(line.wait(BOB, FAR))
        await asyncio.sleep(0)
        assert line.is_wanted()
        waiting.cancel()
        (outcome,) = await asyncio.gather(waiting, return_exceptions=True)
        assert isinstance(outcome, asyncio.CancelledError)
        with pytest.raises(DeadlineExceeded):
            await line.wait(BOB, 0)
        assert not line.is_wanted()
        assert line._waiting == []

    asyncio.run(main())


def test_a_turn_that_has_come_when_its_caller_leaves_is_ended():
    """Python 3.12 and later leave ``wait_for`` so."""

    async def main() -> list[bool]:
        ended = []
        for outcome in ("turn", "refused", "left", "none"):
            line = Turns()
            await line.wait(ANN, FAR)
            turn = asyncio.get_running_loop().create_future()
            if outcome == "turn":
                turn.set_result(None)
            elif outcome == "refused":
                turn.set_exception(Unavailable("too many"))
                turn.exception()
            elif outcome == "left":
                turn.cancel()
            line._give_up(turns._Waiting(ANN, 0, turn))
            ended.append(line._running is None)
        return ended

    assert asyncio.run(main()) == [True, False, False, False]
