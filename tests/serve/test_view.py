"""What the gate does with a view of a cluster: reads what memory does not know, and never takes silence for no."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from starlette.testclient import TestClient

from webhook import engine
from webhook.admission.decision import Cause, Decision
from webhook.admission.errors import NotReady, Unavailable
from webhook.catalog import Catalog, Kinds
from webhook.cluster import Kind, MemoryView
from webhook.cluster.view import Freshness
from webhook.serve.app import application
from webhook.serve.gate import Gate
from webhook.serve.gate.review import ROUNDS
from webhook.serve.liveview import ViewRunner

KIND = Kind("ome.io", "BaseModel")
REVIEW = {
    "apiVersion": "admission.k8s.io/v1",
    "kind": "AdmissionReview",
    "request": {
        "uid": "1",
        "kind": {"group": "ome.io", "version": "v1beta1", "kind": "InferenceService"},
        "resource": {"group": "ome.io", "version": "v1beta1", "resource": "inferenceservices"},
        "operation": "CREATE",
        "name": "s",
        "namespace": "n",
        "object": {"apiVersion": "ome.io/v1beta1", "kind": "InferenceService", "metadata": {"name": "s"}, "spec": {}},
    },
}


class Everything(Catalog):
    """Knows every kind, so that the view is looked at."""

    def find(self, gvk: Any) -> Any:
        return gvk


class Cluster(MemoryView):
    """A cluster in which memory holds nothing and the API server some objects."""

    def __init__(self, stored: tuple[str, ...] = (), error: Exception | None = None) -> None:
        super().__init__()
        self.stored, self.error = stored, error
        self.reads: list[str] = []
        self.reasons: list[str] = []
        self.all_listed = True
        self.heard = Freshness("ome.io/BaseModel", float("inf"), 0)
        self.release = threading.Event()
        self.release.set()

    def start(self) -> None: ...

    def stop(self) -> None:
        self.reasons.append("stopped")

    def cached(self, _reference: Any) -> tuple[bool, None]:
        return False, None

    def listed(self, _kind: Kind) -> bool:
        return self.all_listed

    def follows(self, _kind: Kind) -> bool:
        return True

    def unready(self) -> list[str]:
        return self.reasons

    def freshness(self) -> list[Freshness]:
        return [self.heard]

    def read(self, reference: Any, timeout: float) -> dict[str, Any] | None:
        assert timeout <= 5
        self.reads.append(str(reference))
        self.release.wait(10)
        if self.error:
            raise self.error
        return {"metadata": {"name": reference.name}} if reference.name in self.stored else None


@contextmanager
def served(cluster: Cluster) -> Iterator[TestClient]:
    """A gate that has found its cluster."""
    live_view = ViewRunner(lambda: cluster)
    gate = Gate(catalog=Everything(Kinds({}), "digest"), live_view=live_view)
    with TestClient(application(gate, [live_view.running]), raise_server_exceptions=False) as client:
        live_view._thread.join()
        yield client


def reading(monkeypatch: pytest.MonkeyPatch, *chain: str) -> None:
    """The engine follows a chain of references as far as it leads, and allows what it can follow to the end."""

    def decide(_request: object, _catalog: object, view: Any, _options: object) -> Decision:
        return Decision({}, warnings=(), causes=() if all(view.get(KIND, "n", each) for each in chain) else CAUSES)

    monkeypatch.setattr(engine, "validate", decide)


CAUSES = (Cause("spec.model", "FieldValueNotFound", "there is no such model"),)


def test_each_reference_is_read_once_and_then_decided_upon(monkeypatch: pytest.MonkeyPatch) -> None:
    reading(monkeypatch, "a", "b", "c")
    cluster = Cluster(("a", "b", "c"))
    with served(cluster) as client:
        assert client.post("/validate", json=REVIEW, params={"timeout": "5s"}).json()["response"]["allowed"]
    assert cluster.reads == ["BaseModel n/a", "BaseModel n/b", "BaseModel n/c"]


def test_what_the_api_server_does_not_have_is_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    reading(monkeypatch, "a", "b")
    with served(Cluster(("a",))) as client:
        assert not client.post("/validate", json=REVIEW).json()["response"]["allowed"]
        counted = client.get("/metrics").text
    assert 'operation="CREATE",outcome="denied"} 1.0' in counted  # one request, however often it was tried


def test_an_api_server_that_does_not_say_is_a_503_and_not_a_denial(monkeypatch: pytest.MonkeyPatch) -> None:
    reading(monkeypatch, "a")
    with served(Cluster(error=Unavailable("BaseModel n/a cannot be read"))) as client:
        answer = client.post("/validate", json=REVIEW)
    assert (answer.status_code, answer.text) == (503, "BaseModel n/a cannot be read\n")


def test_a_read_that_takes_too_long_is_cut_off_and_named_and_others_are_answered(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    reading(monkeypatch, "a")
    cluster = Cluster()
    cluster.release.clear()
    with served(cluster) as client:
        answer = client.post("/validate", json=REVIEW, params={"timeout": "0.2s"})
        assert client.get("/healthz").status_code == 200
        cluster.release.set()
    assert answer.status_code == 503
    assert answer.text == "no time left to read BaseModel n/a: the caller waits 0.2s\n"


def test_a_chain_without_end_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    names = [str(number) for number in range(ROUNDS + 1)]
    reading(monkeypatch, *names)
    with served(Cluster(tuple(names))) as client:
        assert client.post("/validate", json=REVIEW).status_code == 503
        assert 'outcome="unavailable"} 1.0' in client.get("/metrics").text


def test_a_list_that_is_not_known_yet_is_a_503(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = Cluster()
    cluster.all_listed = False
    monkeypatch.setattr(engine, "validate", lambda _r, _c, view, _o: Decision({"n": len(view.list(KIND))}))
    with served(cluster) as client:
        answer = client.post("/validate", json=REVIEW)
    assert (answer.status_code, answer.text) == (503, "ome.io/BaseModel is not listed yet\n")


def test_what_is_wrong_with_the_view_is_why_the_gate_is_not_ready() -> None:
    cluster = Cluster()
    with served(cluster) as client:
        assert client.get("/readyz").status_code == 200
        cluster.reasons = ["no event of ome.io/BaseModel for 200 s"]
        answer = client.get("/readyz")
        assert (answer.status_code, answer.text) == (503, "no event of ome.io/BaseModel for 200 s\n")
    assert cluster.reasons[-1] == "stopped"


def test_the_metrics_show_how_current_the_view_is_when_they_are_read() -> None:
    cluster = Cluster()
    live_view = ViewRunner(lambda: cluster)
    gate = Gate(catalog=Everything(Kinds({}), "digest"), live_view=live_view)
    gate.metrics.watch(live_view.freshness)
    assert b"modelgate_view_objects{" not in gate.metrics.text()  # there is no view yet
    with TestClient(application(gate, [live_view.running])) as client:
        live_view._thread.join()
        cluster.heard = Freshness("ome.io/BaseModel", 12.5, 3)
        shown = client.get("/metrics").text
        assert 'modelgate_view_silence_seconds{kind="ome.io/BaseModel"} 12.5\n' in shown
        assert 'modelgate_view_objects{kind="ome.io/BaseModel"} 3.0\n' in shown
        cluster.heard = Freshness("ome.io/BaseModel", float("inf"), 0)
        assert 'modelgate_view_silence_seconds{kind="ome.io/BaseModel"} +Inf\n' in client.get("/metrics").text


def test_without_a_way_to_the_api_server_the_gate_says_so_and_decides_nothing() -> None:
    def make() -> Cluster:
        raise NotReady("there is no way to the API server: no token")

    live_view = ViewRunner(make)
    gate = Gate(catalog=Everything(Kinds({}), "digest"), live_view=live_view)
    assert gate.unready() == ["not connected to the API server yet"]
    with TestClient(application(gate, [live_view.running])) as client:
        assert client.post("/validate", json=REVIEW).status_code == 503
        assert client.get("/readyz").status_code == 503
