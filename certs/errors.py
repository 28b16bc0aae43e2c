"""Every exception that this package raises on purpose.

CertsError
├── InvalidNameError  not a DNS name or an IP address that a certificate can carry
├── AuthorityError    bytes that are no usable CA: corrupt, foreign or expired
├── StoreError        the same, with the place they were read from and what to do
├── ApiCallError          the API server refused a call, or could not be reached
└── PublishError      a webhook configuration is missing, or does not carry the bundle
"""

from __future__ import annotations

__all__ = ["ApiCallError", "AuthorityError", "CertsError", "InvalidNameError", "PublishError", "StoreError"]


class CertsError(Exception):
    """The root of the tree; every text is a sentence for the one who runs the gate."""


class InvalidNameError(CertsError):
    """Not a DNS name or an IP address that a certificate can carry."""


class AuthorityError(CertsError):
    """Bytes that are no usable CA: corrupt, foreign or expired."""


class StoreError(CertsError):
    """A stored CA that cannot be used; names the place and what to do about it."""


class ApiCallError(CertsError):
    """The API server refused a call (``status`` is its HTTP code) or could not be reached (0)."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


class PublishError(CertsError):
    """A webhook configuration is missing, or does not carry the bundle that was written."""
