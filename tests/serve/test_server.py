"""The life of a real server process: TLS, new certificates, draining, and what it never imports."""

import asyncio
import contextlib
import json
import os
import signal
import socket
import ssl
import subprocess
import sys
import threading
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from certs.authority import Authority
from certs.files import replace
from certs.names import LOCAL
from tests.serve.conftest import Served, until
from tests.serve.test_app import a_review
from webhook.serve.polling import repeated
from webhook.serve.tls import Certificate

NOW = datetime.now(UTC)

Serve = Callable[..., Served]


def served_serial(served: Served) -> str:
    with contextlib.closing(served.connection()) as connection:
        connection.connect()
        assert isinstance(connection.sock, ssl.SSLSocket)
        certificate = connection.sock.getpeercert()
        assert certificate
        return str(certificate["serialNumber"])


def test_the_gate_serves_over_verified_tls(serve: Serve) -> None:
    served = serve()
    assert served.get("/healthz") == (200, "ok\n")
    status, metrics = served.get("/metrics")
    assert status == 200
    assert "modelgate_catalog_info{digest=" in metrics
    assert "modelgate_certificate_not_after_seconds 1" in metrics


OLD = pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1, ssl.TLSVersion.TLSv1_1], ids=["1.0", "1.1"])


def client_of(served: Served, version: ssl.TLSVersion) -> ssl.SSLContext:
    """A client of one version. Without the security level, OpenSSL refuses old versions before it sends a byte."""
    context = served.context()
    context.set_ciphers("ALL:@SECLEVEL=0")
    with pytest.warns(DeprecationWarning, match="TLSv1"):
        context.minimum_version = version
    with pytest.warns(DeprecationWarning, match="TLSv1"):
        context.maximum_version = version
    return context


@OLD
def test_old_tls_versions_are_refused(serve: Serve, version: ssl.TLSVersion) -> None:
    """The gate refuses, not the client: the log of the gate names the reason."""
    served = serve("--log-level", "debug")
    context = client_of(served, version)
    with (
        contextlib.closing(socket.create_connection(("127.0.0.1", served.port), timeout=20)) as plain,
        pytest.raises((ssl.SSLError, ConnectionError)),
    ):
        context.wrap_socket(plain, server_hostname="localhost").close()
    until(lambda: "UNSUPPORTED_PROTOCOL" in served.log(), "the gate has refused the version")


def test_plain_http_is_not_served(serve: Serve) -> None:
    served = serve()
    with contextlib.closing(socket.create_connection(("127.0.0.1", served.port), timeout=20)) as plain:
        plain.sendall(b"GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n")
        with contextlib.suppress(ConnectionError):
            assert b"HTTP" not in plain.recv(1000)


def test_a_new_certificate_is_served_without_losing_open_connections(serve: Serve) -> None:
    served = serve(MODELGATE_TLS_POLL_SECONDS="0.05")
    before = served_serial(served)
    with contextlib.closing(served.connection()) as kept:
        kept.request("GET", "/healthz")
        kept.getresponse().read()
        (served.folder / "tls.key").unlink()  # a folder caught between two writes must not hurt
        (served.folder / "tls.crt").unlink()
        replace(served.folder, served.authority.issue(LOCAL, datetime.now(UTC)).files())
        until(lambda: served_serial(served) != before, "the new certificate is served")
        kept.request("GET", "/healthz")
        assert kept.getresponse().read() == b"ok\n"


def test_a_broken_certificate_leaves_the_old_one_in_use(serve: Serve) -> None:
    served = serve(MODELGATE_TLS_POLL_SECONDS="0.05")
    before = served_serial(served)
    for name in ("tls.crt", "tls.key"):
        (served.folder / name).resolve().write_text("not a certificate")
    until(lambda: "is not used" in served.log(), "the gate has looked at the files")
    assert served_serial(served) == before


def test_on_sigterm_the_gate_serves_on_tells_clients_to_leave_and_stops(serve: Serve) -> None:
    served = serve("--drain-seconds", "1")
    with contextlib.closing(served.connection()) as connection:
        connection.request("GET", "/healthz")
        assert connection.getresponse().read() == b"ok\n"
        served.process.send_signal(signal.SIGTERM)
        until(lambda: "draining for 1s" in served.log(), "the gate is draining")
        connection.request("GET", "/readyz")
        response = connection.getresponse()
        assert (response.status, response.headers["connection"]) == (503, "close")
        assert response.read() == b"stopping: other replicas answer now\n"
        assert served.get("/healthz") == (200, "ok\n")  # a new connection, as from an API server that lags behind
    assert served.process.wait(timeout=20) == 0
    assert "Traceback" not in served.log()


@pytest.mark.parametrize(("sent", "code"), [(signal.SIGTERM, 0), (signal.SIGINT, 130)])
def test_a_signal_ends_a_gate_that_nothing_else_wakes_up(serve: Serve, tmp_path: Path, sent: int, code: int) -> None:
    (tmp_path / "sitecustomize.py").write_text("from webhook.serve import server\n\nserver.DATE_SECONDS = 3600.0\n")
    served = serve("--drain-seconds", "0", PYTHONPATH=str(tmp_path))
    served.process.send_signal(sent)
    assert served.process.wait(timeout=20) == code
    assert "Traceback" not in served.log()


def a_review_of_seconds() -> str:
    """An AIMService with many image pull secrets."""
    api = {"group": "aim.silogen.ai", "version": "v1alpha1"}
    request = {
        "uid": "1",
        "kind": {**api, "kind": "AIMService"},
        "resource": {**api, "resource": "aimservices"},
        "operation": "CREATE",
        "object": {
            "apiVersion": "aim.silogen.ai/v1alpha1",
            "kind": "AIMService",
            "metadata": {"name": "a", "namespace": "n"},
            "spec": {"imagePullSecrets": [{}] * 300_000},
        },
    }
    return json.dumps({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request})


def test_while_a_large_review_is_decided_others_are_answered(serve: Serve) -> None:
    served = serve()
    children = Path(f"/proc/{served.process.pid}/task/{served.process.pid}/children")
    with contextlib.closing(served.connection()) as connection:
        connection.request("POST", "/mutate?timeout=30s", a_review_of_seconds(), {"Content-Type": "application/json"})
        until(lambda: children.read_text() != "", "the child runs")
        child = int(children.read_text())
        os.kill(child, signal.SIGSTOP)
        assert served.get("/healthz") == (200, "ok\n")
        assert served.get("/readyz")[0] == 200
        with contextlib.closing(served.connection()) as other:
            other.request("POST", "/mutate", json.dumps(a_review()), {"Content-Type": "application/json"})
            assert other.getresponse().status == 200
        os.kill(child, signal.SIGKILL)
        assert connection.getresponse().status == 503
    assert 'modelgate_large_total{outcome="killed"} 1.0' in served.get("/metrics")[1]
    assert children.read_text() == ""


def test_nothing_below_the_log_level_is_logged(serve: Serve) -> None:
    served = serve("--log-level", "error", "--drain-seconds", "0", MODELGATE_LOG_LEVEL="debug")
    assert served.get("/healthz")[0] == 200
    served.process.send_signal(signal.SIGTERM)
    assert served.process.wait(timeout=20) == 0
    assert served.log() == ""


def test_sighup_loads_a_new_certificate_at_once_and_never_ends_the_gate(serve: Serve) -> None:
    served = serve(MODELGATE_TLS_POLL_SECONDS="3600")
    before = served_serial(served)
    replace(served.folder, served.authority.issue(LOCAL, datetime.now(UTC)).files())
    served.process.send_signal(signal.SIGHUP)
    until(lambda: served_serial(served) != before, "the new certificate is served")
    served.process.send_signal(signal.SIGHUP)
    until(lambda: served.log().count("SIGHUP: checking") == 2, "the signal is seen")
    assert served.get("/healthz") == (200, "ok\n")


def test_an_unforeseen_error_does_not_end_the_repetition(caplog: pytest.LogCaptureFixture) -> None:
    looks: list[None] = []
    again = threading.Event()

    def look() -> None:
        looks.append(None)
        if len(looks) == 1:
            raise ZeroDivisionError
        again.set()

    async def watched() -> bool:
        async with repeated(look, 0.001):
            return await asyncio.to_thread(again.wait, 20)

    assert asyncio.run(watched())
    assert "has failed" in caplog.text


def test_a_certificate_whose_end_cannot_be_told_leaves_the_old_one_in_use_and_is_looked_at_again(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    issuer = Authority.create(NOW)
    replace(tmp_path, issuer.issue(LOCAL, NOW).files())
    unreadable = False

    def loaded(_context: object) -> None:
        if unreadable:
            raise ValueError("error parsing asn1 value")

    served = Certificate(tmp_path, loaded)
    replace(tmp_path, issuer.issue(LOCAL, NOW).files())
    unreadable = True
    assert not served.refresh()
    assert "is not used: error parsing asn1 value" in caplog.text
    unreadable = False
    assert served.refresh()


def test_a_certificate_behind_links_in_a_circle_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / "tls.crt").symlink_to("tls.crt")
    with pytest.raises(OSError, match="Too many levels of symbolic links"):
        Certificate(tmp_path)


def test_the_server_never_imports_a_kubernetes_client() -> None:
    program = "import sys, webhook.serve.server; sys.exit('kubernetes' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


def test_a_server_starts_without_importing_cel_python_or_pydantic(serve: Callable[..., Served]) -> None:
    lines = serve(PYTHONPROFILEIMPORTTIME="1").log().splitlines()
    imported = {line.rpartition("|")[2].strip().partition(".")[0] for line in lines}
    assert {"webhook", "uvicorn"} <= imported
    assert imported & {"celpy", "pendulum", "jmespath", "pydantic"} == set()


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        ([], "--tls-dir (MODELGATE_TLS_DIR): is required"),
        (["--tls-dir", "/nowhere"], "/nowhere"),
        (["--tls-dir", "/tmp", "--port", "70000"], "less than or equal to 65535"),
    ],
)
def test_a_server_that_cannot_start_says_why(flags: list[str], message: str) -> None:
    found = subprocess.run(
        [sys.executable, "-m", "webhook", "serve", *flags], capture_output=True, text=True, check=False
    )
    assert found.returncode == 64
    assert message in found.stderr
    assert "Traceback" not in found.stderr
