"""Callers with a token of the API server, as KEP-6060 describes it (issued by Kubernetes 1.37, alpha).

The token is an `Authorization: Bearer` header: a service account's token, bound to a webhook configuration, with the
address of the webhook as its audience, and with the attestation `admissionReviewAPIGroups`: the API group that the
caller may ask about, or `*`. Its signature is checked with the keys that the API server publishes (`/openid/v1/jwks`),
so that no review waits for a call back. docs/callers.md says what each release of Kubernetes does.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, NamedTuple, Protocol

from starlette.datastructures import Headers
from starlette.types import Scope

from webhook.admission.errors import Forbidden, NotReady, Unauthenticated, Unavailable
from webhook.serve.callers.caller import ALL_GROUPS, Groups
from webhook.serve.callers.jwt import InvalidToken, PublicKey, UnknownKey, keys_of, verified
from webhook.serve.polling import Hangup, repeated

log = logging.getLogger("modelgate")

ATTESTATION: Final = "admissionReviewAPIGroups"

REFRESH_SECONDS: Final = 300.0
"""Seconds between two readings of the keys: a key that is no longer published is refused after this time."""

RETRY_SECONDS: Final = 5.0
"""Seconds between two readings of the keys that callers with an unknown key can cause."""

REMEMBERED: Final = 100
"""Tokens that are not verified again for a while: one of each API server and each webhook, many times over."""


class Keys(NamedTuple):
    """The name of an issuer and its keys."""

    issuer: str
    keys: Mapping[str, tuple[str, PublicKey]]


class _Seen(NamedTuple):
    """What a verified token allows, until a time or until other keys are read."""

    until: float
    groups: Groups
    keys: Keys


class Issuer(Protocol):
    """Where the keys come from; ``read`` may block."""

    def read(self) -> tuple[str, Mapping[str, Any]]:
        """The issuer's name and its JWKS.

        Raises:
            Unavailable: they cannot be read now.
        """
        ...


@dataclass(slots=True)
class Tokens:
    """Only callers with a valid token may ask.

    ``audiences`` are addresses of the webhook without a path, such as ``https://modelgate.modelgate-system.svc:443``.
    ``names`` are subjects whose tokens need no attestation, such as ``system:serviceaccount:kube-system:webhooks``: an
    API server before 1.37 cannot get an attestation. Without it, and without a name, any user who may create a Pod
    could ask with a token of that Pod.
    """

    issuer: Issuer
    audiences: frozenset[str]
    names: frozenset[str] = frozenset()
    clock: Callable[[], float] = time.time
    _known: Keys | None = None
    _seen: dict[tuple[str, str], _Seen] = field(default_factory=dict)
    _trouble: str = "the keys of the API server's tokens are not read yet"
    _tried: float = float("-inf")

    def unready(self) -> list[str]:
        """Why no token can be checked; empty if tokens can be."""
        return [] if self._known is not None else [self._trouble]

    def refresh(self) -> None:
        """Read the keys; the known ones stay in use if that fails."""
        try:
            issuer, jwks = self.issuer.read()
            self._known = Keys(issuer, keys_of(jwks))
        except (Unavailable, ValueError, KeyError, TypeError, AttributeError) as error:
            trouble = f"the keys of the API server's tokens cannot be read: {error}"
            if trouble != self._trouble:
                log.warning("%s", trouble)
            self._trouble = trouble

    def admitted(self, scope: Scope) -> Groups | None:
        try:
            return self._known_groups(_token(scope), scope["path"], self.clock())
        except Unauthenticated:
            return None

    async def admit(self, scope: Scope) -> Groups:
        token, path, now = _token(scope), scope["path"], self.clock()
        known = self._known_groups(token, path, now)
        if known is not None:
            return known
        claims, keys = await self._claims(token, now)
        groups = self._groups(claims, path)
        if len(self._seen) >= REMEMBERED:
            self._seen.clear()
        self._seen[token, path] = _Seen(min(claims["exp"], now + REFRESH_SECONDS), groups, keys)
        return groups

    def _known_groups(self, token: str, path: str, now: float) -> Groups | None:
        """The groups of a token that was verified with the keys in use; None if it was not, or must be again."""
        seen = self._seen.get((token, path))
        return seen.groups if seen is not None and now < seen.until and seen.keys is self._known else None

    async def _claims(self, token: str, now: float) -> tuple[dict[str, Any], Keys]:
        try:
            return self._verified(token, now)
        except UnknownKey as error:
            if abs(now - self._tried) < RETRY_SECONDS:
                raise Unauthenticated(str(error)) from None
            self._tried = now
        await asyncio.to_thread(self.refresh)  # the API server may have a new key
        return self._verified_or_refused(token, now)

    def _verified(self, token: str, now: float) -> tuple[dict[str, Any], Keys]:
        """The claims of a token, and the keys that it was verified with."""
        known = self._known
        if known is None:
            raise NotReady(self._trouble)
        try:
            claims = verified(token, known.keys, now)
        except UnknownKey:
            raise
        except InvalidToken as error:
            raise Unauthenticated(str(error)) from None
        if claims.get("iss") != known.issuer:
            raise Unauthenticated(f"the token is not issued by {known.issuer}")
        return claims, known

    def _verified_or_refused(self, token: str, now: float) -> tuple[dict[str, Any], Keys]:
        try:
            return self._verified(token, now)
        except UnknownKey as error:
            raise Unauthenticated(str(error)) from None

    def _groups(self, claims: Mapping[str, Any], path: str) -> Groups:
        """The groups that the token attests; it must be for this webhook."""
        audiences = set(_texts(claims.get("aud")))
        expected = {f"{each}{path}" for each in self.audiences}
        if not audiences & expected:
            raise Forbidden(f"the token is for another audience; expected {' or '.join(sorted(expected))}")
        attested = _attested(claims)
        if attested is not None:
            return attested
        subject = claims.get("sub")
        if isinstance(subject, str) and subject in self.names:
            return ALL_GROUPS
        raise Forbidden(f"the token attests no {ATTESTATION}, and its subject is not in --client-name")


@contextlib.asynccontextmanager
async def tokens_current(tokens: Tokens, hangup: Hangup) -> AsyncIterator[None]:
    """Read the keys, first and then every few minutes, while the context lasts."""

    async def first() -> None:
        while tokens.unready():
            await asyncio.to_thread(tokens.refresh)
            await asyncio.sleep(RETRY_SECONDS if tokens.unready() else 0)

    task = asyncio.create_task(first())
    try:
        async with repeated(tokens.refresh, REFRESH_SECONDS, hangup):
            yield
    finally:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task


def _token(scope: Scope) -> str:
    return _bearer(Headers(scope=scope).getlist("authorization"))


def _bearer(headers: Iterable[str]) -> str:
    found = [value.partition(" ") for value in headers]
    if len(found) == 1 and found[0][0].lower() == "bearer" and found[0][2].strip():
        return found[0][2].strip()
    raise Unauthenticated("this gate answers only clients with a token; send one Authorization: Bearer header")


def _attested(claims: Mapping[str, Any]) -> Groups | None:
    """The attested groups; None if the token has no attestation."""
    found: Any = claims
    for key in ("kubernetes.io", "attestations", ATTESTATION):
        found = found.get(key) if isinstance(found, Mapping) else None
    return None if found is None else frozenset(_texts(found)) if isinstance(found, list) else frozenset()


def _texts(claim: object) -> list[str]:
    """The texts of a claim, which is one or a list of them; what has another type is left out."""
    return [each for each in (claim if isinstance(claim, list) else [claim]) if isinstance(each, str)]


class ClusterIssuer:
    """The API server of a kubeconfig, or of the pod.

    It is connected when its keys are first read: the client library takes a second to load.
    """

    def __init__(self, kubeconfig: Path | None) -> None:
        self._kubeconfig = kubeconfig
        self._issuer: Issuer | None = None

    def read(self) -> tuple[str, Mapping[str, Any]]:
        if self._issuer is None:
            from webhook.cluster.connection import issuer  # noqa: PLC0415

            self._issuer = issuer(self._kubeconfig)
        return self._issuer.read()
