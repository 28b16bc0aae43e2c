"""An API server as a pod finds it: by its environment, a file with a CA, and a file with a token."""

import ssl
import threading
from contextlib import contextmanager
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from certs.authority import Authority
from certs.names import Names


@contextmanager
def of_a_pod(folder, monkeypatch):
    """Answers ``{}`` to everything. Yields what was asked: path, Authorization and body of each request.

    ``folder`` gets ca.crt and token, and is to be used as the folder of the account.
    """
    authority = Authority.create(datetime.now(UTC))
    files = authority.issue(Names.of("127.0.0.1"), datetime.now(UTC)).files()
    for name, content in {**files, "ca.crt": authority.bundle, "token": b"first"}.items():
        (folder / name).write_bytes(content)
    asked = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            length = int(self.headers["Content-Length"] or 0)
            asked.append((self.path, self.headers["Authorization"], self.rfile.read(length)))
            self.send_response(200)
            self.send_header("Content-Length", "2")
            self.end_headers()
            self.wfile.write(b"{}")

        def do_PATCH(self):
            self.do_GET()

        def log_message(self, *_):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        context.load_cert_chain(folder / "tls.crt", folder / "tls.key")
        server.socket = context.wrap_socket(server.socket, server_side=True)
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "127.0.0.1")
        monkeypatch.setenv("KUBERNETES_SERVICE_PORT", str(server.server_port))
        yield asked
        server.shutdown()
        thread.join()
