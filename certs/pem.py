"""Certificates as PEM texts."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import TypeAlias

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import serialization

__all__ = ["Certificates", "alive", "parse", "signed", "text", "unique"]

Certificates: TypeAlias = tuple[x509.Certificate, ...]


def parse(pem: bytes) -> Certificates:
    """The certificates of a bundle; () for bytes that are not PEM certificates."""
    try:
        return tuple(x509.load_pem_x509_certificates(pem))
    except ValueError:
        return ()


def text(certificates: Iterable[x509.Certificate]) -> bytes:
    return b"".join(each.public_bytes(serialization.Encoding.PEM) for each in certificates)


def unique(certificates: Iterable[x509.Certificate]) -> Certificates:
    """In their order, without repetition."""
    return tuple(dict.fromkeys(certificates))


def alive(certificates: Iterable[x509.Certificate], now: datetime) -> Certificates:
    """Those that have not expired."""
    return tuple(each for each in certificates if now < each.not_valid_after_utc)


def signed(leaf: x509.Certificate, authority: x509.Certificate) -> bool:
    """Whether the key of ``authority`` signed ``leaf``."""
    try:
        leaf.verify_directly_issued_by(authority)
    except (ValueError, TypeError, InvalidSignature):  # another issuer's name, another kind of key, another key
        return False
    return True
