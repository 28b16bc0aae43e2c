"""Metrics: requests by outcome, their duration, and the state that an operator monitors.

A counter of prometheus_client takes a lock, looks its labels up and adds floats, for each of five numbers of a review.
Those of the event loop are plain numbers, counted and read in one thread, that become metrics when they are scraped.
What happens is only noted; many notes are summed up together, which takes a fraction of the time of as many single sums
between other work.
"""

from __future__ import annotations

import collections
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import accumulate
from typing import Final

from prometheus_client import CollectorRegistry, Counter, Gauge, disable_created_metrics, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.registry import Collector
from prometheus_client.utils import floatToGoString

from webhook.cluster.view import Freshness
from webhook.ground import NAMESPACE, OTHER

disable_created_metrics()  # type: ignore[no-untyped-call]  # a second series for each counter, which nothing reads

NOTES: Final = 256
"""Notes to sum up together, which takes up to 40 µs."""


class LabelValues:
    """The values of a label: the first ``most`` that are asked for, and :data:`OTHER` for all that follow."""

    def __init__(self, most: int) -> None:
        self._most, self._names = most, set[str]()

    def of(self, name: str) -> str:
        """The name itself, or :data:`OTHER`; empty for an object without a namespace."""
        if name and name not in self._names:
            if len(self._names) >= self._most:
                return OTHER
            self._names.add(name)
        return name


class Counts(Collector):
    """How often each combination of labels has occurred."""

    def __init__(self, name: str, text: str, labels: tuple[str, ...]) -> None:
        self._name, self._text, self._labelnames = name, text, labels
        self._counts: collections.Counter[tuple[str, ...]] = collections.Counter()
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


# From the 100 µs of a small object to the API server's longest webhook timeout.
_BUCKETS = (0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)


class _View(Collector):
    def __init__(self, news: Callable[[], Iterable[Freshness]]) -> None:
        self._news = news

    def collect(self) -> Iterator[Metric]:
        silence = GaugeMetricFamily(
            "modelgate_view_silence_seconds",
            "Time since the last event of a watched kind; +Inf before the first list.",
            labels=["kind"],
        )
        held = GaugeMetricFamily("modelgate_view_objects", "Objects of a watched kind in memory.", labels=["kind"])
        for each in self._news():
            silence.add_metric([each.kind], each.silence)
            held.add_metric([each.kind], each.held)
        yield from (silence, held)


class _Counted(Collector):
    """What the engine counts itself; ``counts`` gives each number with its label, if there is one."""

    def __init__(self, name: str, text: str, counts: Callable[[], Iterable[tuple[str, int]]], label: str = "") -> None:
        self._name, self._text, self._counts, self._label = name, text, counts, label

    def collect(self) -> Iterator[Metric]:
        family = CounterMetricFamily(self._name, self._text, labels=[self._label] if self._label else [])
        for value, count in self._counts():
            family.add_metric([value] if self._label else [], count)
        yield family


class Metrics:
    """The metrics of one gate, in a separate registry.

    Labels have few values by construction: a kind outside the catalog is "other", and names are not labels. Namespaces
    are one only if ``namespaces`` is not 0: so many of them, the first in which something was found.
    """

    def __init__(self, namespaces: int = 0) -> None:
        self._namespaces = LabelValues(namespaces) if namespaces else None
        self.registry = CollectorRegistry()
        gauge, counter = partial(Gauge, registry=self.registry), partial(Counter, registry=self.registry)
        self.requests = Counts(
            "modelgate_requests",
            "Answers by call, kind, operation and outcome (allowed, denied, untouched, malformed, unavailable, fault).",
            ("call", "kind", "operation", "outcome"),
        )
        self.seconds = Times(
            "modelgate_request_seconds", "Time from the complete body to the answer.", "call", _BUCKETS
        )
        self.large = counter(
            "modelgate_large",
            "Large reviews by the outcome of their child process (done, error, memory, deadline, large, killed, shed).",
            ("outcome",),
        )
        self.errors = counter(
            "modelgate_http_errors",
            "Answers with an HTTP status of 400 or more, by path and status.",
            ("path", "status"),
        )
        labels = ("code", "action") if self._namespaces is None else ("code", "action", NAMESPACE)
        self.rules = Counts("modelgate_findings", "Findings by rule code and what came of them.", labels)
        for counts in (self.requests, self.seconds, self.rules):
            self.registry.register(counts)
        self.catalog = gauge("modelgate_catalog_info", "The catalog in use.", ("digest", "packs"))
        self.fleet = gauge(
            "modelgate_fleet_info",
            "What clusters of one stage have in common: rules, packs, profile, policies and exceptions.",
            ("digest", "stage", "artefact"),
        )
        self.definitions = gauge(
            "modelgate_definition_differs",
            "Rules that are not applied to a kind, because an installed definition differs from Modelgate's or the "
            "release of the operator is not known.",
            ("kind",),
        )
        self.releases = gauge(
            "modelgate_release_info",
            "The release of each operator whose behaviour the rules describe, and what says so.",
            ("api", "release", "by"),
        )
        self.aside = gauge(
            "modelgate_rule_not_applied",
            "1 for each rule that is not applied to a kind, because an installed definition differs from Modelgate's.",
            ("kind", "code"),
        )
        self.uncovered = gauge(
            "modelgate_kind_without_rules",
            "1 for each kind for which the gate was called and of which it has no rules; twenty at most.",
            ("kind",),
        )
        self.reloads = counter(
            "modelgate_catalog_loads",
            "Sets of rules that were loaded (taken), or refused because of an error.",
            ("outcome",),
        )
        self.policies = gauge("modelgate_admission_policies_info", "The admission policies in use.", ("digest",))
        self.policy_reloads = counter(
            "modelgate_admission_policies_loads",
            "Sets of admission policies that were loaded (taken), or refused because of an error.",
            ("outcome",),
        )
        self.enforcement = gauge(
            "modelgate_enforcement_info", "The Enforcements and PolicyExceptions in force.", ("digest",)
        )
        self.enforced = gauge("modelgate_policies_in_force", "Enforcements and PolicyExceptions in force.", ("kind",))
        self.policies_refused = gauge(
            "modelgate_policies_refused",
            "Enforcements and PolicyExceptions that cannot be read; their last good state stays in force.",
        )
        self.policies_odd = gauge(
            "modelgate_policies_odd",
            "What is odd about Enforcements and PolicyExceptions, such as an unknown code: see the log.",
        )
        self.exceptions = Counts(
            "modelgate_exceptions_used", "Findings that a PolicyException kept from refusing an object.", ("exception",)
        )
        self.registry.register(self.exceptions)
        self.certificates_refused = counter(
            "modelgate_certificates_refused",
            "Pairs of certificate and key that were not taken up, because they cannot be used.",
        )

    def count_findings(self, findings: tuple[tuple[str, str], ...], namespace: str) -> None:
        """Count what was found in an object of a namespace, by code and action."""
        if self._namespaces is None:
            self.rules.add(*findings)
        else:
            name = self._namespaces.of(namespace)
            self.rules.add(*[(*finding, name) for finding in findings])

    def watch(self, news: Callable[[], Iterable[Freshness]]) -> None:
        """Report how current the view of the cluster is at each scrape."""
        self.registry.register(_View(news))

    def count_undecided(self, counts: Callable[[], Iterable[tuple[str, int]]]) -> None:
        """Report by kind what the function of all rules could not decide."""
        text = "Accepted objects whose rules were evaluated one by one, because one function for all could not decide."
        self.registry.register(_Counted("modelgate_rules_one_by_one", text, counts, "kind"))

    def count_missed_stamps(self, count: Callable[[], int]) -> None:
        """Report how many stamps this process did not remember."""
        text = "Stamps of objects that this process had not written for the same request lately; not of large reviews."
        self.registry.register(_Counted("modelgate_stamps_missed", text, lambda: [("", count())]))

    def text(self) -> bytes:
        return generate_latest(self.registry)
