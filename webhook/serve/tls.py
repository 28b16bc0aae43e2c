"""The served certificate: its TLS context, reloaded when the files change, and whether clients can trust it.

What the files beside it tell: ``ca.crt`` is the bundle that clients have. ``status.json`` is written by ``modelgate
certs`` at every look; without it, as with cert-manager, what the webhook configurations hold is not known.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import ssl
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from webhook.serve.callers.caller import client_ca

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


SILENT_SECONDS: Final = 60.0
"""``modelgate certs`` looks every 3 s. After twenty looks without news, its last word counts no more."""


class Trust(Collector):
    """The served certificate, and what is known of its clients. Usage::

    trust.serve(context)   a new pair is in use
    trust.refresh()        look at the files beside it; reads files, so never on the event loop
    trust.unready()        why no client can trust it
    trust.warnings()       what else an operator must know
    """

    def __init__(self, directory: Path, clock: Callable[[], datetime] = lambda: datetime.now(UTC)) -> None:
        self._directory = directory
        self._clock = clock
        self._chain: list[x509.Certificate] = []
        self._bundle: list[x509.Certificate] = []
        self._status: dict[str, Any] = {}

    def serve(self, _context: object) -> None:
        """Raises ValueError for a certificate that cannot be parsed."""
        self._chain = x509.load_pem_x509_certificates((self._directory / "tls.crt").read_bytes())

    def refresh(self) -> None:
        try:
            self._bundle = x509.load_pem_x509_certificates((self._directory / "ca.crt").read_bytes())
        except (OSError, ValueError):
            self._bundle = []  # not known
        try:
            status = json.loads((self._directory / "status.json").read_bytes())
            self._status = status if isinstance(status, dict) else {}
        except (OSError, ValueError):
            self._status = {}

    def unready(self) -> list[str]:
        leaf, now = self._chain[0], self._clock()
        if now >= leaf.not_valid_after_utc:
            return [f"the served certificate expired on {leaf.not_valid_after_utc:%F %T} UTC, by this machine's clock"]
        if self._bundle and _issuer(self._chain, self._bundle) is None:
            return ["the served certificate is not signed by a CA in ca.crt beside it"]
        states = {state for state in self._configurations().values() if state != "absent"}
        if states == {"refusing"}:
            return ["no webhook configuration trusts the CA of the served certificate"]
        return []

    def warnings(self) -> list[str]:
        found = []
        begin, now = self._chain[0].not_valid_before_utc, self._clock()
        if now < begin:
            found.append(
                f"the served certificate is valid from {begin:%F %T} UTC on, but this machine's clock says "
                f"{now:%F %T}: correct the clock"
            )
        if self._status and not self._fresh():
            found.append(f"modelgate certs has not looked for {self._silence():.0f}s")
        for name, state in self._configurations().items():
            if state == "refusing":
                found.append(f"{name} does not trust the CA of the served certificate")
            elif state == "changed":
                found.append(f"{name} is not as the chart has it, so objects may not be reviewed")
            elif state == "absent":
                found.append(f"{name} does not exist, so objects are not reviewed")
        faults = self._status.get("faults")
        listed = faults if isinstance(faults, list) else []
        return found + [str(each.get("message")) for each in listed if isinstance(each, dict)]

    def collect(self) -> Iterator[Metric]:
        """For Prometheus: when certificates end, what each configuration carries, how long ago that was looked at."""
        leaf = GaugeMetricFamily(
            "modelgate_certificate_not_after_seconds", "When the served certificate expires, in seconds since 1970."
        )
        ca = GaugeMetricFamily(
            "modelgate_ca_not_after_seconds", "When the CA of the served certificate expires, in seconds since 1970."
        )
        bundles = GaugeMetricFamily(
            "modelgate_ca_bundle_state",
            "1 for the state of each webhook configuration.",
            labels=["configuration", "state"],
        )
        silence = GaugeMetricFamily("modelgate_certs_silence_seconds", "Time since the last look of modelgate certs.")
        if self._chain:
            leaf.add_metric([], self._chain[0].not_valid_after_utc.timestamp())
        if issuer := _issuer(self._chain, self._bundle):
            ca.add_metric([], issuer.not_valid_after_utc.timestamp())
        for name, state in self._configurations().items():
            bundles.add_metric([name, state], 1)
        if self._status:
            silence.add_metric([], self._silence())
        yield from (leaf, ca, bundles, silence)

    def _configurations(self) -> dict[str, str]:
        """By name; {} where it is not known."""
        found = self._status.get("configurations")
        return (
            {str(name): str(state) for name, state in found.items()}
            if isinstance(found, dict) and self._fresh()
            else {}
        )

    def _fresh(self) -> bool:
        return self._silence() < SILENT_SECONDS

    def _silence(self) -> float:
        looked = self._status.get("looked_at")
        return max(self._clock().timestamp() - looked, 0.0) if isinstance(looked, int | float) else float("inf")


def _issuer(chain: Sequence[x509.Certificate], bundle: Sequence[x509.Certificate]) -> x509.Certificate | None:
    """The CA of the bundle that the chain leads to."""
    current, others = (chain[0] if chain else None), list(chain[1:])
    while current is not None:
        for authority in bundle:
            if _signed(current, authority):
                return authority
        current = next((others.pop(at) for at, each in enumerate(others) if _signed(current, each)), None)
    return None


def _signed(certificate: x509.Certificate, authority: x509.Certificate) -> bool:
    try:
        certificate.verify_directly_issued_by(authority)
    except (ValueError, TypeError, InvalidSignature):
        return False
    return True
