"""The short way of a review answers byte for byte as the ordinary way, and counts as much."""

import contextlib
import functools
import json
import re
import select
import socket
import ssl
import threading
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import uvicorn

import webhook.serve.direct
from certs.authority import Authority
from certs.issue import issue
from certs.names import LOCAL
from tests.serve.conftest import until
from tests.serve.test_app import DEPLOYMENT, a_review
from tests.serve.test_connection import connected, one_answer
from webhook.admission.decision import GroupVersionKind
from webhook.catalog import Catalog
from webhook.cluster import MemoryView
from webhook.serve.app import application
from webhook.serve.callers import ALL_GROUPS, Anyone
from webhook.serve.direct import Direct
from webhook.serve.gate import Gate
from webhook.serve.http.connection import Connection
from webhook.serve.http.immediate import Answer, Waiting
from webhook.serve.server import Draining

MODEL = {
    "apiVersion": "inference.llmkube.dev/v1alpha1",
    "kind": "Model",
    "metadata": {"name": "llama", "namespace": "n"},
    "spec": {"source": "https://example.com/llama.gguf", "hardware": {"gpu": {"count": 2}}},
}


class Counted(Direct):
    """Counts the requests that it answers."""

    answered = 0

    def answer(self, *arguments: Any) -> Answer | None:
        reply = super().answer(*arguments)
        self.answered += reply is not None
        return reply


class Patient(Counted):
    """Counts a reply only when its caller has got it, or after 20 seconds."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.got, self._heard = socket.socketpair()
        self.in_time: list[bool] = []

    def close(self) -> None:
        self.got.close()
        self._heard.close()

    def answer(self, *arguments: Any) -> Answer | None:
        found = super().answer(*arguments)
        if found is None:
            return None
        reply, finish = found

        def patient() -> None:
            self.in_time.append(bool(select.select([self._heard], [], [], 20)[0]))
            finish()

        return reply, patient


class OneGroup(Anyone):
    """Callers that may ask about one API group only."""

    def admitted(self, _scope: Any) -> Any:
        return frozenset({"apps"})

    async def admit(self, _scope: Any) -> Any:
        return frozenset({"apps"})


class Late(Anyone):
    """Callers that only waiting can admit."""

    def admitted(self, _scope: Any) -> Any:
        return None

    async def admit(self, _scope: Any) -> Any:
        return ALL_GROUPS


class Served:
    """A real server on loopback, with or without the short way."""

    def __init__(
        self, loaded: Catalog, callers: Anyone, *, short: bool, direct: type[Counted] = Counted, **more: Any
    ) -> None:
        assert loaded.find(GroupVersionKind("inference.llmkube.dev", "v1alpha1", "Model"))  # now, not in the loop
        self.gate = Gate(catalog=loaded, view=MemoryView())
        self.direct = direct(self.gate, callers)
        app = Draining(application(self.gate, callers=callers), self.gate)
        http = functools.partial(Connection, answering=self.direct if short else None, waiting=Waiting())
        self.server = uvicorn.Server(uvicorn.Config(app, port=0, http=http, ws="none", log_config=None, **more))

    @property
    def counted(self) -> str:
        """What the metrics say, without times."""
        lines = self.gate.metrics.text().decode().splitlines()
        return "\n".join(line for line in lines if not re.search(r"_seconds_(sum|bucket)|_created|^#", line))


@contextlib.contextmanager
def two_ways(loaded: Catalog, callers: Anyone | None = None) -> Iterator[tuple[Served, Served]]:
    with contextlib.ExitStack() as stack:
        pair = [Served(loaded, callers or Anyone(), short=short) for short in (True, False)]
        for each in pair:
            stack.enter_context(_running(each.server))
        yield pair[0], pair[1]


@contextlib.contextmanager
def _running(server: uvicorn.Server) -> Iterator[None]:
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        until(lambda: server.started, "the server listens")
        yield
    finally:
        server.should_exit = True
        thread.join()


def review(obj: dict[str, Any], **changes: Any) -> bytes:
    group, _, version = obj["apiVersion"].rpartition("/")
    api = {"group": group, "version": version}
    plural = f"{obj['kind'].lower()}s"
    name = obj["metadata"]["name"]
    about = {"kind": {**api, "kind": obj["kind"]}, "resource": {**api, "resource": plural}, "name": name, "object": obj}
    return json.dumps(a_review(**{**about, **changes})).encode()


def post(
    body: bytes, path: str = "/validate?timeout=5s", *fields: str, content_type: str = "application/json"
) -> bytes:
    head = [f"POST {path} HTTP/1.1", "Host: gate", f"Content-Type: {content_type}", *fields]
    return "\r\n".join([*head, f"Content-Length: {len(body)}", "", ""]).encode() + body


def changed(**spec: Any) -> dict[str, Any]:
    return {**MODEL, "spec": {**MODEL["spec"], **spec}}


GOOD = review(MODEL)
BAD = review(changed(source="not a source", format=5))
UPDATE = review(changed(format="gguf"), operation="UPDATE", oldObject=MODEL)
CHUNKED = b"%x\r\n%b\r\n0\r\n\r\n" % (len(GOOD), GOOD)
CHUNKED_HEAD = post(b"").replace(b"Content-Length: 0", b"Transfer-Encoding: chunked")
SHORT = [
    post(GOOD),
    post(GOOD, "/mutate?timeout=10s"),
    post(BAD, "/mutate"),
    post(BAD),
    post(UPDATE, "/mutate"),
    post(UPDATE),
    post(review(DEPLOYMENT)),
    post(review(MODEL, dryRun=True), "/mutate", "User-Agent: kube-apiserver-admission", "Accept-Encoding: gzip"),
    post(GOOD + b" " * 30_000),
]
"""Requests that the short way answers."""

ORDINARY = [
    post(b"not json"),
    post(b"{}"),
    post(review({**MODEL, "kind": "Mod"}, name="other")),
    post(GOOD, content_type="text/plain"),
    post(GOOD, content_type="application/json; charset=utf-8"),
    post(GOOD, "/validate?timeout=5000ms"),
    post(GOOD, "/validate?timeout=soon"),
    post(GOOD, "/validate?timeout=0s"),
    post(GOOD, "/validate/"),
    post(GOOD, "/validate?timeout=5s", "Content-Type: application/json"),
    post(GOOD, "/validate", "Connection: close"),
    post(GOOD).replace(b"HTTP/1.1", b"HTTP/1.0"),
    post(GOOD).replace(b"POST", b"PUT"),
    post(GOOD + b" " * 70_000),
    post(review(changed(files=[f"f{index}" for index in range(3000)]))),
    CHUNKED_HEAD + CHUNKED,
    b"GET /healthz HTTP/1.1\r\nHost: gate\r\n\r\n",
]
"""Requests that the ordinary way answers."""


def told(served: Served, pieces: list[bytes], answers: int) -> list[bytes]:
    """What a server answers, without the date."""
    with connected(served.server) as peer:
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):  # some are answered before they are complete
            for piece in pieces:
                peer.sendall(piece)
        received, rest = [], b""
        while len(received) < answers:
            head = re.match(rb"(?is).*?content-length: (\d+)\r\n.*?\r\n\r\n", rest)
            end = head.end() + int(head[1]) if head else len(rest) + 1
            if end > len(rest):
                more = peer.recv(65_536)
                assert more, rest
                rest += more
                continue
            received.append(re.sub(rb"date: [^\r]*", b"date: -", rest[:end]))
            rest = rest[end:]
        return received


@pytest.mark.parametrize("halves", [1, 2, 7], ids=["whole", "in two", "in seven"])
def test_both_ways_give_the_same_bytes_and_counts(loaded: Catalog, halves: int) -> None:
    with two_ways(loaded) as (short, ordinary):
        for expected, requests in ((1, SHORT), (0, ORDINARY)):
            for request in requests:
                before, size = short.direct.answered, -(-len(request) // halves)
                pieces = [request[start : start + size] for start in range(0, len(request), size)]
                assert told(short, pieces, 1) == told(ordinary, pieces, 1)
                assert short.direct.answered - before == expected, request[:200]
        assert short.counted == ordinary.counted
        assert ordinary.direct.answered == 0


def test_requests_that_come_together_are_answered_in_their_order(loaded: Catalog) -> None:
    several = post(GOOD) + post(BAD) + ORDINARY[-1] + post(UPDATE, "/mutate") + post(review(DEPLOYMENT))
    with two_ways(loaded) as (short, ordinary):
        assert told(short, [several], 5) == told(ordinary, [several], 5)
        assert short.direct.answered == 1  # the others would hold the loop
        assert told(short, [several] * 2, 10) == told(ordinary, [several] * 2, 10)


@pytest.mark.parametrize("callers", [OneGroup(), Late()])
def test_callers_are_checked_on_both_ways(loaded: Catalog, callers: Anyone) -> None:
    with two_ways(loaded, callers) as (short, ordinary):
        for request in (post(GOOD), post(review(DEPLOYMENT))):
            assert told(short, [request], 1) == told(ordinary, [request], 1)
        assert short.direct.answered == (1 if isinstance(callers, OneGroup) else 0)


def test_while_the_server_drains_connections_are_closed_after_their_answer(loaded: Catalog) -> None:
    with two_ways(loaded) as (short, ordinary):
        short.gate.readiness.draining = ordinary.gate.readiness.draining = True
        answers = [told(each, [post(GOOD)], 1) for each in (short, ordinary)]
        assert answers[0] == answers[1]
        assert b"connection: close" in answers[0][0]


@pytest.mark.parametrize("encrypted", [False, True], ids=["plain", "TLS"])
def test_the_caller_has_the_reply_before_it_is_counted(loaded: Catalog, tmp_path: Path, encrypted: bool) -> None:
    now = datetime.now(UTC)
    issue(tmp_path, Authority.create(now), LOCAL, now)
    files = {"ssl_certfile": tmp_path / "tls.crt", "ssl_keyfile": tmp_path / "tls.key"} if encrypted else {}
    served = Served(loaded, Anyone(), short=True, direct=Patient, **files)
    assert isinstance(served.direct, Patient)
    with _running(served.server), connected(served.server) as plain, contextlib.ExitStack() as stack:
        peer: socket.socket = plain
        if encrypted:
            context = ssl.create_default_context(cafile=str(tmp_path / "ca.crt"))
            peer = stack.enter_context(context.wrap_socket(plain, server_hostname="localhost"))
        peer.sendall(post(GOOD))
        assert one_answer(peer).startswith(b"HTTP/1.1 200 ")
        served.direct.got.send(b"yes")
        until(lambda: 'requests_total{call="validate"' in served.counted, "the reply is counted")
    served.direct.close()
    assert served.direct.in_time == [True]


class Forgetful(Counted):
    """Fails when it should count a reply."""

    def answer(self, *arguments: Any) -> Answer | None:
        found = super().answer(*arguments)

        def failing() -> None:
            raise ZeroDivisionError("cannot count")

        return found and (found[0], failing)


def test_a_fault_after_a_reply_is_reported_and_the_connection_stays(
    loaded: Catalog, caplog: pytest.LogCaptureFixture
) -> None:
    served = Served(loaded, Anyone(), short=True, direct=Forgetful)
    with _running(served.server), connected(served.server) as peer:
        for _ in range(2):
            peer.sendall(post(GOOD))
            assert one_answer(peer).startswith(b"HTTP/1.1 200 ")
    assert caplog.text.count("ZeroDivisionError: cannot count") == 2


def test_a_reply_that_is_too_long_for_one_piece_is_counted_once(
    loaded: Catalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(webhook.serve.direct, "PIECE", 100)
    with two_ways(loaded) as (short, ordinary):
        assert told(short, [post(BAD)], 1) == told(ordinary, [post(BAD)], 1)
        assert short.direct.answered == 0
        assert short.counted == ordinary.counted


def test_a_body_that_takes_its_time_goes_the_ordinary_way(loaded: Catalog) -> None:
    with two_ways(loaded) as (short, _):
        with connected(short.server) as peer:
            peer.sendall(post(GOOD)[:-1])
            until(lambda: len(short.server.server_state.tasks) == 1, "the application waits for the body")
            peer.sendall(post(GOOD)[-1:])
            assert one_answer(peer).startswith(b"HTTP/1.1 200 ")
        assert short.direct.answered == 0


def test_a_fault_of_the_short_way_is_answered_and_reported_by_the_ordinary_one(
    loaded: Catalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: Any) -> bytes:
        raise ZeroDivisionError

    with two_ways(loaded) as (short, ordinary):
        monkeypatch.setattr(short.gate.__class__, "reply_now", broken)
        assert told(short, [post(GOOD)], 1) == told(ordinary, [post(GOOD)], 1)
