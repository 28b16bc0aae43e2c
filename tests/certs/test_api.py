"""Every way in which an API server cannot be reached is an ApiServerError: anything else would end the sidecar."""

import contextlib
import json
import socket
import threading
from datetime import UTC, datetime

import pytest

from certs.api import Api
from certs.authority import Authority
from certs.errors import ApiServerError
from tests.certs.pod import of_a_pod


@pytest.fixture
def api(tmp_path, monkeypatch):
    """Connects to a port; what is behind it is the test's."""

    def connect(port):
        cluster = {"server": f"https://127.0.0.1:{port}", "insecure-skip-tls-verify": True}
        config = {
            "clusters": [{"name": "c", "cluster": cluster}],
            "users": [{"name": "u", "user": {"token": "t"}}],
            "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
            "current-context": "x",
        }
        (tmp_path / "kubeconfig").write_text(json.dumps(config))
        monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
        monkeypatch.setenv("KUBECONFIG", str(tmp_path / "kubeconfig"))
        return Api()

    return connect


@contextlib.contextmanager
def answering(content):
    """A listener that says this to each connection, and closes it."""

    def serve():
        with contextlib.suppress(OSError):
            while True:
                connection, _ = listener.accept()
                with connection:
                    connection.recv(4096)
                    connection.sendall(content)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=serve)
        thread.start()
        try:
            yield listener.getsockname()[1]
        finally:
            listener.shutdown(socket.SHUT_RDWR)
            thread.join()


@pytest.mark.parametrize("content", [b"", b"HTTP/1.1 400 Bad Request\r\n\r\n", b"\x15\x03\x03\x00\x02\x02\x28"])
@pytest.mark.filterwarnings("ignore::urllib3.exceptions.InsecureRequestWarning")
def test_a_connection_that_breaks_off_is_an_api_error(api, content):
    with answering(content) as port, pytest.raises(ApiServerError, match="the API server cannot be reached"):
        api(port).get("/version")


def test_a_closed_port_is_an_api_error(api):
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    with pytest.raises(ApiServerError, match="the API server cannot be reached"):
        api(port).get("/version")


@pytest.fixture
def in_a_pod(tmp_path, monkeypatch):
    """An API server that a pod finds by its environment; what it was asked, in order."""
    monkeypatch.setattr("certs.api._ACCOUNT", tmp_path)
    with of_a_pod(tmp_path, monkeypatch) as asked:
        yield asked


def test_in_a_pod_the_api_server_is_verified_and_the_token_of_the_moment_is_sent(in_a_pod, tmp_path):
    api = Api()
    api.apply("/apis/x", {"a": 1}, "me")
    (tmp_path / "token").write_text("second")
    api.apply("/apis/x", {"a": 1}, "me")
    assert in_a_pod == [
        ("/apis/x?fieldManager=me&force=true", f"Bearer {token}", b'{"a": 1}') for token in ("first", "second")
    ]
    assert api.authorities() == (tmp_path / "ca.crt").read_bytes()


@pytest.mark.usefixtures("in_a_pod")
def test_in_a_pod_a_server_of_another_ca_and_a_token_that_is_gone_are_api_errors(tmp_path):
    api = Api()
    (tmp_path / "token").unlink()
    with pytest.raises(ApiServerError, match="the API server cannot be reached"):
        api.apply("/apis/x", {}, "me")
    (tmp_path / "token").write_text("t")
    (tmp_path / "ca.crt").write_bytes(Authority.create(datetime.now(UTC)).bundle)
    with pytest.raises(ApiServerError, match="certificate verify failed"):
        Api().apply("/apis/x", {}, "me")
