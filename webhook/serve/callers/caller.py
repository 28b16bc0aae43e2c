"""The check of a caller, and the API groups that a caller may ask about.

Every client may ask, or only clients with a certificate (mTLS), as `AdmissionConfiguration` gives one to the API
server. An aggregated API server may ask about its own group only (KEP-6060).
"""

from __future__ import annotations

import ssl
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final, Protocol

import orjson
from starlette.types import Scope

from webhook.admission.errors import Forbidden, Unauthenticated

Groups = frozenset[str]

ALL_GROUPS: Final[Groups] = frozenset({"*"})
"""What kube-apiserver's token states, and what a certificate gives."""


def covered(groups: Groups, body: bytes) -> None:
    """Check that a review is about one of these groups.

    A body that is not a review passes: the decoder refuses it, in better words. The body is parsed a second time, but
    only for callers that are limited to some groups; kube-apiserver is not.

    Raises:
        Forbidden: the review is about another group.
    """
    if "*" in groups:
        return
    group = _group(body)
    if group is not None and group not in groups:
        raise Forbidden(
            f'the token is for API group {", ".join(sorted(groups))}, but the review is about "{group[:80]}"'
        )


def _group(body: bytes) -> str | None:
    """The API group of the review's resource; None if the body is not a review."""
    try:
        found: Any = orjson.loads(body)
    except orjson.JSONDecodeError:
        return None
    for key in ("request", "resource"):
        found = found.get(key) if isinstance(found, dict) else None
    group = found.get("group", "") if isinstance(found, dict) else None
    return group if isinstance(group, str) else None


class Callers(Protocol):
    """Checks one request before its body is read."""

    def admitted(self, scope: Scope) -> Groups | None:
        """As :meth:`admit`, but without waiting: None if the caller is refused, or if only :meth:`admit` can tell."""
        ...

    async def admit(self, scope: Scope) -> Groups:
        """The API groups that the caller may ask about.

        Raises:
            Unauthenticated: the caller does not prove who it is.
            Forbidden: the caller is known, but is not on the list.
            Unavailable: the proof cannot be checked now.
        """
        ...


class Anyone:
    """Every client may ask; a NetworkPolicy is the only limit."""

    def admitted(self, _scope: Scope) -> Groups:
        return ALL_GROUPS

    async def admit(self, _scope: Scope) -> Groups:
        return ALL_GROUPS


TRANSPORT: Final = "modelgate.transport"
"""The key in the ASGI scope of the connection's transport, which knows the client certificate."""


def client_ca(context: ssl.SSLContext, file: Path) -> None:
    """Ask each client for a certificate, and verify it with the CAs in ``file``.

    The handshake ends if a certificate is invalid, but not if there is none: such a caller gets a sentence instead of a
    TLS alert, and probes on the same port need no certificate. Sessions are not resumed, because a resumed session
    would skip the verification (cert-manager turns tickets off for the same reason).

    Raises:
        OSError, ssl.SSLError: the file cannot be read, or holds no certificate.
    """
    context.load_verify_locations(cafile=file)
    if not context.get_ca_certs():
        raise ssl.SSLError(f"{file} holds no CA certificate")
    context.verify_mode = ssl.CERT_OPTIONAL
    context.options |= ssl.OP_NO_TICKET


class Certified:
    """Only callers with a certificate of the client CA may ask; with ``names``, only those with one of these names."""

    def __init__(self, names: Iterable[str] = ()) -> None:
        self._names = frozenset(names)

    def admitted(self, scope: Scope) -> Groups | None:
        try:
            return self._admit(scope)
        except (Unauthenticated, Forbidden):
            return None

    async def admit(self, scope: Scope) -> Groups:
        return self._admit(scope)

    def _admit(self, scope: Scope) -> Groups:
        transport = scope.get(TRANSPORT)
        certificate = transport.get_extra_info("peercert") if transport is not None else None
        if not certificate:
            raise Unauthenticated("this gate answers only clients with a certificate; send one (docs/callers.md)")
        found = set(_names(certificate))
        if self._names and not found & self._names:
            shown = ", ".join(sorted(found)) or "none"
            raise Forbidden(f"no name in the client certificate is in --client-name; its names are: {shown[:200]}")
        return ALL_GROUPS


def _names(certificate: dict[str, Any]) -> Iterator[str]:
    """The common names and the alternative names of a certificate, as :meth:`ssl.SSLSocket.getpeercert` shows it."""
    for part in certificate.get("subject", ()):
        yield from (value for name, value in part if name == "commonName")
    yield from (value for _, value in certificate.get("subjectAltName", ()))
