"""Log lines that strangers cause have a limited rate, and say how many are missing."""

import logging

import pytest
from starlette.testclient import TestClient

from tests.serve.test_app import a_review
from webhook.admission import Cause, Decision
from webhook.admission.errors import Unavailable
from webhook.catalog import Catalog, Kinds
from webhook.serve import app, noted
from webhook.serve.app import application
from webhook.serve.gate import Gate, judgement
from webhook.serve.http import connection, limited
from webhook.serve.http.limited import Limited, Throttle


class Clock:
    """A clock that a test sets."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_so_many_lines_of_a_kind_are_logged_and_the_others_counted(caplog: pytest.LogCaptureFixture) -> None:
    clock = Clock()
    lines = Limited(logging.getLogger("test"), clock, most=2)
    for _ in range(5):
        lines.warning("a", "line %d", 1)
    lines.warning("b", "other")
    clock.now += limited.SECONDS
    lines.warning("a", "again")
    lines.warning("a", "again")
    missing = " (3 more of this kind since the last line)"
    assert caplog.messages == ["line 1", "line 1", "other", f"again{missing}", "again"]


def test_a_library_is_limited_by_the_place_that_logs(caplog: pytest.LogCaptureFixture) -> None:
    clock, log = Clock(), logging.getLogger("test.library")
    throttle = Throttle(1, clock)
    log.addFilter(throttle)
    for number in range(3):
        log.warning("text of a stranger: %s", number)
        log.error("another place")
    clock.now += limited.SECONDS
    log.warning("a third place")
    assert caplog.messages == ["text of a stranger: 0", "another place", "a third place"]


@pytest.mark.parametrize("name", ["uvicorn.error", "asyncio"])
def test_what_libraries_log_of_connections_is_limited(name: str, caplog: pytest.LogCaptureFixture) -> None:
    log = logging.getLogger(name)
    for _ in range(3 * connection.LINES):
        log.error("Exception in ASGI application", exc_info=ValueError("x"))
    assert len(caplog.records) == connection.LINES


def limits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Begin anew: other tests have logged, too."""
    monkeypatch.setattr(app, "troubles", Limited(app.log, most=10))


@pytest.mark.parametrize("error", [Unavailable("no"), ValueError("a fault")])
def test_answers_with_an_error_do_not_fill_the_log(
    error: Exception, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    limits(monkeypatch)

    def failing(*_: object) -> None:
        raise error

    monkeypatch.setattr(judgement.engine, "validate", failing)
    client = TestClient(application(Gate(catalog=Catalog(Kinds({}), "digest"))), raise_server_exceptions=False)
    statuses = {client.post("/validate", json=a_review()).status_code for _ in range(50)}
    assert statuses <= {500, 503}
    assert len(caplog.records) <= 10


def test_denials_do_not_fill_the_log(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, loaded: Catalog
) -> None:
    monkeypatch.setattr(noted, "DENIALS", 5)
    limits(monkeypatch)
    caplog.set_level("INFO", "modelgate")
    refused = Decision({}, (Cause("spec.source", "FieldValueInvalid", "secret", code="LK101"),))
    monkeypatch.setattr(judgement.engine, "validate", lambda *_: refused)
    client = TestClient(application(Gate(catalog=loaded)))
    for _ in range(50):
        assert client.post("/validate", json=a_review()).json()["response"]["allowed"] is False
    assert len([each for each in caplog.records if "denied" in each.getMessage()]) == 5
