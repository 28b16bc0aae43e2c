"""Answer the kubelet's probes, /healthz (restart if it fails) and /readyz, and Prometheus (/metrics)."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Callable, Iterator, Mapping
from http.server import BaseHTTPRequestHandler
from socketserver import ThreadingTCPServer

Check = Callable[[], tuple[bool, str]]
"""Whether the check passes, and a text."""


class _Handler(BaseHTTPRequestHandler):
    server: Health
    timeout = 5

    def do_GET(self) -> None:
        check = self.server.checks.get(self.path.partition("?")[0])
        well, text = check() if check is not None else (False, "not found")
        body = f"{text}\n".encode()
        self.send_response(200 if well else 503 if check is not None else 404)
        self.send_header("content-type", "text/plain; version=0.0.4; charset=utf-8")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  (http.server's name)
        """Do not log probes."""


class Health(ThreadingTCPServer):
    """A small HTTP server that answers each path by a check; port 0 picks a free one.

    It listens on every address, IPv4 and IPv6, because the kubelet calls the pod's address.
    """

    allow_reuse_address = True
    daemon_threads = True
    address_family = socket.AF_INET6 if socket.has_dualstack_ipv6() else socket.AF_INET

    def __init__(self, port: int, checks: Mapping[str, Check]) -> None:
        self.checks = checks
        super().__init__(("", port), _Handler)

    def server_bind(self) -> None:
        if self.address_family == socket.AF_INET6:
            self.socket.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        super().server_bind()

    @contextlib.contextmanager
    def running(self) -> Iterator[int]:
        """Answer in a thread; gives the port."""
        thread = threading.Thread(target=self.serve_forever, args=(0.1,), name="health", daemon=True)
        with self:
            thread.start()
            yield int(self.server_address[1])
            self.shutdown()
            thread.join()
