"""A decision has an id, which the audit log of the API server and the log of the gate have."""

import json
import logging
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.testclient import TestClient

from tests.serve.test_app import a_review
from webhook import catalog
from webhook.admission.decision import Cause, Decision, GroupVersionKind, Request
from webhook.cli.logs import JsonFormatter
from webhook.serve.app import application
from webhook.serve.gate import Gate, judgement
from webhook.serve.http.answers import Answers
from webhook.serve.noted import FINDINGS, USERS, Journal, Noted, noted

MODEL = {"apiVersion": "inference.llmkube.dev/v1alpha1", "kind": "Model", "metadata": {"name": "m", "namespace": "n"}}
KIND = {"group": "inference.llmkube.dev", "version": "v1alpha1", "kind": "Model"}
RESOURCE = {"group": "inference.llmkube.dev", "version": "v1alpha1", "resource": "models"}


@pytest.fixture(scope="module")
def client() -> TestClient:
    gate = Gate(catalog=catalog.load().compiled())  # as the server has it: nothing is read in its event loop
    return TestClient(Answers(application(gate), gate.metrics))


def review(uid: str = "1") -> dict[str, Any]:
    user = {"username": "ann\nout"}
    return a_review(uid=uid, kind=KIND, resource=RESOURCE, name="m", namespace="n", object=MODEL, userInfo=user)


def test_the_log_line_of_a_denial_has_the_id_of_the_audit_annotation(
    client: TestClient, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    caplog.set_level("INFO", "modelgate")
    refused = Decision({}, (Cause("spec.source", "FieldValueInvalid", "secret", code="LK101"),))
    monkeypatch.setattr(judgement.engine, "validate", lambda *_: refused)
    answer = client.post("/validate", json=review()).json()["response"]
    (record,) = caplog.records
    line = json.loads(JsonFormatter().format(record))
    assert answer["allowed"] is False
    assert line.pop("time").endswith("+00:00")
    assert line.pop("message").endswith(f"(decision {line['decision']})")
    assert line == {
        "level": "info",
        "logger": "modelgate",
        "call": "validate",
        "kind": "Model",
        "operation": "CREATE",
        "outcome": "denied",
        "code": "LK101",
        "field": "spec.source",
        "findings": [{"code": "LK101", "field": "spec.source"}],
        "decision": answer["auditAnnotations"]["decision"],
        "namespace": "n",
        "name": "m",
        "user": "ann\\nout",
        "peer": "testclient:50000",
    }


def test_the_same_request_has_the_same_id_and_another_one_has_another(client: TestClient) -> None:
    first, again, other = (client.post("/mutate", json=review(uid)).content for uid in ("1", "1", "2"))
    assert first == again
    found = [json.loads(each)["response"]["auditAnnotations"]["decision"] for each in (first, other)]
    assert len({len(each) for each in found} | {16}) == 1
    assert found[0] != found[1]


@pytest.mark.parametrize(("users", "user"), [("name", "ann"), ("hash", "49915e0d7d4b402e"), ("none", "")])
def test_a_user_is_named_as_the_administrator_wants(users: str, user: str, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO", "modelgate")
    Journal(users).note(Noted("validate", "Model", "CREATE", "denied", (("LK101", ""),), "0" * 16, "n", "m", "ann"))
    (record,) = caplog.records
    assert record.__dict__["fields"]["user"] == user
    assert "ann" not in record.getMessage()


def test_a_line_has_some_findings_of_an_object_with_thousands() -> None:
    request = Request(GroupVersionKind("g", "v1", "K"), "ks", "CREATE", {}, user={"username": 3})
    causes = (Cause("spec", "FieldValueInvalid", "x", code="LK101"),) * 5_000
    line = noted("validate", request, "denied", causes, "0" * 16)
    assert len(line.causes) == FINDINGS
    assert line.user == ""


@given(user=st.text(), name=st.text(), field=st.text())
def test_what_users_choose_is_one_line_of_text_and_of_json(user: str, name: str, field: str) -> None:
    handler, log = Kept(), logging.getLogger("modelgate")
    log.setLevel("INFO")
    log.addHandler(handler)
    try:
        for users in USERS:
            Journal(users).note(
                Noted("validate", "Model", "CREATE", "denied", (("LK101", field),), "0", name, name, user)
            )
    finally:
        log.removeHandler(handler)
    assert len(handler.records) == len(USERS)
    for record in handler.records:
        assert not {"\n", "\r", "\x1b", "\u2028"} & {*record.getMessage()}
        assert json.loads(JsonFormatter().format(record))["code"] == "LK101"


class Kept(logging.Handler):
    """Keeps the records."""

    def __init__(self) -> None:
        super().__init__()
        self.records: list[logging.LogRecord] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.records.append(record)


def test_a_traceback_is_one_line_of_json() -> None:
    try:
        int("x\ny")
    except ValueError as error:
        record = logging.LogRecord("modelgate", logging.ERROR, "f", 1, "failed", (), (type(error), error, None))
    text = JsonFormatter().format(record)
    assert "\n" not in text
    assert json.loads(text)["error"].startswith("ValueError: invalid literal")
