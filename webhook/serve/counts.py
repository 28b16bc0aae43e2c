"""Counters and times of the event loop: plain numbers that become metrics when they are scraped.

A counter of prometheus_client takes a lock, looks its labels up and adds floats, for each of five numbers of a review.
These are counted and read in one thread. What happens is only noted; many notes are summed up together, which takes a
fraction of the time of as many single sums between other work.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator
from itertools import accumulate
from typing import Final

from prometheus_client.core import CounterMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.registry import Collector
from prometheus_client.utils import floatToGoString

__all__ = ["Counts", "Times"]

NOTES: Final = 256
"""Notes to sum up together, which takes up to 40 µs."""


class Counts(Collector):
    """How often each combination of labels has occurred."""

    def __init__(self, name: str, text: str, labels: tuple[str, ...]) -> None:
        self._name, self._text, self._labelnames = name, text, labels
        self._counts: Counter[tuple[str, ...]] = Counter()
        self._notes: list[tuple[str, ...]] = []

    def add(self, *found: tuple[str, ...]) -> None:
        """Count one occurrence of each of these combinations."""
        notes = self._notes
        notes += found
        if len(notes) >= NOTES:
            self._sum()

    def _sum(self) -> None:
        self._counts.update(self._notes)
        self._notes.clear()

    def collect(self) -> Iterator[Metric]:
        self._sum()
        family = CounterMetricFamily(self._name, self._text, labels=self._labelnames)
        for labels, count in self._counts.items():
            family.add_metric(labels, count)
        yield family


class Times(Collector):
    """How long something took, in seconds, as a histogram with one label."""

    def __init__(self, name: str, text: str, label: str, buckets: tuple[float, ...]) -> None:
        self._name, self._text, self._labelnames = name, text, (label,)
        self._bounds = (*buckets, float("inf"))
        self._counts: dict[str, list[int]] = {}
        self._sums: dict[str, float] = {}
        self._notes: list[tuple[str, float]] = []

    def add(self, label: str, seconds: float) -> None:
        """Count one duration."""
        notes = self._notes
        notes.append((label, seconds))
        if len(notes) >= NOTES:
            self._sum()

    def _sum(self) -> None:
        for label, seconds in self._notes:
            counts = self._counts.get(label)
            if counts is None:
                counts, self._sums[label] = self._counts.setdefault(label, [0] * len(self._bounds)), 0.0
            counts[bisect_left(self._bounds, seconds)] += 1
            self._sums[label] += seconds
        self._notes.clear()

    def collect(self) -> Iterator[Metric]:
        self._sum()
        family = HistogramMetricFamily(self._name, self._text, labels=self._labelnames)
        bounds = list(map(floatToGoString, self._bounds))
        for label, counts in self._counts.items():
            buckets = list(zip(bounds, map(float, accumulate(counts)), strict=True))
            family.add_metric((label,), buckets, self._sums[label])
        yield family
