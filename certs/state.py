"""Which CA signs, which one comes next, and which ones stay trusted; as the store keeps it.

    tls.crt, tls.key     the CA that signs, as in any Secret of type kubernetes.io/tls
    ca.crt               the bundle that is published: every CA that a client must trust
    next.crt, next.key   the CA that signs next, while it is being published
    state.json           when each was read back in every webhook configuration, and until when the others are trusted

Another program may replace the first three, as cert-manager does when it renews a CA. ``state.json`` names the CA
that it was written for, so that a replacement is recognised.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from cryptography import x509

from certs import pem
from certs.authority import Authority
from certs.credentials import CA_CRT, TLS_CRT, TLS_KEY, Credentials
from certs.errors import AuthorityError, ClockError

_NEXT_CRT, _NEXT_KEY, _STATE = "next.crt", "next.key", "state.json"
FILES = (TLS_CRT, TLS_KEY, CA_CRT, _NEXT_CRT, _NEXT_KEY, _STATE)


@dataclass(frozen=True, slots=True)
class Signer:
    """A CA with its key; ``confirmed`` is when it had been read back in every webhook configuration."""

    authority: Authority
    confirmed: datetime | None = None

    @property
    def certificate(self) -> x509.Certificate:
        return self.authority.certificate


@dataclass(frozen=True, slots=True)
class Retired:
    """A CA that no longer signs; leaves that it signed may be served until ``until``."""

    certificate: x509.Certificate
    until: datetime


@dataclass(frozen=True, slots=True)
class State:
    """The CAs of a gate. Immutable: :mod:`certs.rotation` makes one from another."""

    signer: Signer
    coming: Signer | None = None
    retired: tuple[Retired, ...] = ()

    @classmethod
    def parse(cls, files: Mapping[str, bytes], now: datetime) -> tuple[State, pem.Certificates]:
        """The stored state, and the certificates beside it that no valid ``state.json`` accounts for.

        Raises:
            AuthorityError: the CA that signs cannot be used.
            ClockError: it is not valid yet.
        """
        stored = Credentials.from_files(files)
        authority = Authority.load(stored, now)
        try:
            return cls._recorded(authority, files, json.loads(files.get(_STATE, b"null")), now), ()
        except (AuthorityError, ClockError, ValueError, KeyError, TypeError):
            return cls(Signer(authority)), _certificates_in(files)

    @classmethod
    def _recorded(cls, authority: Authority, files: Mapping[str, bytes], record: Mapping, now: datetime) -> State:  # type: ignore[type-arg]
        if _certificate(record["signer"]["certificate"]) != authority.certificate:
            raise AuthorityError("the record is about another CA")
        coming = None
        if record["next"] is not None:
            found = Credentials.from_files(_as_signer(files))
            coming = Signer(Authority.load(found, now), _time(record["next"]["confirmed"]))
        retired = [
            Retired(_certificate(each["certificate"]), datetime.fromisoformat(each["until"]))
            for each in record["retired"]
        ]
        return cls(Signer(authority, _time(record["signer"]["confirmed"])), coming, tuple(retired))

    @property
    def trusted(self) -> pem.Certificates:
        """Every CA that a client must trust, the one that signs first."""
        coming = [self.coming.certificate] if self.coming else []
        return (self.signer.certificate, *coming, *(each.certificate for each in self.retired))

    @property
    def bundle(self) -> bytes:
        return pem.text(self.trusted)

    def files(self, stored: Mapping[str, bytes] | None = None) -> dict[str, bytes]:
        """What a store keeps. The files of a CA that is ``stored`` already stay as they are, byte for byte."""
        own = self.signer.authority.credentials()
        written = {TLS_CRT: own.certificate, TLS_KEY: own.key}
        if stored and pem.parse(stored.get(TLS_CRT, b""))[:1] == (self.signer.certificate,):
            written = {name: stored[name] for name in written}
        written[CA_CRT] = self.bundle
        if self.coming:
            coming = self.coming.authority.credentials()
            written |= {_NEXT_CRT: coming.certificate, _NEXT_KEY: coming.key}
        return {**written, _STATE: json.dumps(self._record(), indent=1).encode()}

    def _record(self) -> dict[str, object]:
        return {
            "signer": {"certificate": _text(self.signer.certificate), "confirmed": _written(self.signer.confirmed)},
            "next": {"confirmed": _written(self.coming.confirmed)} if self.coming else None,
            "retired": [
                {"certificate": _text(each.certificate), "until": each.until.isoformat()} for each in self.retired
            ],
        }


def _as_signer(files: Mapping[str, bytes]) -> dict[str, bytes]:
    """The next CA under the names of one that signs."""
    certificate = files.get(_NEXT_CRT, b"")
    return {TLS_CRT: certificate, TLS_KEY: files.get(_NEXT_KEY, b""), CA_CRT: certificate}


def _certificates_in(files: Mapping[str, bytes]) -> pem.Certificates:
    found = [*pem.parse(files.get(CA_CRT, b"")), *pem.parse(files.get(_NEXT_CRT, b""))]
    try:
        record = json.loads(files.get(_STATE, b"null"))
        listed = [record["signer"], *record["retired"]]
        found += [_certificate(each["certificate"]) for each in listed]
    except (ValueError, KeyError, TypeError):
        pass
    return pem.unique(found)


def _certificate(text: str) -> x509.Certificate:
    return x509.load_pem_x509_certificate(text.encode())


def _text(certificate: x509.Certificate) -> str:
    return pem.text([certificate]).decode()


def _time(text: str | None) -> datetime | None:
    return None if text is None else datetime.fromisoformat(text)


def _written(time: datetime | None) -> str | None:
    return None if time is None else time.isoformat()
