"""Handshakes have an end and a limit, and an exhausted process accepts again later."""

import asyncio
import contextlib
import os
import resource
import socket
import ssl
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from certs.authority import Authority
from certs.files import replace
from certs.names import LOCAL
from tests.serve.conftest import until
from webhook.serve.http import listener as listeners
from webhook.serve.http.listener import Listener
from webhook.serve.tls import Certificate

Contexts = tuple[ssl.SSLContext, ssl.SSLContext]


class Greeting(asyncio.Protocol):
    """Sends one line when the handshake is complete."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.WriteTransport)
        transport.write(b"hello\n")
        transport.close()


@pytest.fixture
def contexts(tmp_path: Path) -> tuple[ssl.SSLContext, ssl.SSLContext]:
    """Those of a server and of its clients."""
    now = datetime.now(UTC)
    issuer = Authority.create(now)
    replace(tmp_path, issuer.issue(LOCAL, now).files())
    return Certificate(tmp_path).context, ssl.create_default_context(cadata=issuer.bundle.decode())


@contextlib.asynccontextmanager
async def listening(context: ssl.SSLContext, spare: int = 0) -> AsyncIterator[int]:
    """The port of a listener."""
    sock = socket.create_server(("127.0.0.1", 0))
    listener = Listener(sock, Greeting, context, 100, lambda: spare)
    try:
        yield sock.getsockname()[1]
    finally:
        listener.close()
        await listener.wait_closed()


def connect(port: int, host: str = "127.0.0.1", *, first: bytes = b"\x16") -> socket.socket:
    """A connection on which a handshake begins, and never goes on."""
    peer = socket.create_connection(("127.0.0.1", port), source_address=(host, 0))
    peer.send(first)
    peer.setblocking(False)
    return peer


async def end(peer: socket.socket) -> bytes:
    """What a silent peer receives in the end."""
    with contextlib.suppress(ConnectionError):
        return await asyncio.wait_for(asyncio.get_running_loop().sock_recv(peer, 100), 20)
    return b""


async def greeted(port: int, context: ssl.SSLContext) -> bytes:
    reader, writer = await asyncio.open_connection("localhost", port, ssl=context, family=socket.AF_INET)
    line = await reader.readline()
    writer.close()
    return line


def test_a_handshake_that_does_not_proceed_is_ended(contexts: Contexts, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listeners, "HANDSHAKE_SECONDS", 0.05)

    async def main() -> None:
        async with listening(contexts[0]) as port:
            with contextlib.closing(connect(port)) as peer:
                assert await end(peer) == b""

    asyncio.run(main())


def test_of_too_many_handshakes_the_oldest_gives_way(contexts: Contexts, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listeners, "HANDSHAKES", 3)
    monkeypatch.setattr(listeners, "HANDSHAKE_SECONDS", 60)

    async def main() -> None:
        async with listening(contexts[0]) as port:
            with contextlib.ExitStack() as stack:
                peers = [stack.enter_context(contextlib.closing(connect(port))) for _ in range(10)]
                for peer in peers[:7]:
                    assert await end(peer) == b""
                assert await greeted(port, contexts[1]) == b"hello\n"
                with pytest.raises(BlockingIOError):
                    peers[-1].recv(1)  # still open

    asyncio.run(main())


def test_a_handshake_may_take_the_place_of_a_connection(contexts: Contexts, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listeners, "HANDSHAKES", 3)
    monkeypatch.setattr(listeners, "HANDSHAKE_SECONDS", 60)

    async def main() -> None:
        async with listening(contexts[0], spare=7) as port:
            with contextlib.ExitStack() as stack:
                peers = [stack.enter_context(contextlib.closing(connect(port))) for _ in range(11)]
                assert await end(peers[0]) == b""
                for peer in peers[1:]:
                    with pytest.raises(BlockingIOError):
                        peer.recv(1)  # still open

    asyncio.run(main())


def test_a_silent_peer_takes_no_place(contexts: Contexts, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listeners, "HANDSHAKES", 2)

    async def main() -> None:
        async with listening(contexts[0]) as port:
            with contextlib.ExitStack() as stack:
                begun = stack.enter_context(contextlib.closing(connect(port)))
                silent = [stack.enter_context(contextlib.closing(connect(port, first=b""))) for _ in range(20)]
                assert await greeted(port, contexts[1]) == b"hello\n"
                for peer in (begun, *silent):
                    with pytest.raises(BlockingIOError):
                        peer.recv(1)  # still open

    asyncio.run(main())


def test_a_peer_with_many_handshakes_does_not_end_those_of_another(
    contexts: Contexts, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(listeners, "HANDSHAKES", 3)
    monkeypatch.setattr(listeners, "HANDSHAKE_SECONDS", 60)

    async def main() -> None:
        async with listening(contexts[0]) as port:
            with contextlib.ExitStack() as stack:
                first = stack.enter_context(contextlib.closing(connect(port, "127.0.0.2")))
                many = [stack.enter_context(contextlib.closing(connect(port))) for _ in range(10)]
                for peer in many[:8]:
                    assert await end(peer) == b""
                with pytest.raises(BlockingIOError):
                    first.recv(1)  # still open, though it is the oldest

    asyncio.run(main())


def test_a_peer_that_leaves_without_a_word_begins_no_handshake(
    contexts: Contexts, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun = []
    monkeypatch.setattr(Listener, "_begin", lambda _self, peer, _host: begun.append(peer.close()))

    async def main() -> None:
        async with listening(contexts[0]) as port:
            for _ in range(5):
                connect(port, first=b"").close()
            with contextlib.closing(connect(port)) as peer:
                assert await end(peer) == b""

    asyncio.run(main())
    assert len(begun) == 1


@pytest.mark.parametrize(("hosts", "index"), [("abab", 0), ("abbab", 1), ("a", 0), ("abcc", 2)])
def test_of_too_many_connections_the_oldest_of_the_peer_with_the_most_is_chosen(hosts: str, index: int) -> None:
    assert listeners.oldest_of_most(list(enumerate(hosts)), lambda each: each[1]) == (index, hosts[index])


def test_a_peer_that_does_not_speak_tls_harms_only_itself(contexts: Contexts) -> None:
    async def main() -> None:
        async with listening(contexts[0]) as port:
            with contextlib.closing(connect(port)) as peer:
                peer.send(b"GET / HTTP/1.1\r\n\r\n")
                await end(peer)
            assert await greeted(port, contexts[1]) == b"hello\n"

    asyncio.run(main())


@contextlib.contextmanager
def without_descriptors():
    """The process can open no descriptor."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    used = [os.open("/dev/null", os.O_RDONLY)]
    resource.setrlimit(
        resource.RLIMIT_NOFILE, (max(int(each.name) for each in Path("/proc/self/fd").iterdir()) + 1, before[1])
    )
    with contextlib.suppress(OSError):
        while True:
            used.append(os.open("/dev/null", os.O_RDONLY))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)
        for each in used:
            os.close(each)


def test_without_descriptors_the_listener_waits_and_then_accepts(
    contexts: Contexts, caplog: pytest.LogCaptureFixture
) -> None:
    async def main() -> None:
        async with listening(contexts[0]) as port:
            with contextlib.closing(connect(port)) as peer:
                with without_descriptors():
                    await asyncio.to_thread(until, lambda: bool(caplog.records), "the listener reports it")
                    assert "cannot accept connections: Too many open files" in caplog.text
                assert await greeted(port, contexts[1]) == b"hello\n"
                peer.send(b"x")

    asyncio.run(main())
