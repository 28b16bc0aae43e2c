"""Issued certificates in real handshakes over loopback, by the strictest rules that Python's ssl has."""

import socket
import ssl
import threading
from datetime import UTC, datetime

import pytest

from certs.authority import Authority
from certs.keeper import Keeper
from certs.names import LOCAL
from certs.store import DirectoryStore
from tests.certs.material import SERVICE


@pytest.fixture
def tls(tmp_path):
    """A directory as ``modelgate certs issue`` leaves it, valid now: a handshake looks at the real clock."""
    now = datetime.now(UTC)
    Keeper(tmp_path / "tls", SERVICE | LOCAL, DirectoryStore(tmp_path / "ca"), lambda: now).look()
    return tmp_path / "tls"


def shake(tls, trusted: bytes, name: str) -> str | None:
    """One handshake; the TLS version, or the error of the client."""
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(tls / "tls.crt", tls / "tls.key")
    client = ssl.create_default_context(cadata=trusted.decode())
    client.verify_flags |= ssl.VERIFY_X509_STRICT
    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=_accept, args=(listener, server))
        thread.start()
        try:
            with (
                socket.create_connection(listener.getsockname(), timeout=10) as plain,
                client.wrap_socket(plain, server_hostname=name) as secure,
            ):
                return secure.version()
        except ssl.SSLCertVerificationError as error:
            return error.verify_message
        finally:
            thread.join()


def _accept(listener: socket.socket, context: ssl.SSLContext) -> None:
    connection, _ = listener.accept()
    with connection:
        try:
            context.wrap_socket(connection, server_side=True).close()
        except (ssl.SSLError, OSError):  # the client did not trust us, and said so
            return


@pytest.mark.parametrize("name", [*SERVICE.dns, "localhost", "127.0.0.1", "::1"])
def test_every_name_is_served(tls, name):
    assert shake(tls, (tls / "ca.crt").read_bytes(), name) == "TLSv1.3"


@pytest.mark.parametrize("name", ["modelgate", "other.modelgate-system.svc", "127.0.0.2"])
def test_no_other_name_is_served(tls, name):
    assert "mismatch" in shake(tls, (tls / "ca.crt").read_bytes(), name)


def test_another_ca_is_not_trusted(tls):
    other = Authority.create(datetime.now(UTC)).bundle
    assert shake(tls, other, "localhost") == "unable to get local issuer certificate"


def test_a_bundle_of_old_and_new_trusts_both(tls):
    other = Authority.create(datetime.now(UTC)).bundle
    assert shake(tls, other + (tls / "ca.crt").read_bytes(), "localhost") == "TLSv1.3"
