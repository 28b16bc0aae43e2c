"""Every exception that this package raises on purpose.

CertsError
├── InvalidNameError  not a DNS name or an IP address that a certificate can carry
├── ClockError        the clock cannot be right
├── AuthorityError    bytes that are not a usable CA: corrupt or foreign
├── StoreError        the same, with the place they were read from and what to do
├── DirectoryError    a directory of the pod that cannot be read or written
├── ApiServerError    the API server refused a call, or could not be reached
└── PublishError      a webhook configuration is missing, or does not carry the bundle
    └── ChangedError  or has another field than the chart has
"""

from __future__ import annotations


class CertsError(Exception):
    """The root of the tree; every text is a sentence for the operator of the gate.

    Attributes:
        path: the REST path of the object that is at fault; "" where it is the pod itself.
    """

    reason = "CertificatesFailed"
    """The reason of the Event, in Kubernetes' spelling."""

    may_pass = False
    """Whether an Event waits until the fault has lasted for a while: it may be one of a pod that is about to end."""

    def __init__(self, message: str, path: str = "") -> None:
        super().__init__(message)
        self.path = path


class InvalidNameError(CertsError):
    """Not a DNS name or an IP address that a certificate can carry."""

    reason = "InvalidName"


class ClockError(CertsError):
    """The clock cannot be right; certificates are left as they are."""

    reason = "ClockWrong"


class AuthorityError(CertsError):
    """Bytes that are not a usable CA: corrupt or foreign."""

    reason = "AuthorityUnusable"


class StoreError(CertsError):
    """A stored CA that cannot be used; names the place and what to do about it."""

    reason = "AuthorityUnusable"


class DirectoryError(CertsError):
    """A directory of the pod cannot be read or written, for example because it is full."""

    reason = "DirectoryUnusable"


class ApiServerError(CertsError):
    """The API server refused a call (``status`` is its HTTP code) or could not be reached (0)."""

    reason = "ApiRefused"

    def __init__(self, status: int, message: str, path: str = "") -> None:
        super().__init__(message, path)
        self.status = status
        self.may_pass = status in {401, 403}  # an upgrade or an uninstall takes the rights before the pods


class PublishError(CertsError):
    """A webhook configuration is missing, or does not carry the bundle that was written."""

    reason = "BundleNotPublished"


class ChangedError(PublishError):
    """A webhook configuration has another value in a field than the chart has, so objects may not be reviewed."""

    reason = "ConfigurationChanged"
