"""The limits of the process, and memory that is given back."""

import asyncio
import resource
import time

import pytest

from webhook.admission.errors import Unavailable
from webhook.serve.forked import Children
from webhook.serve.http.bodies import FREE, Budget
from webhook.serve.process import FREED, Memory, raise_descriptor_limit, resident


@pytest.mark.parametrize(("hard", "warned"), [(300, True), (1024, False)])
def test_as_many_descriptors_as_allowed_are_used_and_too_few_are_reported(
    caplog: pytest.LogCaptureFixture, hard: int, warned: bool
) -> None:
    def job() -> tuple[int, str]:
        resource.setrlimit(resource.RLIMIT_NOFILE, (100, hard))
        raise_descriptor_limit()
        return resource.getrlimit(resource.RLIMIT_NOFILE)[0], caplog.text

    limit, log = asyncio.run(Children(limit=0).run(job, time.monotonic() + 30))
    assert limit == hard
    assert ("only 300 file descriptors are allowed" in log) is warned


@pytest.mark.parametrize("looked", [True, False], ids=["looked while nothing was free", "looked once"])
def test_free_memory_goes_back_to_the_kernel(looked: bool) -> None:
    memory = Memory()
    for _ in range(2):  # what was given back once goes back after its next use, too
        blocks = [bytes(100_000) for _ in range(1000)]
        if looked:
            memory.trim()
        kept = blocks[::50]
        del blocks
        before = resident()
        memory.trim()
        assert len(kept) == 20
        assert resident() < before - 50_000_000


def test_a_heap_in_which_little_is_free_is_left_alone() -> None:
    memory = Memory()
    held = [bytes(100_000) for _ in range(FREED // 200_000)]
    memory.trim()
    del held
    before = resident()
    memory.trim()
    assert resident() >= before - FREED // 4


def test_a_budget_counts_what_is_held() -> None:
    budget = Budget(100)
    with budget.share() as one, budget.share() as other:
        one.take(FREE + 60)
        with pytest.raises(Unavailable, match="too many"):
            other.take(FREE + 41)
        one.exchange(FREE + 10)
        other.take(FREE + 90)
        with budget.share() as small:
            small.take(FREE)
    with budget.share() as all_of_it:
        all_of_it.take(FREE)
        all_of_it.take(100)
        with pytest.raises(Unavailable):
            all_of_it.take(1)
