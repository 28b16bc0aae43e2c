"""A connection remembers the heads of its requests: those that have one again are answered as ever."""

import contextlib
import re
import socket
from itertools import pairwise

import pytest

from tests.serve.conftest import until
from tests.serve.test_connection import connected, one_answer
from tests.serve.test_direct import BAD, GOOD, ORDINARY, UPDATE, Served, told, two_ways
from webhook.catalog import Catalog
from webhook.serve.http import immediate
from webhook.serve.http.connection import Connection
from webhook.serve.http.immediate import HEAD_SIZE, Immediate

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
                short.gate.readiness.draining = True
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


def test_each_connection_that_waits_too_long_gives_up(loaded: Catalog, parsed: list[bytes]) -> None:
    with two_ways(loaded) as (short, _), contextlib.ExitStack() as stack:
        peers = [stack.enter_context(connected(short.server)) for _ in range(3)]
        for peer in peers:
            peer.sendall(as_go(GOOD))
            one_answer(peer)
        connections = [*short.server.server_state.connections]
        before = len(parsed)
        for count, peer in enumerate(peers, before + 1):
            peer.sendall(as_go(GOOD)[: -len(GOOD)])
            until(lambda count=count: len(parsed) == count, "the parser has the head")
        assert not any(map(waits, connections))
        for peer in peers:
            peer.sendall(GOOD)
            assert one_answer(peer).startswith(b"HTTP/1.1 200 ")
        assert not short.server.config.http_protocol_class.keywords["waiting"]._until


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
            short.gate.readiness.draining = closing
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
