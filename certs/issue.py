"""The leaf in the directory that the server reads, and the bundle beside it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from cryptography import x509

from certs import files, pem
from certs.authority import Authority
from certs.credentials import CA_CRT, TLS_CRT, TLS_KEY, Credentials
from certs.errors import AuthorityError, DirectoryError
from certs.lifetimes import Lifetimes
from certs.names import Names

_DEFAULT = Lifetimes()


@dataclass(frozen=True, slots=True)
class Leaf:
    """A server certificate as it lies in a directory; ``trusted`` is the bundle beside it."""

    credentials: Credentials
    certificate: x509.Certificate
    trusted: pem.Certificates

    @classmethod
    def read(cls, directory: Path) -> Leaf | None:
        """None if the directory holds no usable leaf; raises DirectoryError for a directory that cannot be read."""
        try:
            found = Credentials.from_files(files.read(directory, (TLS_CRT, TLS_KEY, CA_CRT)))
            return cls(found, x509.load_pem_x509_certificate(found.certificate), pem.parse(found.authorities))
        except (AuthorityError, ValueError):
            return None
        except OSError as error:
            raise DirectoryError(f"directory {directory}: {error}") from error

    @property
    def ends(self) -> datetime:
        return self.certificate.not_valid_after_utc

    @property
    def issuer(self) -> x509.Certificate | None:
        """The CA beside it that signed it."""
        return next((each for each in self.trusted if pem.signed(self.certificate, each)), None)

    def stale(self, authority: Authority, names: Names, now: datetime, lifetimes: Lifetimes) -> str:
        """Why a new leaf is needed; "" while this one is good."""
        if not pem.signed(self.certificate, authority.certificate):
            return "another CA signs now"
        if set(names.extension()) - _names(self.certificate):
            return "it lacked a name"
        # Where this one ends with its CA, a new one would end then, too.
        late = self.ends - now < lifetimes.leaf_renewed_before
        if late and self.ends < authority.certificate.not_valid_after_utc:
            return f"the one before ends on {self.ends:%F %T} UTC"
        return ""


def issue(directory: Path, authority: Authority, names: Names, now: datetime, lifetimes: Lifetimes = _DEFAULT) -> str:
    """Put a leaf for ``names`` into ``directory`` unless the one there is good; the reason for a new one, else "".

    A good leaf stays when only the bundle of ``authority`` has changed: then ``ca.crt`` is replaced.
    """
    return renew(directory, Leaf.read(directory), authority, names, now, lifetimes)


def renew(
    directory: Path, leaf: Leaf | None, authority: Authority, names: Names, now: datetime, lifetimes: Lifetimes
) -> str:
    """As :func:`issue`, for a ``leaf`` that has been read."""
    reason = leaf.stale(authority, names, now, lifetimes) if leaf else "there was none"
    if reason:
        _put(directory, authority.issue(names, now, lifetimes))
    elif leaf:
        beside(directory, leaf, authority.bundle)
    return reason


def beside(directory: Path, leaf: Leaf, bundle: bytes) -> None:
    """Let ``ca.crt`` beside a leaf be this bundle."""
    if leaf.credentials.authorities != bundle:
        _put(directory, Credentials(leaf.credentials.certificate, leaf.credentials.key, bundle))


def _put(directory: Path, credentials: Credentials) -> None:
    """Replace all three files at once."""
    try:
        files.replace(directory, credentials.files())
    except OSError as error:
        raise DirectoryError(f"directory {directory}: {error}") from error


def _names(certificate: x509.Certificate) -> set[x509.GeneralName]:
    try:
        return set(certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value)
    except x509.ExtensionNotFound:
        return set()
