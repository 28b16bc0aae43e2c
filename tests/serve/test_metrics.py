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
from tests.serve.test_noted import KIND, MODEL, RESOURCE
from tests.shared import ROOT
from webhook import catalog, engine
from webhook.admission.decision import GroupVersionKind, Request
from webhook.cluster.view import Freshness
from webhook.engine import Options
from webhook.policy import Profile
from webhook.serve.gate import Gate
from webhook.serve.gate.state import Call
from webhook.serve.metrics import Metrics
from webhook.serve.tls import Trust


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


def test_findings_have_the_namespace_of_some_objects_on_request() -> None:
    gate = Gate(catalog=catalog.load(), metrics=Metrics(namespaces=2))
    for namespace in ("a", "b", "c", "d", "a"):
        reply(gate, "validate", {**MODEL, "metadata": {"name": "m", "namespace": namespace}, "spec": {}})
    text = gate.metrics.text().decode()
    line = re.compile(r'^modelgate_findings_total{.*code="schema",object_namespace="(\w+)"} (\S+)$', re.MULTILINE)
    counted = dict(line.findall(text))
    assert counted == {"a": "2.0", "b": "1.0", "other": "2.0"}
    assert "object_namespace" not in Metrics().text().decode()


def test_a_stamp_that_another_process_has_written_is_counted() -> None:
    here, other = Gate(catalog=catalog.load()), Gate(catalog=catalog.load())
    model = {**MODEL, "spec": {"source": "hf://org/repo"}}
    asked = Request(GroupVersionKind(**KIND), "models", "CREATE", model)
    stamped = engine.mutate(asked, catalog.load(), here.state.view).object
    reply(here, "mutate", model)
    reply(here, "validate", stamped)
    assert here.state.recent.missed == 0
    reply(other, "validate", stamped)
    assert other.state.recent.missed == 1


def test_a_stamp_that_was_written_under_options_that_have_been_replaced_is_computed_again() -> None:
    gate = Gate(catalog=catalog.load(), options=Options(Profile.STRICT))
    model = {**MODEL, "spec": {"source": "hf://org/repo"}}
    asked = Request(GroupVersionKind(**KIND), "models", "CREATE", model)
    assert gate.state.catalog is not None
    stamped = engine.mutate(asked, gate.state.catalog, gate.state.view, Options(Profile.STRICT)).object
    reply(gate, "mutate", model)
    gate.replace(options=Options(Profile.STANDARD))
    reply(gate, "validate", stamped)
    assert gate.state.recent.missed == 1


def reply(gate: Gate, call: Call, obj: Any) -> bytes:
    where = obj["metadata"].get("namespace", "")
    review = a_review(kind=KIND, resource=RESOURCE, name="m", namespace=where, object=obj)
    found = gate.reply_now(call, json.dumps(review).encode(), None)
    assert found is not None
    given, finish = found
    finish()
    return given


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
