"""The HTTP face: every bad input gets a status and one sentence; faults are 5xx; decisions are 200."""

from collections.abc import Iterator
from typing import Any

import orjson
import pytest
from starlette.testclient import TestClient

from webhook import engine
from webhook.admission.decision import Cause, Decision
from webhook.admission.errors import Fault, Unavailable
from webhook.catalog import Catalog, Kinds
from webhook.serve.app import application
from webhook.serve.gate import Gate
from webhook.serve.http.bodies import BODY_LIMIT

DEPLOYMENT = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web", "namespace": "n"}, "spec": {}}


def a_review(**changes: Any) -> dict[str, Any]:
    request = {
        "uid": "1",
        "kind": {"group": "apps", "version": "v1", "kind": "Deployment"},
        "resource": {"group": "apps", "version": "v1", "resource": "deployments"},
        "operation": "CREATE",
        "name": "web",
        "namespace": "n",
        "object": DEPLOYMENT,
        **changes,
    }
    return {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request}


@pytest.fixture
def gate() -> Gate:
    return Gate(catalog=Catalog(Kinds({}), "digest"))


@pytest.fixture
def client(gate: Gate) -> Iterator[TestClient]:
    with TestClient(application(gate), raise_server_exceptions=False) as client:
        yield client


def post(client: TestClient, body: bytes, content_type: str = "application/json", path: str = "/validate") -> Any:
    return client.post(path, content=body, headers={"content-type": content_type})


@pytest.mark.parametrize("path", ["/mutate", "/validate"])
def test_a_kind_we_do_not_know_passes_untouched(client: TestClient, path: str) -> None:
    answer = client.post(path, json=a_review(), params={"timeout": "5s"})
    assert answer.status_code == 200
    assert answer.json()["response"] == {"uid": "1", "allowed": True}


@pytest.mark.parametrize(
    ("body", "content_type", "status", "sentence"),
    [
        (b"{}", "text/plain", 415, 'send application/json, not "text/plain"'),
        (b"{}", "", 415, 'send application/json, not ""'),
        (b"not json", "application/json", 400, "the body is not JSON"),
        (b"{}", "application/json; charset=utf-8", 400, "expected kind AdmissionReview"),
        (b"[" * 10_000, "application/json", 400, "the body is not JSON"),
        (orjson.dumps(a_review(object=None)), "application/json", 400, "request.object is missing on CREATE"),
        (b"x" * (BODY_LIMIT + 1), "application/json", 413, f"the body is over the limit of {BODY_LIMIT} bytes"),
    ],
)
def test_bad_input_gets_a_status_and_one_sentence(
    client: TestClient, body: bytes, content_type: str, status: int, sentence: str
) -> None:
    answer = post(client, body, content_type)
    assert answer.status_code == status
    assert answer.text.startswith(sentence)
    assert answer.text.count("\n") == 1
    assert "Traceback" not in answer.text


def test_a_chunked_body_over_the_limit_is_refused_too(client: TestClient) -> None:
    chunks = (b" " * 65_536 for _ in range(BODY_LIMIT // 65_536 + 1))
    answer = client.post("/validate", content=chunks, headers={"content-type": "application/json"})
    assert answer.status_code == 413


def test_a_body_of_exactly_the_limit_is_read(client: TestClient) -> None:
    body = orjson.dumps(a_review())
    assert post(client, body + b" " * (BODY_LIMIT - len(body))).status_code == 200


@pytest.mark.parametrize(("method", "path", "status"), [("GET", "/mutate", 405), ("GET", "/nowhere", 404)])
def test_wrong_paths_and_methods_say_what_is_right(client: TestClient, method: str, path: str, status: int) -> None:
    answer = client.request(method, path)
    assert answer.status_code == status
    assert "/mutate" in answer.text


@pytest.mark.parametrize("timeout", ["soon", "-1s", "5", "1h"])
def test_a_timeout_must_be_a_duration(client: TestClient, timeout: str) -> None:
    answer = client.post("/mutate", json=a_review(), params={"timeout": timeout})
    assert answer.status_code == 400
    assert "duration" in answer.text


def test_before_the_catalog_is_loaded_nothing_is_let_through(gate: Gate, client: TestClient) -> None:
    gate.replace(loaded=None)
    assert client.get("/readyz").status_code == 503
    answer = client.post("/validate", json=a_review())
    assert answer.status_code == 503
    assert answer.headers["retry-after"] == "1"
    assert client.get("/healthz").text == "ok\n"


def test_a_gate_that_is_ready_says_by_which_rules(gate: Gate, client: TestClient) -> None:
    assert gate.state.catalog is not None
    shown = f"ok\ncatalog {gate.state.catalog.digest}\nfleet {gate.state.shared_digest()}\n"
    assert client.get("/readyz").text == shown
    gate.refuse("rules", "the new rules are not used")
    assert client.get("/readyz").text == shown.replace("ok", "ok, but the new rules are not used", 1)


def test_while_stopping_the_gate_is_not_ready_but_answers(gate: Gate, client: TestClient) -> None:
    gate.readiness.draining = True
    assert "stopping" in client.get("/readyz").text
    assert client.post("/validate", json=a_review()).status_code == 200


def test_a_deadline_that_is_over_is_a_503_that_names_the_step(monkeypatch: pytest.MonkeyPatch) -> None:
    ticks = iter([0.0, 2.0, 2.0, 2.0])
    gate = Gate(catalog=Catalog(Kinds({}), "digest"), clock=lambda: next(ticks))

    def slow(_request: object, _catalog: object, _view: object, options: Any) -> None:
        options.checkpoint("facts of the model")

    monkeypatch.setattr(engine, "validate", slow)
    with TestClient(application(gate)) as client:
        answer = client.post("/validate", json=a_review(), params={"timeout": "1s"})
    assert answer.status_code == 503
    assert answer.text == "no time left before facts of the model: the caller waits 1s\n"


@pytest.mark.parametrize("error", [Fault("rule XX101 could not be evaluated"), ZeroDivisionError("secret")])
def test_an_internal_fault_is_a_500_and_never_a_denial(
    client: TestClient, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    def broken(*_arguments: object) -> None:
        raise error

    monkeypatch.setattr(engine, "mutate", broken)
    answer = client.post("/mutate", json=a_review())
    assert answer.status_code == 500
    assert answer.text.startswith("internal fault: ")
    assert "secret" not in answer.text
    assert "Traceback" not in answer.text


def test_user_supplied_names_cannot_forge_log_lines(
    client: TestClient, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    forged = "web\n2026 ERROR modelgate: \x1b[31mforged\u2028"
    caplog.set_level("INFO", "modelgate")
    decision = Decision({}, (Cause(f"metadata.labels[{forged}]", "FieldValueInvalid", "must be text"),))
    monkeypatch.setattr(engine, "validate", lambda *_: decision)
    deployment = {**DEPLOYMENT, "metadata": {"name": forged, "namespace": "n"}}
    client.post("/validate", json=a_review(name=forged, object=deployment))
    for error in (Fault(forged), Unavailable(forged)):

        def broken(*_: object, error: Exception = error) -> None:
            raise error

        monkeypatch.setattr(engine, "validate", broken)
        client.post("/validate", json=a_review())
    shown = [each.getMessage() for each in caplog.records]
    assert len([each for each in shown if r"web\n2026 ERROR modelgate: \x1b[31mforged\u2028" in each]) == 3
    assert not any(control in each for each in shown for control in "\n\x1b\u2028")


def unread(client: TestClient) -> tuple[list[str], int]:
    """The lines of readiness about kinds without rules, and how many kinds the metric has."""
    lines = [line for line in client.get("/readyz").text.splitlines() if "allowed unread" in line]
    return lines, client.get("/metrics").text.count("modelgate_kind_without_rules{")


def test_a_kind_without_rules_is_said_once_until_other_rules_count(
    gate: Gate, client: TestClient, caplog: pytest.LogCaptureFixture
) -> None:
    assert unread(client) == ([], 0)
    for call in ("mutate", "validate", "validate"):
        assert client.post(f"/{call}", json=a_review()).json()["response"]["allowed"]
    remedy = "nothing has rules for it; give its pack by --policies, or take it out of the webhooks"
    text = f"called for Deployment.v1.apps, which is allowed unread: {remedy}"
    assert unread(client) == ([text], 1)
    assert [each.getMessage() for each in caplog.records if "unread" in each.getMessage()] == [text]
    client.post("/validate", json=a_review(subResource="scale"))
    for number in range(40):
        kind = {"group": "apps", "version": "v1", "kind": f"Kind{number}" + "x" * 400}
        client.post("/validate", json=a_review(kind=kind, object={**DEPLOYMENT, "kind": kind["kind"]}))
    lines, count = unread(client)
    assert (len(lines), count) == (20, 20)
    assert all(len(line) < 400 for line in lines)
    gate.use(Catalog(Kinds({}), "another"))
    assert unread(client) == ([], 0)


def test_a_version_without_rules_is_said(loaded: Catalog) -> None:
    gate = Gate(catalog=loaded)
    with TestClient(application(gate)) as client:
        api = {"group": "inference.llmkube.dev", "version": "v2"}
        obj = {"apiVersion": "inference.llmkube.dev/v2", "kind": "Model", "metadata": {"name": "web"}, "spec": {}}
        changes = {"kind": {**api, "kind": "Model"}, "resource": {**api, "resource": "models"}, "object": obj}
        client.post("/validate", json=a_review(**changes))
        (line,), _ = unread(client)
    assert "called for Model.v2.inference.llmkube.dev, which is allowed unread: only v1alpha1 of it has rules" in line


def test_requests_are_counted_by_outcome(client: TestClient) -> None:
    client.post("/validate", json=a_review())
    post(client, b"{")
    text = client.get("/metrics").text
    assert 'modelgate_requests_total{call="validate",kind="other",operation="CREATE",outcome="untouched"} 1.0' in text
    assert 'modelgate_requests_total{call="validate",kind="",operation="",outcome="malformed"} 1.0' in text
    assert 'modelgate_request_seconds_count{call="validate"} 2.0' in text
