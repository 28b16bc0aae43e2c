"""What the reconciler counts, for Prometheus. Only gauges of projections have labels with names of objects."""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, Final

import prometheus_client
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector, CollectorRegistry

from reconciler.guard import Guard
from reconciler.known import Known
from reconciler.projection import Gauge
from reconciler.queue import Queue
from reconciler.resource import Item
from webhook.ground import NAMESPACE, OTHER

prometheus_client.disable_created_metrics()  # type: ignore[no-untyped-call]  # as in the gate


OLDEST: Final = 10
"""Refused objects that metrics name: as many as a table of a dashboard shows."""


class Metrics(Collector):
    """The metrics of one reconciler, in a registry of their own."""

    def __init__(self, queue: Queue[Item], guard: Guard, known: Mapping[Item, Known], namespaces: int = 0) -> None:
        self._namespaces = namespaces
        self._queue = queue
        self._guard = guard
        self._known = known
        self.leading = False
        self.registry = CollectorRegistry()
        text = "Time to reconcile one object."
        self.seconds = prometheus_client.Histogram("modelgate_reconcile_seconds", text, registry=self.registry)
        text, labels = "Writes to the API server, without dry runs.", ["verb", "resource"]
        self.writes = prometheus_client.Counter("modelgate_writes", text, labels, registry=self.registry)
        self.registry.register(self)

    def text(self) -> str:
        return prometheus_client.generate_latest(self.registry).decode().rstrip()

    def collect(self) -> Iterator[Metric]:
        all_known = [*self._known.items()]
        findings = Counter((code,) for _, known in all_known for code in known.codes)
        yield self._objects(all_known)
        if self._namespaces:
            labels = ["group", "kind", NAMESPACE, "name"]
            refused = [
                (k.since, (*item.kind, item.key.namespace, item.key.name))
                for item, k in all_known
                if k.said and not k.said.status
            ]
            oldest = {about: since for since, about in heapq.nsmallest(OLDEST, refused)}
            yield _gauge("modelgate_refused_since_seconds", "The objects that are refused longest.", labels, oldest)
        yield _gauge("modelgate_object_findings", "Objects with a finding.", ["code"], findings)
        held = dict.fromkeys(self._guard.held.items(), 1)
        yield _gauge("modelgate_held_back", "APIs whose status another manager writes.", ["api", "manager"], held)
        text = "Objects whose status another manager writes."
        yield _gauge("modelgate_held_back_objects", text, ["api"], self._guard.objects())
        yield GaugeMetricFamily("modelgate_queue_depth", "Objects that wait for a worker.", len(self._queue))
        yield GaugeMetricFamily("modelgate_queue_age_seconds", "Time that the oldest has waited.", self._queue.age())
        yield from _families([gauge for _, known in all_known for gauge in known.gauges])
        yield GaugeMetricFamily("modelgate_leader", "1 if this process leads.", int(self.leading))

    def _objects(self, all_known: list[tuple[Item, Known]]) -> GaugeMetricFamily:
        """Objects by verdict and, on request, by the namespaces with the most objects that are refused."""
        verdicts = [(item, state.said) for item, state in all_known if state.said is not None]
        labels = ["group", "kind", "verdict"]
        if not self._namespaces:
            counts = Counter((*item.kind, verdict.reason) for item, verdict in verdicts)
            return _gauge("modelgate_objects", "Objects by verdict.", labels, counts)
        worst = Counter(item.key.namespace for item, _ in verdicts)  # each is there, those with refusals first
        worst.update({item.key.namespace: len(verdicts) for item, verdict in verdicts if not verdict.status})
        named = {"", *(name for name, _ in worst.most_common(self._namespaces))}
        spread = Counter(
            (*item.kind, verdict.reason, item.key.namespace if item.key.namespace in named else OTHER)
            for item, verdict in verdicts
        )
        return _gauge("modelgate_objects", "Objects by verdict.", [*labels, NAMESPACE], spread)


def _gauge(name: str, text: str, labels: list[str], values: Mapping[Any, float]) -> GaugeMetricFamily:
    family = GaugeMetricFamily(name, text, labels=labels)
    for key, value in sorted(values.items()):
        family.add_metric(key, value)
    return family


def _families(gauges: list[Gauge]) -> Iterator[GaugeMetricFamily]:
    for name in sorted({gauge.name for gauge in gauges}):
        same = [gauge for gauge in gauges if gauge.name == name]
        values = {tuple(gauge.labels.values()): gauge.value for gauge in same}
        yield _gauge(name, "A signal of a projection.", [*same[0].labels], values)
