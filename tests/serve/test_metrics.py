"""The page of the metrics names those that there are, with their labels."""

import json
import re
from pathlib import Path
from typing import Any

from prometheus_client.samples import Sample

from certs.issue import issue
from certs.names import LOCAL
from tests.certs.material import NOW, ca
from tests.serve.test_app import a_review
from tests.shared import ROOT
from webhook import engine
from webhook.admission.request import GroupVersionKind, Request
from webhook.cluster.view import Freshness
from webhook.engine import catalog
from webhook.serve.gate import Gate
from webhook.serve.judgement import Call
from webhook.serve.metrics import Metrics
from webhook.serve.trust import Trust

GVK = GroupVersionKind("inference.llmkube.dev", "v1alpha1", "Model")
MODEL = Request(
    GVK,
    "models",
    "CREATE",
    {
        "apiVersion": f"{GVK.group}/{GVK.version}",
        "kind": GVK.kind,
        "metadata": {"name": "m", "namespace": "n"},
        "spec": {"source": "hf://org/repo"},
    },
    name="m",
    namespace="n",
)


def test_the_page_names_every_metric_and_its_labels(tmp_path: Path) -> None:
    metrics = Metrics()
    metrics.registry.register(certificate_in(tmp_path))
    metrics.watch(lambda: [Freshness("ome.io/BaseModel", 1.0, 1)])
    metrics.count_undecided(lambda: [("BaseModel", 1)])
    metrics.count_missed_stamps(lambda: 1)
    shown = {
        (metric.name + ("_total" if metric.type == "counter" else ""), labels_of(metrics, metric.name, metric.samples))
        for metric in metrics.registry.collect()
    }
    page, _, _ = (ROOT / "docs" / "metrics.md").read_text().partition("### The reconciler")
    rows = re.findall(r"^\| `(\w+)` \| ([\w, ]*?) ?\|", page, re.MULTILINE)
    assert {(name, tuple(labels.replace(",", "").split())) for name, labels in rows} == shown


def test_a_stamp_that_another_process_has_written_is_counted() -> None:
    here, other = Gate(catalog=catalog.load()), Gate(catalog=catalog.load())
    whole = engine.mutate(MODEL, other.catalog, other.view).object
    for gate, expected in ((other, 0), (here, 1)):
        if gate is other:
            asked(gate, "mutate", MODEL.object)
        asked(gate, "validate", whole)
        assert gate.missed_stamps() == expected


def asked(gate: Gate, call: Call, obj: Any) -> None:
    kind, resource = MODEL.kind, {"group": MODEL.kind.group, "version": MODEL.kind.version, "resource": MODEL.resource}
    review = a_review(kind=kind._asdict(), resource=resource, name="m", object=obj)
    assert gate.reply_now(call, json.dumps(review).encode(), None) is not None


def certificate_in(folder: Path) -> Trust:
    """Of which everything is known."""
    issue(folder, ca(), LOCAL, NOW)
    (folder / "status.json").write_text(json.dumps({"looked_at": NOW.timestamp(), "configurations": {"a": "current"}}))
    trust = Trust(folder, lambda: NOW)
    trust.serve(None)
    trust.refresh()
    return trust


def labels_of(metrics: Metrics, name: str, samples: list[Sample]) -> tuple[str, ...]:
    """Of a metric that has been declared, or of one that is made when it is read."""
    declared = [each._labelnames for each in vars(metrics).values() if getattr(each, "_name", None) == name]
    return tuple(declared[0]) if declared else tuple(samples[0].labels)
