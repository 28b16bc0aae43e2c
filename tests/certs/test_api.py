"""Every way in which an API server cannot be reached is an ApiServerError: anything else would end the sidecar."""

import contextlib
import json
import socket
import threading

import pytest

from certs.api import Api
from certs.errors import ApiServerError


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
