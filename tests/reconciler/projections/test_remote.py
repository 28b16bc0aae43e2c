"""What a server behind a tenant's URL can do to the reconciler: use up its budget, and lead nowhere else."""

import ipaddress
import socket
import ssl
import threading
import time
from datetime import UTC, datetime
from functools import partial

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from certs.keeper import Keeper
from certs.names import LOCAL
from certs.store import DirectoryStore
from reconciler.projection import Observed
from reconciler.projections.drift import BUSY, Drift
from reconciler.projections.remote import Client, Forbidden, Probe, Turns, Unreached, probe
from reconciler.projections.remote.address import Target, is_public
from reconciler.projections.remote.client import within
from reconciler.projections.remote.file import BLOCK
from tests.reconciler.models import NOW, Time, model
from webhook.cluster.view import MemoryView

BUDGET = 0.5
ENOUGH = 20.0
"""Seconds. The servers below trickle for longer, and a machine is never this slow."""


class Server:
    """Answers each connection by a function of the socket."""

    def __init__(self, answer):
        self._answer = answer
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._listener.close()

    def _accept(self):
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection):
        try:
            with connection:
                self._answer(connection)
        except OSError:
            pass  # the client has gone


def trickle(connection, data):
    """A byte each 0.1 s, for a minute at most."""
    for position in range(600):
        connection.sendall(data[position % len(data)].to_bytes())
        time.sleep(0.1)


def silent_handshake(connection):
    trickle(connection, b"\x16\x03\x03\x40\x00\x02\x00\x3f\xfc" + bytes(1000))  # the beginning of a ServerHello


def slow_status(connection):
    connection.recv(65536)
    trickle(connection, b"HTTP/1.1 100 Continue\r\n\r\n")


def slow_header(connection):
    connection.recv(65536)
    connection.sendall(b"HTTP/1.1 200 OK\r\nETag: x\r\nX-A: ")
    trickle(connection, b"a")


def endless_headers(connection):
    connection.recv(65536)
    while True:
        connection.sendall(b"HTTP/1.1 100 Continue\r\n\r\n")


def slow_redirect(connection):
    connection.recv(65536)
    time.sleep(0.3)
    connection.sendall(b"HTTP/1.1 302 Found\r\nLocation: /again\r\nContent-Length: 0\r\n\r\n")


def slow_body(connection):
    if connection.recv(65536).startswith(b"HEAD"):
        connection.sendall(b'HTTP/1.1 200 OK\r\nETag: "v"\r\nContent-Length: 99\r\n\r\n')
        return
    connection.sendall(b"HTTP/1.1 206 Partial Content\r\nContent-Length: %d\r\n\r\nGGUF" % BLOCK)
    trickle(connection, b"\x03")


def slow_chunks(connection):
    if connection.recv(65536).startswith(b"HEAD"):
        connection.sendall(b'HTTP/1.1 200 OK\r\nETag: "v"\r\nContent-Length: 99\r\n\r\n')
        return
    connection.sendall(b"HTTP/1.1 206 Partial Content\r\nTransfer-Encoding: chunked\r\n\r\n")
    trickle(connection, b"1\r\nG\r\n")


def looked(server, scheme="http", *, header=False, resolve=None):
    more = {} if resolve is None else {"resolve": resolve}
    client = partial(Client, ("127.0.0.1",), budget=BUDGET, **more)
    began = time.monotonic()
    found = probe(f"{scheme}://127.0.0.1:{server.port}/m.gguf", header, client)
    assert time.monotonic() - began < ENOUGH
    return found


@pytest.mark.parametrize(
    ("answer", "scheme"),
    [
        *((silent_handshake, "https"), (slow_status, "http"), (slow_header, "http")),
        *((endless_headers, "http"), (slow_redirect, "http")),
    ],
)
def test_the_budget_ends_a_look_in_whatever_it_waits_for(answer, scheme):
    with Server(answer) as server:
        assert looked(server, scheme) == Probe(error="the time for this file is used up")


@pytest.mark.parametrize("answer", [slow_body, slow_chunks])
def test_a_body_that_trickles_ends_with_the_budget_and_leaves_the_fingerprint(answer):
    with Server(answer) as server:
        assert looked(server, header=True) == Probe('"v"', 99)


def test_a_lookup_in_dns_ends_with_the_budget():
    ended = threading.Event()

    def resolve(*_):
        ended.wait(60)
        return ["127.0.0.1"]

    with Server(slow_header) as server:
        found = looked(server, resolve=resolve)
    ended.set()
    assert found == Probe(error="127.0.0.1 cannot be resolved")


def test_what_a_lookup_returns_in_time_is_its_result():
    assert within(60, lambda: ["93.184.215.14"]) == ["93.184.215.14"]


def test_no_thread_and_no_connection_is_left_of_a_look():
    with Server(slow_header) as server:
        for _ in range(5):
            looked(server)
    names = {each.name for each in threading.enumerate()}
    assert not [each for each in names if each == "lookup" or "Timer" in each]


def test_slow_looks_of_one_namespace_leave_a_turn_to_others_and_a_worker_to_all():
    time = Time()
    turns = Turns(2, time)
    with turns.take("slow") as first, turns.take("slow") as second, turns.take("other") as third:
        assert (first, second, third) == (True, False, True)
        with turns.take("third") as fourth:
            assert not fourth  # all slots are taken
        time.seconds += 10
    with turns.take("slow") as at_once, turns.take("third") as another:
        assert (at_once, another) == (False, True)
    time.seconds += 10
    with turns.take("slow") as rested:
        assert rested


def test_a_turn_ends_also_when_the_look_fails():
    turns = Turns(1, Time())
    with pytest.raises(ZeroDivisionError), turns.take("a"):
        raise ZeroDivisionError
    with turns.take("b") as turn:
        assert turn


def test_a_look_that_has_to_wait_is_made_later_and_says_nothing_of_the_file():
    drift = Drift(lambda *_: pytest.fail("it is not its turn"), 3600.0)
    obj = model(source="https://example.com/m.gguf")
    obj["metadata"] |= {"uid": "u", "generation": 1}
    with drift.turns.take("another"):
        assert drift.observe(obj, MemoryView(), NOW) is None
    found = drift.found(obj, Observed(NOW, MemoryView(), None))
    assert (found.members, found.conditions, found.wait) == ({}, [], BUSY)


REDIRECTS = [
    *(
        b"http://[x",
        b"//[",
        b"http://a]b/",
        b"http://x:99999/",
        b"http://x:abc/",
        b"file:///etc/passwd",
        b"http://a\0b/",
    ),
    *(b"http://" + b"a" * 300 + b"/", b"http://.example/", b"http://a..b/", b"http://%0d%0a/", b"http://\xe2\x84\x80/"),
    *(b"https://.example/", b"http:", b"http://u:secret/x@127.0.0.1/", b"http://\xad/", b"gopher://x/"),
]


@pytest.mark.parametrize("location", REDIRECTS)
def test_a_redirect_that_leads_nowhere_is_an_error_of_this_file(location):
    def answer(connection):
        connection.recv(65536)
        connection.sendall(b"HTTP/1.1 302 Found\r\nLocation: %s\r\nContent-Length: 0\r\n\r\n" % location)

    with Server(answer) as server:
        found = looked(server, resolve=lambda host, _: ["127.0.0.1"] if host == "127.0.0.1" else [])
    assert found.error
    assert "secret" not in found.error


@given(
    st.one_of(st.text(max_size=40), st.text(max_size=40).map("http://{}".format), st.from_regex(r"https?://.{0,30}"))
)
def test_a_look_never_raises_whatever_the_url(url):
    found = probe(url, True, partial(Client, resolve=lambda *_: ["10.0.0.1"]))
    assert found.error


@given(st.binary(max_size=60))
def test_a_look_never_raises_whatever_the_server_answers(data):
    def answer(connection):
        connection.recv(65536)
        connection.sendall(b"HTTP/1.1 200 OK\r\n" + data if len(data) % 2 else data)

    with Server(answer) as server:
        assert isinstance(looked(server, header=True), Probe)


@pytest.mark.parametrize(
    "url", ["http://例え.jp:{}/x.gguf", "http://bücher.example:{}/ä b.gguf", "http://a:{}/x?\x7fä"]
)
def test_international_names_and_paths_are_sent_in_ascii(url):
    seen = []

    def answer(connection):
        seen.append(connection.recv(65536))
        connection.sendall(b"HTTP/1.1 200 OK\r\nETag: x\r\nContent-Length: 0\r\n\r\n")

    with Server(answer) as server:
        hosts = ("例え.jp", "BÜCHER.example", "a")
        client = partial(Client, hosts, resolve=lambda *_: ["127.0.0.1"])
        assert probe(url.format(server.port), False, client) == Probe("x")
    assert seen[0].isascii()


def test_the_host_is_named_with_its_port_as_it_was_written():
    assert Target.of("https://user:pw@Example.com/a?b=%20c").header == "example.com"
    assert Target.of("http://[2606:4700::1111]:8080").header == "[2606:4700::1111]:8080"
    assert Target.of("http://a//b;c=1?d=/?e#f").path == "//b;c=1?d=/?e"


@pytest.fixture
def secure(tmp_path, monkeypatch):
    """A server of https whose CA this machine trusts; its certificate is for localhost and 127.0.0.1."""
    folder, now = tmp_path / "tls", datetime.now(UTC)
    Keeper(folder, LOCAL, DirectoryStore(tmp_path / "ca"), lambda: now).look()
    monkeypatch.setenv("SSL_CERT_FILE", str(folder / "ca.crt"))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "tls.crt", folder / "tls.key")

    def answer(connection):
        with context.wrap_socket(connection, server_side=True) as secured:
            secured.recv(65536)
            secured.sendall(b"HTTP/1.1 200 OK\r\nETag: x\r\nContent-Length: 7\r\n\r\n")

    with Server(answer) as server:
        yield server


@pytest.mark.parametrize(("host", "seen"), [("localhost", Probe("x", 7)), ("127.0.0.1", Probe("x", 7))])
def test_https_is_verified_for_the_name_that_was_asked_for(secure, host, seen):
    client = partial(Client, (host, "other.example"), resolve=lambda *_: ["127.0.0.1"])
    assert probe(f"https://{host}:{secure.port}/", False, client) == seen
    other = probe(f"https://other.example:{secure.port}/", False, client)
    assert other.error == "other.example: SSLCertVerificationError"


# IANA's registries of special-purpose addresses, whole: https://www.iana.org/assignments/iana-ipv4-special-registry and
# https://www.iana.org/assignments/iana-ipv6-special-registry. "Globally reachable" ones are refused, too.
IPV4 = """
0.0.0.0/8 0.0.0.0/32 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 169.254.0.0/16 172.16.0.0/12 192.0.0.0/24 192.0.0.0/29
192.0.0.8/32 192.0.0.9/32 192.0.0.10/32 192.0.0.170/32 192.0.0.171/32 192.0.2.0/24 192.31.196.0/24 192.52.193.0/24
192.88.99.0/24 192.88.99.2/32 192.168.0.0/16 192.175.48.0/24 198.18.0.0/15 198.51.100.0/24 203.0.113.0/24 240.0.0.0/4
255.255.255.255/32"""
IPV6 = """
::1/128 ::/128 ::ffff:0:0/96 64:ff9b::/96 64:ff9b:1::/48 100::/64 100:0:0:1::/64 2001::/23 2001::/32 2001:1::1/128
2001:1::2/128 2001:1::3/128 2001:2::/48 2001:3::/32 2001:4:112::/48 2001:10::/28 2001:20::/28 2001:30::/28 2001:db8::/32
2002::/16 2620:4f:8000::/48 3fff::/20 5f00::/16 fc00::/7 fe80::/10"""
BESIDE = """
224.0.0.0/4 168.63.129.16/32 fec0::/10 ff00::/8 3ffe::/16 ::/96 ::ffff:0:0:0/96 fd00:ec2::254/128 4000::/3 e000::/4"""
"""Multicast, Azure's own services, and what IPv6 has given up, embeds IPv4 in, or has not given out."""


@pytest.mark.parametrize("network", [*IPV4.split(), *IPV6.split(), *BESIDE.split()])
def test_no_address_with_a_special_purpose_is_public(network):
    found = ipaddress.ip_network(network)
    middle = found.network_address + found.num_addresses // 2
    if network == "::ffff:0:0/96":  # IPv4 in other words: what counts is the address inside
        assert not is_public("::ffff:10.0.0.1")
        return
    for each in (found[0], middle, found[-1]):
        assert not is_public(str(each)), each
        client = Client(resolve=lambda _host, _port, address=str(each): ["93.184.215.14", address])
        with pytest.raises(Forbidden), client.request("HEAD", "http://example.com/"):
            pass


@pytest.mark.parametrize(
    "address",
    [
        *("1.1.1.1", "8.8.8.8", "9.255.255.255", "11.0.0.0", "100.63.255.255", "100.128.0.0", "126.255.255.255"),
        *("128.0.0.0", "172.15.255.255", "172.32.0.0", "192.0.1.0", "192.167.255.255", "198.17.255.255", "198.20.0.0"),
        *("223.255.255.255", "2001:200::1", "2606:4700::1111", "2a00:1450::1", "2003::1", "3ffd::1", "::ffff:1.1.1.1"),
    ],
)
def test_addresses_beside_them_are_public(address):
    assert is_public(address)


@example(ipaddress.ip_address("::ffff:11.0.0.0"))
@example(ipaddress.ip_address("::ffff:10.0.0.1"))
@given(st.ip_addresses())
def test_an_address_that_python_does_not_count_as_global_is_not_public(address):
    address = getattr(address, "ipv4_mapped", None) or address  # Python 3.11 counts all of them as reserved
    if not address.is_global or address.is_multicast or address.is_reserved:
        assert not is_public(str(address))


def test_an_address_with_a_zone_is_judged_without_it():
    assert not is_public("fe80::1%eth0")


def test_text_without_a_scheme_is_not_reached():
    with pytest.raises(Unreached, match="not an http or https URL"):
        Target.of("example.com/m.gguf")
