"""VariantAutoscalings on a real API server, with a Prometheus of the test: load comes, holds and goes."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

import pytest

from tests.e2e.kinds import KINDS
from tests.e2e.processes import wait_until
from tests.e2e.reconciling import Reconciler, condition

ROW = next(row for row in KINDS if row.kind == "VariantAutoscaling")
CLASSES = "name: c\npriority: 1\ndata:\n- {model: default/default, slo-tpot: 24, slo-ttft: 500}\n"
SETS = ("reconciler.apis.llmd=true", "reconciler.namespaces={*}")


class Handler(BaseHTTPRequestHandler):
    def log_message(self, *_):
        pass

    def do_GET(self):
        query = parse_qs(urlsplit(self.path).query)["query"][0]
        values = self.server.values
        found = next((value for word, value in values.items() if word in query), None)
        result = [] if found is None else [{"metric": {}, "value": [0, str(found)]}]
        body = json.dumps({"status": "success", "data": {"resultType": "vector", "result": result}}).encode()
        self.send_response(200 if values else 503)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


@pytest.fixture(scope="module")
def prometheus():
    """The values of queries, by a word that they contain; empty: it does not answer."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.values = {}
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture(scope="module")
def reconciler(plane, gate, prometheus):  # noqa: ARG001  (behind the gate)
    address = f"http://127.0.0.1:{prometheus.server_address[1]}"
    flags = ("--profile=strict", "--apis=llmd", f"--prometheus={address}", "--llmd-interval=1")
    with Reconciler(plane, *flags, sets=SETS, name="autoscaling") as started:
        yield started


def load(requests):
    """Requests a second of 100 tokens in and out."""
    return {"timestamp": 1, "_tokens_": 100, "request_success": requests}


def deployment(name, replicas):
    labels = {"app": name}
    pod = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "c", "image": "registry.example/none:1"}]}}
    spec = {"replicas": replicas, "selector": {"matchLabels": labels}, "template": pod}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name}, "spec": spec}


def decided(kubectl, name, replicas, reason):
    def there():
        obj = kubectl.find(ROW.resource, name)
        found = obj.get("status", {}).get("desiredOptimizedAlloc", {}).get("numReplicas")
        ready = condition(obj, "OptimizationReady")
        return obj if (found, ready.get("reason")) == (replicas, reason) else None

    return wait_until(there, f"{replicas} replicas, {reason}")


def test_a_variant_follows_its_load_holds_without_metrics_and_takes_its_series_along(kubectl, reconciler, prometheus):
    prometheus.values = load(10)
    kubectl.send("create", ROW.object("scaled"))
    obj = wait_until(lambda: condition(kubectl.find(ROW.resource, "scaled"), "OptimizationReady"), "a decision")
    assert (obj["status"], obj["reason"]) == ("False", "OptimizationFailed")
    kubectl.send("create", deployment("scaled", 2))
    config = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "service-classes-config"}}
    kubectl.send("create", {**config, "data": {"premium.yaml": CLASSES}})
    up = decided(kubectl, "scaled", 9, "OptimizationSucceeded")
    assert condition(up, "MetricsAvailable")["status"] == "True"
    assert condition(up, "Normalised")["status"] == "True"
    assert up["status"]["actuation"] == {"applied": True}
    assert reconciler.metric("inferno_desired_replicas{") == 9
    assert 'variant_name="scaled"' in reconciler.get("/metrics")
    prometheus.values = {}
    held = decided(kubectl, "scaled", 9, "MetricsUnavailable")
    assert condition(held, "MetricsAvailable")["reason"] == "PrometheusError"
    prometheus.values = load(0)
    decided(kubectl, "scaled", 1, "OptimizationSucceeded")
    kubectl("delete", ROW.resource, "scaled")
    wait_until(lambda: 'variant_name="scaled"' not in reconciler.get("/metrics"), "the series to go")
    assert kubectl.find("deployment", "scaled")["spec"]["replicas"] == 2  # signals only


def test_the_chart_gave_every_right_that_was_needed_and_nothing_went_wrong(reconciler):
    assert not reconciler.forbidden()
    assert "Traceback" not in reconciler.log()
