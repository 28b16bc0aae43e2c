"""Small reviews are decided in place and large ones in a child, with the same answers, counts and log lines."""

import asyncio
import importlib
import os
import pickle
import pkgutil
from collections.abc import Iterator
from typing import Any

import orjson
import pytest
from starlette.testclient import TestClient

import webhook
from tests.serve.test_app import DEPLOYMENT, a_review
from tests.serve.test_view import REVIEW, Cluster, Everything
from webhook import engine
from webhook.admission.decision import Cause, Decision, Warn
from webhook.admission.errors import DeadlineExceeded, LoadError, Malformed, ModelgateError, Problem
from webhook.catalog import Catalog, Kinds
from webhook.cluster import Kind
from webhook.policy.evaluate import PolicyFault
from webhook.serve import forked
from webhook.serve.app import application
from webhook.serve.gate import Gate
from webhook.serve.gate.judgement import LARGE_BYTES, LARGE_TOKENS, PADDED_BYTES, is_large
from webhook.serve.liveview import ViewRunner

PADDING = {"small": b"", "large": b" " * PADDED_BYTES}

KIND = Kind("ome.io", "BaseModel")


def padded(review: dict[str, Any], size: str) -> bytes:
    return orjson.dumps(review) + PADDING[size]


@pytest.fixture
def gate() -> Gate:
    return Gate(catalog=Catalog(Kinds({}), "digest"))


@pytest.fixture
def client(gate: Gate) -> Iterator[TestClient]:
    with TestClient(application(gate), raise_server_exceptions=False) as client:
        yield client


def post(client: TestClient, body: bytes, path: str = "/validate") -> Any:
    return client.post(path, content=body, headers={"content-type": "application/json"})


def subclasses(kind: type[Exception]) -> Iterator[type[Exception]]:
    yield kind
    for each in kind.__subclasses__():
        yield from subclasses(each)


def test_every_error_can_be_sent_to_another_process() -> None:
    for module in pkgutil.walk_packages(webhook.__path__, "webhook."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    for kind in subclasses(ModelgateError):
        arguments: Any = ([Problem("f", "p", "m")],) if issubclass(kind, LoadError) else ("text",)
        error = PolicyFault("C", "spec", "f", ValueError("v")) if kind is PolicyFault else kind(*arguments)  # type: ignore[arg-type]
        sent = pickle.loads(pickle.dumps(error))
        assert (type(sent), str(sent), sent.args, sent.__dict__) == (kind, str(error), error.args, error.__dict__)


@pytest.mark.parametrize(
    ("body", "large"),
    [
        (b"[" * 4096, False),
        (b"[" * 4097, True),
        (b"x" * LARGE_BYTES, False),
        (b"x" * (LARGE_BYTES + 1), True),
        (b"x" * LARGE_BYTES + b" \n\r\t" * 1000, False),
        (b"x" * (LARGE_BYTES + 1) + b" \n\r\t" * 1000, True),
        (b" " * PADDED_BYTES, False),
        (b" " * (PADDED_BYTES + 1), True),
        (b" " * (2 * LARGE_BYTES) + b"," * (LARGE_TOKENS + 1), True),
        (b"x" * 5000 + b",[{" * (LARGE_TOKENS // 3), False),
        (b"x" * 5000 + b",[{" * (LARGE_TOKENS // 3 + 1), True),
    ],
)
def test_a_body_is_large_by_its_bytes_or_its_values(body: bytes, large: bool) -> None:
    assert is_large(body) is large


@pytest.mark.parametrize(("size", "here"), [("small", True), ("large", False)])
def test_only_a_large_review_is_decided_in_a_child(
    client: TestClient, monkeypatch: pytest.MonkeyPatch, size: str, here: bool
) -> None:
    monkeypatch.setattr(
        engine,
        "validate",
        lambda *_: Decision({}, (Cause("f", "FieldValueInvalid", str(os.getpid()), "XX101"),), (Warn("f", "w"),)),
    )
    response = post(client, padded(a_review(), size)).json()["response"]
    assert (f"f: {os.getpid()} (XX101)" in response["status"]["message"]) is here
    text = client.get("/metrics").text
    assert 'modelgate_requests_total{call="validate",kind="other",operation="CREATE",outcome="untouched"} 1.0' in text
    assert 'modelgate_findings_total{action="deny",code="XX101"} 1.0' in text
    assert 'modelgate_findings_total{action="warn",code="schema"} 1.0' in text
    assert ('modelgate_large_total{outcome="done"} 1.0' in text) is not here


def test_a_denial_by_a_child_is_logged(
    client: TestClient, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "modelgate")
    monkeypatch.setattr(
        engine, "validate", lambda *_: Decision({}, (Cause("f", "FieldValueInvalid", "secret", "XX101"),))
    )
    post(client, padded(a_review(), "large"))
    assert "denied CREATE Deployment n/web: f XX101" in caplog.text
    assert "secret" not in caplog.text


@pytest.mark.parametrize("size", ["small", "large"])
def test_an_error_has_the_same_answer_from_a_child(client: TestClient, size: str) -> None:
    answer = post(client, padded(a_review(object=None), size))
    assert (answer.status_code, answer.text) == (400, "request.object is missing on CREATE\n")
    assert 'kind="",operation="",outcome="malformed"} 1.0' in client.get("/metrics").text


def test_an_unexpected_error_of_a_child_is_a_500_with_its_traceback_in_the_log(
    client: TestClient, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    class Odd(Exception):
        def __init__(self, one: object, two: object) -> None:
            super().__init__(one, two)
            self.held = lambda: None  # cannot be pickled

    def broken(*_: object) -> None:
        raise Odd("secret\nforged", 2)

    monkeypatch.setattr(engine, "validate", broken)
    answer = post(client, padded(a_review(), "large"))
    assert (answer.status_code, answer.text) == (
        500,
        "internal fault: Odd in a large review: see the log of the gate\n",
    )
    assert "in broken" in caplog.text
    assert not any("\n" in record.getMessage() for record in caplog.records)


def test_memory_that_a_large_review_may_not_have_is_a_413(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "validate", lambda *_: bytearray(2 * forked.ALLOWANCE))
    answer = post(client, padded(a_review(), "large"))
    assert (answer.status_code, answer.text) == (413, "judging this object needs more memory than the gate may use\n")
    assert 'modelgate_large_total{outcome="memory"} 1.0' in client.get("/metrics").text


def test_a_reply_has_a_limit(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "mutate", lambda *_: Decision({**DEPLOYMENT, "more": "x" * 9_000_000}))
    answer = post(client, orjson.dumps(a_review()), "/mutate")
    assert answer.status_code == 413
    assert "is over the limit of 8388608 bytes" in answer.text


def test_a_large_review_ends_at_the_deadline_even_between_two_steps(
    gate: Gate, monkeypatch: pytest.MonkeyPatch
) -> None:
    def endless(*_: object) -> None:
        while True:
            pass

    monkeypatch.setattr(engine, "validate", endless)
    with pytest.raises(DeadlineExceeded, match="takes too long"):
        asyncio.run(gate.reply("validate", padded(a_review(), "large"), 0.5))


def test_a_child_ends_at_its_own_limit_however_long_its_caller_waits(
    gate: Gate, monkeypatch: pytest.MonkeyPatch
) -> None:
    def endless(*_: object) -> None:
        while True:
            pass

    monkeypatch.setattr(forked, "LONGEST", 0.2)
    monkeypatch.setattr(engine, "validate", endless)
    with pytest.raises(DeadlineExceeded):
        asyncio.run(gate.reply("validate", padded(a_review(), "large"), 30))


def test_a_child_that_dies_costs_one_answer_and_the_next_review_is_answered(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(engine, "validate", lambda *_: os.kill(os.getpid(), 9))
        assert post(client, padded(a_review(), "large")).status_code == 503
    assert post(client, padded(a_review(), "large")).status_code == 200
    assert 'modelgate_large_total{outcome="killed"} 1.0' in client.get("/metrics").text


def test_what_a_child_asks_for_is_read_by_the_parent(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = Cluster(stored=("b",))

    def decide(_request: object, _catalog: object, view: Any, _options: object) -> Decision:
        found = [name for name in ("b", "c") if view.get(KIND, "", name)]
        return Decision({}, (Cause("", "FieldValueInvalid", ",".join(found)),))

    monkeypatch.setattr(engine, "validate", decide)
    live = ViewRunner(lambda: cluster)
    gate = Gate(catalog=Everything(Kinds({}), "digest"), live_view=live)

    async def main() -> bytes:
        async with live.running():
            await asyncio.to_thread(live._thread.join)
            return await gate.reply("validate", padded(REVIEW, "large"), None)

    reply = orjson.loads(asyncio.run(main()))
    assert reply["response"]["status"]["details"]["causes"][0]["message"] == "b"
    assert cluster.reads == ["BaseModel b", "BaseModel c"]


def test_a_large_review_sees_the_rules_of_its_moment(gate: Gate) -> None:
    body = padded(a_review(), "large")
    asyncio.run(gate.reply("validate", body, 30))
    gate.replace(loaded=None)
    with pytest.raises(ModelgateError, match="not loaded"):
        asyncio.run(gate.reply("validate", body, 30))
    with pytest.raises(Malformed):
        asyncio.run(gate.reply("validate", b" " * (PADDED_BYTES + 1), 30))
