"""Every exception that this package raises on purpose.

CertsError
├── InvalidNameError  not a DNS name or an IP address that a certificate can carry
├── AuthorityError    not a usable CA: corrupt, foreign or expired
├── StoreError        the same, with its location and what to do
├── ApiServerError    the API server refused a call, or could not be reached
└── PublishError      a webhook configuration is missing, or does not carry the bundle
"""

from __future__ import annotations

__all__ = ["ApiServerError", "AuthorityError", "CertsError", "InvalidNameError", "PublishError", "StoreError"]


class CertsError(Exception):
    """The root of the tree; every text is a sentence for the operator."""


class InvalidNameError(CertsError):
    """Not a DNS name or an IP address that a certificate can carry."""


class AuthorityError(CertsError):
    """Not a usable CA: corrupt, foreign or expired."""


class StoreError(CertsError):
    """A stored CA cannot be used; the text names its location and what to do."""


class ApiServerError(CertsError):
    """The API server refused a call (``status`` is its HTTP code) or could not be reached (0)."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


class PublishError(CertsError):
    """A webhook configuration is missing, or does not carry the bundle that was written."""
