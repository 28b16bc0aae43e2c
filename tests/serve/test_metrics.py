"""The page of the metrics names those that there are, with their labels."""

import re

from prometheus_client.samples import Sample

from tests.shared import ROOT
from webhook.cluster.view import Freshness
from webhook.serve.metrics import Metrics


def test_the_page_names_every_metric_and_its_labels() -> None:
    metrics = Metrics()
    metrics.watch(lambda: [Freshness("ome.io/BaseModel", 1.0, 1)])
    shown = {
        (metric.name + ("_total" if metric.type == "counter" else ""), labels_of(metrics, metric.name, metric.samples))
        for metric in metrics.registry.collect()
    }
    rows = re.findall(r"^\| `(\w+)` \| ([\w, ]*?) ?\|", (ROOT / "docs" / "metrics.md").read_text(), re.MULTILINE)
    assert {(name, tuple(labels.replace(",", "").split())) for name, labels in rows} == shown


def labels_of(metrics: Metrics, name: str, samples: list[Sample]) -> tuple[str, ...]:
    """Of a metric that has been declared, or of one that is made when it is read."""
    declared = [each._labelnames for each in vars(metrics).values() if getattr(each, "_name", None) == name]
    return tuple(declared[0]) if declared else tuple(samples[0].labels)
