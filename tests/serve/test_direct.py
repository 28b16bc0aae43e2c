"""The short way of a review answers byte for byte as the ordinary way, and counts as much."""

import contextlib
import functools
import json
import re
import socket
import threading
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import pytest
import uvicorn

from tests.serve.conftest import until
from tests.serve.test_app import DEPLOYMENT, a_review
from tests.serve.test_connection import connected, one_answer
from webhook.admission.request import GroupVersionKind
from webhook.cluster import MemoryView
from webhook.engine.catalog import Catalog
from webhook.serve.app import application
from webhook.serve.callers import ALL_GROUPS, Anyone
from webhook.serve.direct import Direct
from webhook.serve.gate import Gate
from webhook.serve.http import immediate
from webhook.serve.http.connection import Connection
from webhook.serve.http.immediate import HEAD_SIZE, Immediate
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

    def answer(self, *arguments: Any) -> bytes | None:
        reply = super().answer(*arguments)
        self.answered += reply is not None
        return reply


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

    def __init__(self, loaded: Catalog, callers: Anyone, *, short: bool) -> None:
        assert loaded.find(GroupVersionKind("inference.llmkube.dev", "v1alpha1", "Model"))  # now, not in the loop
        self.gate = Gate(catalog=loaded, view=MemoryView())
        self.direct = Counted(self.gate, callers)
        app = Draining(application(self.gate, callers=callers), self.gate)
        http = functools.partial(Connection, answering=self.direct if short else None)
        self.server = uvicorn.Server(uvicorn.Config(app, port=0, http=http, ws="none", log_config=None))

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


GO = ("User-Agent: kube-apiserver-admission", "Accept: application/json, */*", "Accept-Encoding: gzip")


def as_go(body: bytes, path: str = "/validate?timeout=10s", *fields: str) -> bytes:
    """As Go's client writes it: the length stands among the other fields."""
    head = [f"POST {path} HTTP/1.1", "Host: gate:443", f"Content-Length: {len(body)}", *(fields or GO)]
    return "\r\n".join([*head, "Content-Type: application/json", "", ""]).encode() + body


KEPT = [
    as_go(GOOD),
    as_go(BAD),
    as_go(GOOD, "/mutate?timeout=10s"),
    as_go(UPDATE),
    as_go(UPDATE, "/mutate?timeout=10s"),
]
LEFT = [
    *ORDINARY,
    as_go(b"not json"),
    as_go(b""),
    as_go(GOOD + b" " * 70_000),
    as_go(GOOD).replace(b"Content-Length: ", b"Content-Length: 0"),
    as_go(GOOD).replace(b"Content-Length: ", b"Content-Length: +"),
    as_go(GOOD).replace(b"Content-Length: ", b"Content-Length: 1\r\nContent-Length: "),
    as_go(GOOD, "/validate?timeout=10s", "Connection: close"),
    as_go(GOOD, "/validate?timeout=10s", "Expect: 100-continue"),
    as_go(GOOD).replace(b"Content-Length", b"\r\nContent-Length"),
    as_go(GOOD)[:-5] + as_go(BAD),
    as_go(GOOD) + b"\r\n" + as_go(BAD),
    as_go(GOOD) + as_go(BAD)[:50],
    as_go(GOOD)[:50],
    b"\r\n" + as_go(GOOD),
    as_go(GOOD).replace(b"Host: gate:443\r\n", b"Host: gate:443\n"),
]


LAST = as_go(GOOD, "/validate?timeout=10s", "Connection: close")


def everything(served: Served, pieces: list[bytes]) -> bytes:
    """All that a server answers, without dates; a piece is sent when the one before is answered, or waits for more."""
    received = b""
    with connected(served.server) as peer, contextlib.suppress(ConnectionError):
        for piece in pieces:
            peer.sendall(piece)
            part = _some(peer)
            received += part
            if b"connection: close" in part:
                break
        while more := peer.recv(65_536):
            received += more
    return re.sub(rb"date: [^\r]*", b"date: -", received)


def _some(peer: socket.socket) -> bytes:
    """One response or more, or what has come when no more comes."""
    received = b""
    peer.settimeout(0.3)
    with contextlib.suppress(TimeoutError):
        while more := peer.recv(65_536):
            received += more
            found = re.search(rb"(?i)content-length: (\d+)\r\n(?:.*\r\n)*\r\n", received)
            if found and len(received) >= found.end() + int(found[1]):
                break
    peer.settimeout(20)
    return received


@pytest.fixture
def parsed(monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    """The URLs of requests that the parser has read."""
    found: list[bytes] = []
    ordinary = Immediate.on_headers_complete

    def noting(self: Immediate) -> None:
        found.append(self.url)
        ordinary(self)

    monkeypatch.setattr(Immediate, "on_headers_complete", noting)
    return found


def test_a_head_that_was_parsed_before_is_not_parsed_again(loaded: Catalog, parsed: list[bytes]) -> None:
    with two_ways(loaded) as (short, ordinary):
        with connected(short.server) as peer:
            answers = []
            for request in KEPT * 3:
                peer.sendall(request)
                answers.append(re.sub(rb"date: [^\r]*", b"date: -", one_answer(peer)))
        assert sorted(parsed) == [b"/mutate?timeout=10s", b"/validate?timeout=10s"]
        assert short.direct.answered == len(answers)
        assert [told(ordinary, [request], 1)[0] for request in KEPT] * 3 == answers
        assert short.server.server_state.total_requests == len(answers)


@pytest.mark.parametrize("number", range(len(LEFT)))
def test_after_a_known_head_every_other_request_is_answered_as_ever(loaded: Catalog, number: int) -> None:
    with two_ways(loaded) as (short, ordinary):
        pieces = [as_go(GOOD), LEFT[number], as_go(GOOD), as_go(BAD), LAST]
        assert everything(short, pieces) == everything(ordinary, pieces)
        assert short.counted == ordinary.counted


def waits(connection: Immediate) -> bool:
    return bool(connection._head)


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(immediate, "HOLD_SECONDS", 10.0)


@pytest.mark.usefixtures("patient")
def test_a_known_head_waits_for_its_body(loaded: Catalog, parsed: list[bytes]) -> None:
    with two_ways(loaded) as (short, ordinary), connected(short.server) as peer:
        peer.sendall(as_go(GOOD))
        answers = [one_answer(peer)]
        (connection,) = short.server.server_state.connections
        for body in (GOOD, BAD):
            sent = as_go(body)
            peer.sendall(sent[: -len(body)])
            until(lambda: waits(connection), "the head waits")
            peer.sendall(body)
            answers.append(one_answer(peer))
        assert len(parsed) == 1
        assert short.direct.answered == 3
        wanted = [told(ordinary, [as_go(body)], 1)[0] for body in (GOOD, GOOD, BAD)]
        assert [re.sub(rb"date: [^\r]*", b"date: -", each) for each in answers] == wanted


@pytest.mark.parametrize("pieces", [(0,), (0, 5), (5,), (0, 5, 300)])
def test_a_body_that_comes_late_or_in_pieces_is_parsed(loaded: Catalog, pieces: tuple[int, ...]) -> None:
    sent = as_go(GOOD)
    head = len(sent) - len(GOOD)
    cuts = [0, *(head + piece for piece in pieces), len(sent)]
    parts = [sent[start:end] for start, end in pairwise(cuts)]
    with two_ways(loaded) as (short, ordinary):
        given = [as_go(GOOD), *parts, as_go(BAD), LAST]
        assert everything(short, given) == everything(ordinary, given)
        assert short.counted == ordinary.counted


@pytest.mark.usefixtures("patient")
def test_a_connection_that_drains_or_ends_forgets_the_head_that_waits(loaded: Catalog) -> None:
    for ending in (False, True):
        with two_ways(loaded) as (short, _), connected(short.server) as peer:
            peer.sendall(as_go(GOOD))
            one_answer(peer)
            (connection,) = short.server.server_state.connections
            peer.sendall(as_go(GOOD)[: -len(GOOD)])
            until(lambda connection=connection: waits(connection), "the head waits")
            if ending:
                peer.close()
                until(lambda short=short: not short.server.server_state.connections, "the connection ends")
            else:
                short.gate.draining = True
                peer.sendall(GOOD)
                assert b"connection: close" in one_answer(peer)


@pytest.mark.usefixtures("patient")
def test_a_server_that_ends_answers_the_head_that_waits(loaded: Catalog) -> None:
    with two_ways(loaded) as (short, _), connected(short.server) as peer:
        peer.sendall(as_go(GOOD))
        one_answer(peer)
        (connection,) = short.server.server_state.connections
        peer.sendall(as_go(GOOD)[: -len(GOOD)])
        until(lambda: waits(connection), "the head waits")
        connection.loop.call_soon_threadsafe(connection.shutdown)
        until(lambda: not waits(connection), "it is given to the parser")
        peer.sendall(GOOD)
        assert one_answer(peer).startswith(b"HTTP/1.1 200 ")
        assert peer.recv(1) == b""


def test_a_known_head_in_the_middle_of_a_body_is_not_a_request(loaded: Catalog) -> None:
    outer = as_go(GOOD + as_go(GOOD))
    pieces = [as_go(GOOD), outer[: -len(as_go(GOOD))], as_go(GOOD), as_go(BAD), LAST]
    with two_ways(loaded) as (short, ordinary):
        assert everything(short, pieces) == everything(ordinary, pieces)


def test_a_connection_remembers_a_few_short_heads(loaded: Catalog, parsed: list[bytes]) -> None:
    with two_ways(loaded) as (short, _), connected(short.server) as peer:
        for field in [*(f"A: {number}" for number in range(5)), f"A: {'a' * HEAD_SIZE}"]:
            for _ in range(2):
                peer.sendall(as_go(GOOD, "/validate?timeout=10s", field))
                assert one_answer(peer).startswith(b"HTTP/1.1 200 ")
        (connection,) = short.server.server_state.connections
        assert isinstance(connection, Connection)
        assert len(connection._heads) == 1
        assert len(parsed) == 5 + 2


def test_a_known_head_does_not_keep_a_connection_that_drains(loaded: Catalog) -> None:
    with two_ways(loaded) as (short, _), connected(short.server) as peer:
        for closing in (False, False, True):
            short.gate.draining = closing
            peer.sendall(as_go(GOOD))
            assert (b"connection: close" in one_answer(peer)) is closing
        assert peer.recv(1) == b""


def test_the_time_of_an_idle_connection_begins_with_its_last_answer(loaded: Catalog) -> None:
    with two_ways(loaded) as (short, _), connected(short.server) as peer:
        for _ in range(2):
            peer.sendall(as_go(GOOD))
            one_answer(peer)
        (connection,) = short.server.server_state.connections
        assert isinstance(connection, Connection)
        loop = connection.loop
        before = connection.timeout_keep_alive_task
        loop.call_soon_threadsafe(connection.timeout_keep_alive_handler)
        until(lambda: connection.timeout_keep_alive_task is not before, "it is looked at again later")
        peer.sendall(as_go(GOOD))
        assert one_answer(peer).startswith(b"HTTP/1.1 200 ")
        connection.timeout_keep_alive = 0
        loop.call_soon_threadsafe(connection.timeout_keep_alive_handler)
        assert peer.recv(1) == b""


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
        short.gate.draining = ordinary.gate.draining = True
        answers = [told(each, [post(GOOD)], 1) for each in (short, ordinary)]
        assert answers[0] == answers[1]
        assert b"connection: close" in answers[0][0]


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
