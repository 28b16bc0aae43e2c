"""What strangers can do to a connection: nothing that makes the gate hold more, or wait longer, than it should."""

import contextlib
import functools
import json
import re
import socket
import threading
import time
from collections.abc import Iterator
from http import HTTPStatus
from typing import Any

import pytest
import uvicorn

from tests.serve.conftest import until
from tests.serve.test_app import DEPLOYMENT, a_review
from webhook import engine
from webhook.admission.decision import Decision
from webhook.catalog import Catalog, Kinds
from webhook.serve import app as apps
from webhook.serve.app import application
from webhook.serve.gate import Gate
from webhook.serve.http import connection as connections
from webhook.serve.http.answers import refusals
from webhook.serve.http.bodies import Budget
from webhook.serve.http.connection import HEAD_LIMIT, Connection
from webhook.serve.metrics import Metrics

BODY = json.dumps(a_review()).encode()
HEAD = b"POST /validate HTTP/1.1\r\nhost: gate\r\ncontent-type: application/json\r\n"
GET = b"GET /healthz HTTP/1.1\r\nhost: gate\r\n\r\n"


def with_length(length: int) -> bytes:
    return HEAD + b"content-length: %d\r\n\r\n" % length


@contextlib.contextmanager
def running(budget: Budget | None = None, **settings: Any) -> Iterator[uvicorn.Server]:
    """A real server on loopback, without TLS."""
    app = application(Gate(catalog=Catalog(Kinds({}), "digest")), budget=budget)
    settings = {"port": 0, "http": Connection, "ws": "none", "log_config": None, **settings}
    server = uvicorn.Server(uvicorn.Config(app, **settings))
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        until(lambda: server.started, "the server listens")
        yield server
    finally:
        server.should_exit = True
        thread.join()


@pytest.fixture
def server() -> Iterator[uvicorn.Server]:
    with running() as server:
        yield server


@contextlib.contextmanager
def connected(server: uvicorn.Server) -> Iterator[socket.socket]:
    address = server.servers[0].sockets[0].getsockname()
    with socket.create_connection(address, timeout=20) as peer:
        yield peer


def answer(peer: socket.socket) -> bytes:
    """All that comes until the server closes."""
    received = b""
    with contextlib.suppress(ConnectionError):  # it closed while there was more to read
        while chunk := peer.recv(65_536):
            received += chunk
    return received


def one_answer(peer: socket.socket) -> bytes:
    """One response, which may arrive in several pieces; the connection stays open."""
    received = b""
    while not (length := re.search(rb"(?i)content-length: (\d+)\r\n(?:.*\r\n)*\r\n", received)) or (
        len(received) < length.end() + int(length[1])
    ):
        piece = peer.recv(65_536)
        assert piece, received
        received += piece
    return received


def pour(peer: socket.socket, what: bytes, least: int) -> None:
    """Send the same again and again, as long as it is taken, and longer than it should be."""
    with contextlib.suppress(ConnectionError):
        for _ in range(least // len(what) + 1):
            peer.sendall(what)


@pytest.mark.parametrize(
    ("begin", "more"),
    [
        (b"GET /", b"a"),
        (HEAD + b"x-long: ", b"a"),
        (HEAD, b"a: b\r\n"),
        (HEAD + b"transfer-encoding: chunked\r\n\r\n0\r\n", b"a: b\r\n"),
        (HEAD + b"transfer-encoding: chunked\r\n\r\n1;", b"a"),
    ],
    ids=["url", "field", "fields", "trailers", "chunk extension"],
)
def test_bytes_outside_the_body_are_not_kept_beyond_a_limit(server: uvicorn.Server, begin: bytes, more: bytes) -> None:
    with connected(server) as peer:
        peer.sendall(begin)
        pour(peer, more * 1_000, 2 * HEAD_LIMIT + 1_000_000)
        assert answer(peer) in {
            b"",
            answer_of(431, f"header and trailer fields exceed the limit of {HEAD_LIMIT} bytes"),
        }
    until(lambda: not server.server_state.connections, "the connection is closed")


def answer_of(status: int, text: str) -> bytes:
    first = f"HTTP/1.1 {status} {HTTPStatus(status).phrase}"
    fields = ["content-type: text/plain; charset=utf-8", "connection: close", f"content-length: {len(text) + 1}"]
    return "\r\n".join([first, *fields, "", f"{text}\n"]).encode()


def test_a_body_may_be_larger_than_that_and_so_may_many_requests_together(server: uvicorn.Server) -> None:
    with connected(server) as peer:
        for _ in range(3):
            peer.sendall(with_length(len(BODY) + HEAD_LIMIT) + BODY + b" " * HEAD_LIMIT)
            assert one_answer(peer).startswith(b"HTTP/1.1 200")
        peer.sendall(GET * 3)
        received = b""
        while received.count(b"\r\n\r\nok\n") < 3:
            received += one_answer(peer)


def test_a_header_that_does_not_end_is_not_waited_for(server: uvicorn.Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "HEAD_SECONDS", 0.05)
    with connected(server) as peer:
        peer.sendall(GET)
        assert one_answer(peer).endswith(b"ok\n")
        peer.sendall(GET[:10])
        assert answer(peer) == answer_of(408, "the request is not complete")


def test_a_connection_that_was_never_used_is_closed_as_one_that_was() -> None:
    with running(timeout_keep_alive=0) as server, connected(server) as peer:
        assert answer(peer) == b""


def test_a_body_that_does_not_come_is_not_waited_for(server: uvicorn.Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(apps, "MAX_TIMEOUT", 0.05)
    with connected(server) as peer:
        peer.sendall(with_length(len(BODY)) + BODY[:-1])
        received = answer(peer)
    assert received.startswith(b"HTTP/1.1 408 ")
    assert received.endswith(b"the body did not arrive within 0.05s\n")


def test_an_answer_to_the_header_ends_the_connection_of_a_body_that_has_not_come(server: uvicorn.Server) -> None:
    with connected(server) as peer:
        peer.sendall(with_length(len(BODY)).replace(b"application/json", b"text/plain"))
        received = answer(peer)
    assert received.startswith(b"HTTP/1.1 415 ")


def test_bodies_together_have_a_limit_and_what_they_took_is_given_back() -> None:
    whole = with_length(len(BODY) + 200_000) + BODY + b" " * 200_000
    with running(Budget(200_000)) as server, connected(server) as slow, connected(server) as other:
        slow.sendall(whole[:-1])
        until(lambda: len(server.server_state.tasks) == 1, "the one body is coming in")
        other.sendall(whole[:-1])
        received = answer(other)
        assert received.startswith(b"HTTP/1.1 503 ")
        assert b"retry-after: 1\r\n" in received
        assert received.endswith(b"the gate holds too many request bodies and unsent replies\n")
        slow.sendall(whole[-1:])
        assert one_answer(slow).startswith(b"HTTP/1.1 200")
        for _ in range(3):
            slow.sendall(whole)
            assert one_answer(slow).startswith(b"HTTP/1.1 200")


@pytest.fixture
def long_replies(monkeypatch: pytest.MonkeyPatch) -> None:
    """Replies of 8 MB, more than the kernel holds for a socket."""
    monkeypatch.setattr(engine, "mutate", lambda *_: Decision({**DEPLOYMENT, "more": "x" * 6_000_000}))


MUTATE = with_length(len(BODY)).replace(b"/validate", b"/mutate") + BODY


@pytest.mark.usefixtures("long_replies")
def test_a_long_reply_arrives_whole_and_the_connection_stays(server: uvicorn.Server) -> None:
    with connected(server) as peer:
        for _ in range(2):
            peer.sendall(MUTATE)
            received = one_answer(peer)
            assert json.loads(received.partition(b"\r\n\r\n")[2])["response"]["patchType"] == "JSONPatch"


@pytest.mark.usefixtures("long_replies")
def test_replies_that_are_not_read_have_a_limit_together() -> None:
    with running(Budget(12_000_000)) as server, connected(server) as silent, connected(server) as other:
        silent.sendall(MUTATE)
        assert silent.recv(9) == b"HTTP/1.1 "
        other.sendall(MUTATE)
        assert answer(other).startswith(b"HTTP/1.1 503 ")
        silent.close()
        until(lambda: not server.server_state.tasks, "the reply is given up")
        with connected(server) as third:
            third.sendall(MUTATE)
            assert one_answer(third).startswith(b"HTTP/1.1 200")


@pytest.mark.usefixtures("long_replies")
def test_a_reply_that_is_not_read_ends_the_connection(server: uvicorn.Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "SEND_SECONDS", 0.05)
    with connected(server) as peer:
        peer.sendall(MUTATE)
        until(lambda: server.server_state.total_requests + len(server.server_state.tasks) > 0, "it is answered")
        until(lambda: not server.server_state.connections, "the connection is closed")
        assert len(answer(peer)) < 8_000_000


def test_of_too_many_connections_the_one_that_was_of_no_use_longest_is_closed(
    server: uvicorn.Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "CONNECTIONS", 3)
    held: Any = server.server_state.connections
    with contextlib.ExitStack() as stack:
        peers = []
        for _ in range(3):
            peers.append(stack.enter_context(connected(server)))
            until(lambda: len(held) == len(peers), "the server has it")
            time.sleep(0.01)  # the clock of the event loop has milliseconds
        peers[0].sendall(GET)  # the oldest, and the last to be used
        assert one_answer(peers[0]).endswith(b"ok\n")
        peers[1].sendall(with_length(len(BODY)) + BODY[:-1])  # in use, but it keeps us waiting
        until(lambda: any(each.cycle and not each.cycle.response_complete for each in held), "the server reads it")
        newest = stack.enter_context(connected(server))
        newest.sendall(GET)
        assert one_answer(newest).endswith(b"ok\n")
        assert answer(peers[1]) == b""
        peers[0].sendall(GET)
        assert one_answer(peers[0]).endswith(b"ok\n")


@pytest.mark.parametrize("version", [b"HTTP/0.9", b"HTTP/2.0", b"HTTP/1.2", b"HTTP/3.0"])
def test_unknown_versions_of_http_are_refused(server: uvicorn.Server, version: bytes) -> None:
    with connected(server) as peer:
        peer.sendall(GET.replace(b"HTTP/1.1", version))
        received = answer(peer)
    assert received.startswith((b"HTTP/1.1 505 ", b"HTTP/1.1 400 "))
    assert received.count(b"HTTP/1.1 ") == 1


def test_a_request_of_http_0_9_is_refused(server: uvicorn.Server) -> None:
    with connected(server) as peer:
        peer.sendall(b"GET /healthz\r\n\r\n")
        assert answer(peer).startswith((b"HTTP/1.1 505 ", b"HTTP/1.1 400 "))


def test_malformed_requests_are_counted_and_logged_with_the_peer_but_not_one_by_one(
    caplog: pytest.LogCaptureFixture,
) -> None:
    metrics = Metrics()
    with running(http=functools.partial(Connection, refused=refusals(metrics))) as server:
        for _ in range(5):
            with connected(server) as peer:
                peer.sendall(b"\x16\x03\x01 garbage\r\n\r\n")
                assert answer(peer).startswith(b"HTTP/1.1 400 ")
    assert b'modelgate_http_errors_total{path="",status="400"} 5.0' in metrics.text()
    lines = [each.getMessage() for each in caplog.records if each.levelname == "WARNING"]
    assert len(lines) == 1
    assert lines[0].startswith("refused a request of 127.0.0.1:")


def test_no_path_leads_to_another(server: uvicorn.Server) -> None:
    with connected(server) as peer:
        peer.sendall(with_length(2).replace(b"/validate", b"/validate/") + b"{}")
        assert one_answer(peer).startswith(b"HTTP/1.1 404 ")
