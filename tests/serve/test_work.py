"""The work of small reviews on the event loop, counted and not timed: a clock on a shared machine shows nothing."""

from __future__ import annotations

import asyncio
import sys
from contextlib import nullcontext
from pathlib import Path

import pytest
from blockbuster import BlockingError

from tests.hostile import bodies, worst
from tests.hostile.attacks import small
from webhook.catalog import Catalog
from webhook.serve.gate import Gate
from webhook.serve.gate.state import Call

MOST = 2_000_000
"""Calls and returns of functions for one review. The worst known one (a ServingRuntime) makes 1.6 million, which take
about as many tenths of a microsecond; part small of ``make hostile`` has the times."""


def work(gate: Gate, call: Call, body: bytes) -> int:
    """The calls and returns of functions while a review is decided; for the second time, so that caches are filled."""
    count = 0

    def counted(*_: object) -> None:
        nonlocal count
        count += 1

    async def decided() -> None:
        await gate.reply(call, body, 30)
        sys.setprofile(counted)
        try:
            await gate.reply(call, body, 30)
        finally:
            sys.setprofile(None)

    asyncio.run(decided())
    return count


def test_a_blocking_call_on_the_loop_of_a_gate_is_an_error(loaded: Catalog):
    """The detector is on in all tests (tests/conftest.py)."""
    gate = Gate(catalog=loaded, stage=lambda _stage: nullcontext(Path(__file__).read_text()))

    async def asked() -> None:
        await gate.reply("validate", bodies.review(bodies.kinds()["Model"], bodies.good(bodies.kinds()["Model"])), 5)

    with pytest.raises(BlockingError):
        asyncio.run(asked())


@pytest.mark.parametrize("kind", bodies.kinds())
def test_the_worst_small_review_of_a_kind_is_bounded_work(kind: str, loaded: Catalog):
    body = worst.of(kind)[0].largest("UPDATE other", small)
    assert bodies.is_small(body)
    assert 0 < work(Gate(catalog=loaded), "mutate", body) < MOST
