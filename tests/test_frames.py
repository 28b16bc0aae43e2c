"""Calls at any depth get their frames without memory from the kernel."""

from __future__ import annotations

import resource
from collections.abc import Callable

from reconciler.process import started
from webhook.ground.frames import with_room

CALLS = 300


def leaf(a: int) -> int:
    b = c = d = e = f = a
    return b + c + d + e + f


def faults_at(depth: int) -> int:
    """Page faults of calls that a loop makes at a depth."""
    if depth:
        return faults_at(depth - 1)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for number in range(CALLS):
        list(map(leaf, (number,)))
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before


def worst() -> int:
    """The most page faults at one of the depths that fill two pieces."""
    return max(faults_at(depth) for depth in range(250))


def test_calls_at_every_depth_fit_into_one_piece() -> None:
    with_room(worst)  # each page once
    assert with_room(worst) < CALLS // 2


def test_without_room_there_is_a_depth_that_asks_the_kernel_for_each_call() -> None:
    assert worst() >= CALLS


def test_arguments_and_results_are_those_of_the_call() -> None:
    joined: Callable[..., tuple[int, int]] = lambda first, second: (first, second)  # noqa: E731
    assert with_room(joined, 1, second=2) == (1, 2)


def test_a_thread_of_the_reconciler_has_room() -> None:
    most: list[int] = []

    def measure() -> None:
        worst()  # each page once
        most.append(worst())

    started(measure, "worker").join()
    assert most[0] < CALLS // 2
