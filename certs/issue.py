"""A new leaf in the directory that the server reads."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

from cryptography import x509
from cryptography.exceptions import InvalidSignature

from certs import files
from certs.authority import LEAF_LIFETIME, Authority
from certs.credentials import CA_CRT, TLS_CRT, TLS_KEY, Credentials
from certs.errors import AuthorityError, StoreError
from certs.names import Names

__all__ = ["RENEWED_BEFORE", "issue", "stale"]

# With a third of its lifetime left, as the kubelet and cert-manager do: more than two days to repair a fault that
# prevents renewal.
RENEWED_BEFORE = LEAF_LIFETIME / 3


def issue(directory: Path, authority: Authority, names: Names, now: datetime) -> str:
    """Write a leaf for ``names`` into ``directory`` unless the one there is good; returns the reason, or ""."""
    try:
        reason = stale(directory, authority, names, now)
        if reason:
            files.replace(directory, authority.issue(names, now).files())
    except OSError as error:
        raise StoreError(f"directory {directory}: {error}") from error
    return reason


def stale(directory: Path, authority: Authority, names: Names, now: datetime) -> str:
    """Why the leaf in ``directory`` must be replaced; "" if it is good."""
    try:
        found = Credentials.from_files(files.read(directory, (TLS_CRT, TLS_KEY, CA_CRT)))
        leaf = x509.load_pem_x509_certificate(found.certificate)
        held = leaf.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except (AuthorityError, ValueError, x509.ExtensionNotFound):
        return "there was none"
    try:
        leaf.verify_directly_issued_by(authority.certificate)
    except (ValueError, TypeError, InvalidSignature):  # another issuer's name, another kind of key, another key
        return "the CA has changed"
    if found.authorities != authority.bundle:
        return "the CA bundle has changed"
    if set(names.extension()) - set(held):
        return "it lacked a name"
    end = leaf.not_valid_after_utc
    if end - now < RENEWED_BEFORE and end < authority.certificate.not_valid_after_utc:  # else a new one ends then, too
        return f"the one before ends on {end:%F %T} UTC"
    return ""
