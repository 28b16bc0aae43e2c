"""A webhook that allows everything and remembers what it was sent: the API server's words, for tests without one."""

from __future__ import annotations

import base64
import datetime as dt
import ipaddress
import json
import ssl
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Self

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from tests.e2e.kubectl import Object

Patch = list[dict[str, Any]]

# Every request for a Model, its status included, in the order of the fixtures.
RULES = [
    {
        "apiGroups": ["inference.llmkube.dev"],
        "apiVersions": ["v1alpha1"],
        "resources": ["models", "models/status"],
        "operations": ["CREATE", "UPDATE", "DELETE"],
    }
]


class Recorder:
    """An HTTPS server on loopback; ``take()`` hands out the AdmissionReviews since the last time, by path.

    With ``patch``, a JSON patch, its mutating webhook changes every Model.
    """

    def __init__(self, folder: Path, patch: Patch | None = None) -> None:
        certificate = self_signed(folder, "127.0.0.1")
        self.ca = base64.b64encode(certificate.read_bytes()).decode()
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate, folder / "tls.key")
        self._server = Server(("127.0.0.1", 0), Handler)
        self._server.patch = patch
        self._server.socket = context.wrap_socket(self._server.socket, server_side=True)
        self._thread = threading.Thread(target=self._server.serve_forever, name="recorder")

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def take(self) -> list[tuple[str, Object]]:
        """``("mutate" | "validate", AdmissionReview)`` in the order they came."""
        taken, self._server.seen = self._server.seen, []
        return taken

    def configurations(self) -> list[Object]:
        """What makes the API server send everything about Models here, to both paths."""
        return [self._configuration("Mutating", "mutate"), self._configuration("Validating", "validate")]

    def _configuration(self, kind: str, path: str) -> Object:
        url = f"https://127.0.0.1:{self._server.server_port}/{path}"
        webhook = {
            "name": f"{path}.recorder.test",
            "clientConfig": {"url": url, "caBundle": self.ca},
            "rules": RULES,
            "admissionReviewVersions": ["v1"],
            "sideEffects": "None",
        }
        return {
            "apiVersion": "admissionregistration.k8s.io/v1",
            "kind": f"{kind}WebhookConfiguration",
            "metadata": {"name": "recorder"},
            "webhooks": [webhook],
        }


class Server(ThreadingHTTPServer):
    daemon_threads = True  # the API server keeps its connections open

    def __init__(self, *arguments: object) -> None:
        super().__init__(*arguments)
        self.seen: list[tuple[str, Object]] = []
        self.patch: Patch | None = None


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    timeout = 10  # an idle connection ends with its thread

    def do_POST(self) -> None:
        review = json.loads(self.rfile.read(int(self.headers["content-length"])))
        path = self.path.split("?")[0].strip("/")
        self.server.seen.append((path, review))
        answer = {"apiVersion": review["apiVersion"], "kind": review["kind"]}
        answer["response"] = {"uid": review["request"]["uid"], "allowed": True}
        if path == "mutate" and self.server.patch:
            patch = base64.b64encode(json.dumps(self.server.patch).encode()).decode()
            answer["response"] |= {"patchType": "JSONPatch", "patch": patch}
        body = json.dumps(answer).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Say nothing: what came in is what counts."""


def self_signed(folder: Path, address: str) -> Path:
    """Write ``tls.crt`` and ``tls.key`` for one IP address, valid for a day; returns the certificate's path."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "recorder")])
    now = dt.datetime.now(dt.UTC)
    certificate = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - dt.timedelta(minutes=5))
        .not_valid_after(now + dt.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address(address))]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    encoding, form = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8
    (folder / "tls.crt").write_bytes(certificate.public_bytes(encoding))
    (folder / "tls.key").write_bytes(key.private_bytes(encoding, form, serialization.NoEncryption()))
    return folder / "tls.crt"
