"""The queueing model of llm-d's optimiser ("inferno"): how many requests a replica can serve within its targets.

A replica is an M/M/1/K queue whose service rate depends on the number of requests in service (upstream: pkg/analyzer,
pkg/core). Times are in milliseconds; rates are requests per millisecond inside, and per second outside.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Final

QUEUE: Final = 10
"""Requests that may wait, for each that is served at a time."""

LEAST: Final = 0.001
MOST: Final = 0.999
"""The range of arrival rates, as parts of the service rate of one request and of a full batch."""

TOLERANCE: Final = 1e-6
STEPS: Final = 100


class Infeasible(Exception):
    """A target that no load can meet, or a profile in which requests take no time; the text names it."""


@dataclass(frozen=True, slots=True)
class Profile:
    """What an accelerator does with a model: decoding takes alpha + beta·n, the prefill gamma + delta·tokens·n."""

    alpha: float
    beta: float
    gamma: float
    delta: float
    batch: int


@dataclass(frozen=True, slots=True)
class Load:
    """Requests per minute, and the average numbers of tokens."""

    rpm: float
    input: int
    output: int

    @property
    def idle(self) -> bool:
        """Whether there is nothing to size for."""
        return self.rpm <= 0 or self.output <= 0


@dataclass(frozen=True, slots=True)
class Targets:
    """Milliseconds to the first token, and per further token; 0: no target."""

    ttft: float
    tpot: float


@dataclass(frozen=True, slots=True)
class Sizing:
    """The highest rate of one replica within the targets, per second, and the target that limits it."""

    rate: float
    binding: str


@dataclass(frozen=True, slots=True)
class State:
    """The queue at one arrival rate.

    Throughput, the mean number of requests in service, and the times that a request waits, per output token, and to the
    first token.
    """

    throughput: float
    served: float
    wait: float
    tpot: float
    ttft: float


@dataclass(frozen=True)
class Queue:
    """The queue of one replica for requests of one size."""

    profile: Profile
    input: int
    output: int

    @cached_property
    def rates(self) -> list[float]:
        """The service rate with 1, 2, … requests in service."""
        if self._service(1) <= 0:
            raise Infeasible(f"perfParms: requests of {self.input} tokens in and {self.output} out take no time")
        return [n / self._service(n) for n in range(1, self.profile.batch + 1)]

    @cached_property
    def _logs(self) -> list[float]:
        """The logarithm of the product of the rates up to each number."""
        found, total = [0.0], 0.0
        for rate in self.rates:
            total += math.log(rate)
            found.append(total)
        return found

    def prefill(self, n: float) -> float:
        return 0.0 if self.input == 0 else self.profile.gamma + self.profile.delta * self.input * n

    def decode(self, n: float) -> float:
        return self.profile.alpha + self.profile.beta * n

    def _service(self, n: float) -> float:
        steps = 1 if self.input == 0 and self.output == 1 else self.output - 1
        return self.prefill(n) + steps * self.decode(n)

    @property
    def span(self) -> tuple[float, float]:
        return LEAST * self.rates[0], MOST * self.rates[-1]

    def bounded(self, arrival: float) -> float:
        """The rate of the span that is nearest to an arrival rate."""
        low, high = self.span
        return min(max(arrival, low), high)

    def at(self, arrival: float) -> State:
        """The state at an arrival rate within the span."""
        batch, waiting = self.profile.batch, QUEUE * self.profile.batch
        log = math.log(arrival)
        weights = [n * log - product for n, product in enumerate(self._logs)]
        top = max(weights)
        served = [math.exp(weight - top) for weight in weights]  # 0 to batch requests
        ratio = arrival / self.rates[-1]
        queued = served[-1] * ratio * (1 - ratio**waiting) / (1 - ratio)  # more than that
        total = sum(served) + queued
        full = served[-1] * ratio**waiting / total
        # the sum of j·ratio^j over the waiting
        lengths = ratio * (1 - (waiting + 1) * ratio**waiting + waiting * ratio ** (waiting + 1)) / (1 - ratio) ** 2
        in_service = (sum(n * weight for n, weight in enumerate(served)) + batch * queued) / total
        throughput = arrival * (1 - full)
        wait = max(served[-1] * lengths / total / throughput, 0.0)
        concurrency = self.concurrency(in_service / throughput)
        ttft = wait + self.prefill(concurrency)
        return State(throughput, in_service, wait, self.decode(concurrency), ttft)

    def concurrency(self, service: float) -> float:
        """The number in service at which one request takes the average time."""
        profile, steps = self.profile, self.output - 1
        slope = profile.delta * self.input + profile.beta * steps
        if slope == 0:
            return float(profile.batch)
        return min(max((service - profile.gamma - profile.alpha * steps) / slope, 0.0), float(profile.batch))


@lru_cache(1024)
def size(profile: Profile, targets: Targets, tokens_in: int, tokens_out: int) -> Sizing:
    """The highest rate of one replica.

    Raises:
        Infeasible: a target cannot be met even by an idle replica, or requests take no time.
    """
    queue = Queue(profile, tokens_in, tokens_out)
    low, high = queue.span
    limits = [(high, "capacity")]
    if targets.ttft:
        limits.append((highest(lambda rate: queue.at(rate).ttft, targets.ttft, low, high, "slo-ttft"), "slo-ttft"))
    if targets.tpot:
        limits.append((highest(lambda rate: queue.at(rate).tpot, targets.tpot, low, high, "slo-tpot"), "slo-tpot"))
    rate, binding = min(limits)
    return Sizing(queue.at(rate).throughput * 1000, binding)


def predict(profile: Profile, load: Load, replicas: int) -> tuple[float, float]:
    """The time per output token, and to the first token, with so many replicas."""
    queue = Queue(profile, load.input, load.output)
    state = queue.at(queue.bounded(load.rpm / 60_000 / replicas))
    return state.tpot, state.ttft


def highest(value: Callable[[float], float], target: float, low: float, high: float, name: str) -> float:
    """The highest rate with a value up to the target; values grow with the rate."""
    least = value(low)
    if least > target * (1 + TOLERANCE):
        raise Infeasible(f"{name} of {target:g} ms cannot be met: an idle replica takes {least:.2f} ms")
    if value(high) <= target:
        return high
    for _ in range(STEPS):
        middle = (low + high) / 2
        found = value(middle)
        if abs(found - target) <= TOLERANCE * target:
            return middle
        low, high = (middle, high) if found < target else (low, middle)
    return low
