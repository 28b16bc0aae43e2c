"""The TLS context of the server, reloaded when the certificate files change."""

from __future__ import annotations

import hashlib
import logging
import os
import ssl
from collections.abc import Callable
from pathlib import Path
from typing import Any

from webhook.serve.callers.certificates import client_ca

__all__ = ["Certificate"]

log = logging.getLogger("modelgate")


class _Connection(ssl.SSLObject):
    """A TLS connection whose usual methods are those of the C library's object.

    An event loop takes them once for each connection; the wrappers of the ``ssl`` module add a call to each.
    """

    @property
    def read(self) -> Any:
        return self._sslobj.read  # type: ignore[attr-defined]

    @property
    def write(self) -> Any:
        return self._sslobj.write  # type: ignore[attr-defined]

    @property
    def pending(self) -> Any:
        return self._sslobj.pending  # type: ignore[attr-defined]


class Certificate:
    """The certificate in a directory (``tls.crt``, ``tls.key``), and the context that serves it.

    A live context is never changed: a certificate and key that do not match would break every later handshake. A new
    context is built aside, and the SNI callback assigns it to each new connection; OpenSSL calls it with or without a
    server name. Open connections keep theirs.
    """

    def __init__(
        self,
        directory: Path,
        loaded: Callable[[ssl.SSLContext], None] = lambda _context: None,
        clients: Path | None = None,
    ) -> None:
        """``clients`` is a file with the CAs of client certificates, reloaded as the certificate is."""
        self._directory = directory
        self._clients = clients
        self._loaded = loaded
        self._digest = b""
        self.refused = ""
        """What is wrong with the newest files, while an older pair is served; said once in the log."""
        self._current = self._build()
        self.context = self._context()
        self.context.sni_callback = self._present
        self._load_into(self.context)

    def refresh(self) -> bool:
        """Check the files; True if they are new. If they are invalid, the old pair stays in use."""
        try:
            if self._read() == self._digest:
                self.refused = ""
                return False
            self._current = self._build()
        except (OSError, ValueError) as error:
            self._refuse(f"the new certificate in {self._directory} is not used: {error}")
            return False
        self.refused = ""
        log.info("serving a new certificate")
        return True

    def _refuse(self, text: str) -> None:
        if text != self.refused:
            self.refused = text
            log.error("%s", text)

    def _present(self, connection: ssl.SSLObject, _name: str | None, _context: ssl.SSLContext) -> None:
        connection.context = self._current

    def _read(self) -> bytes:
        """A digest of the files, read through one resolved directory: a mounted Secret changes by one symlink."""
        folder = self._folder()
        files = [folder / "tls.crt", folder / "tls.key", *([self._clients] if self._clients else [])]
        return hashlib.sha256(b"\0".join(file.read_bytes() for file in files)).digest()

    def _build(self) -> ssl.SSLContext:
        digest = self._read()
        context = self._context()
        self._load_into(context)
        self._loaded(context)
        self._digest = digest
        return context

    def _load_into(self, context: ssl.SSLContext) -> None:
        folder = self._folder()
        context.load_cert_chain(folder / "tls.crt", folder / "tls.key")
        if self._clients is not None:
            client_ca(context, self._clients)

    def _folder(self) -> Path:
        return Path(os.path.realpath(self._directory / "tls.crt", strict=True)).parent  # OSError for circular links

    @staticmethod
    def _context() -> ssl.SSLContext:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.sslobject_class = _Connection
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        context.set_alpn_protocols(["http/1.1"])  # the protocol that the API server uses for webhooks in the cluster
        context.num_tickets = 0  # the API server does not resume sessions
        return context
