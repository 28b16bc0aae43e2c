"""Answer the kubelet's probes, /healthz (restart if it fails) and /readyz, and Prometheus (/metrics)."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler
from socketserver import ThreadingTCPServer

__all__ = ["Health"]

Check = Callable[[], tuple[bool, str]]
"""Whether the check passes, and a line of text."""


class _Server(ThreadingTCPServer):
    """Listens on every address, IPv4 and IPv6: the kubelet calls the pod's address."""

    allow_reuse_address = True
    daemon_threads = True
    address_family = socket.AF_INET6 if socket.has_dualstack_ipv6() else socket.AF_INET
    checks: dict[str, Check]
    metrics: Callable[[], str]

    def server_bind(self) -> None:
        if self.address_family == socket.AF_INET6:
            self.socket.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        super().server_bind()


class _Handler(BaseHTTPRequestHandler):
    server: _Server
    timeout = 5

    def do_GET(self) -> None:
        path = self.path.partition("?")[0]
        check = self.server.checks.get(path)
        if path == "/metrics":
            self._send(200, self.server.metrics().encode())
        elif check is None:
            self._send(404, b"not found\n")
        else:
            well, line = check()
            self._send(200 if well else 503, f"{line}\n".encode())

    def _send(self, status: int, body: bytes) -> None:
        self.send_response(status)
        self.send_header("content-type", "text/plain; version=0.0.4; charset=utf-8")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  (http.server's name)
        """Do not log probes."""


class Health:
    """A small HTTP server in a thread; port 0 picks a free one."""

    def __init__(self, port: int, checks: dict[str, Check], metrics: Callable[[], str]) -> None:
        self._server = _Server(("", port), _Handler)
        self._server.checks = checks
        self._server.metrics = metrics
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.1,), name="health", daemon=True)

    @property
    def port(self) -> int:
        return int(self._server.server_address[1])

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()
