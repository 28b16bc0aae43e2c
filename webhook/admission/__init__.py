"""The wire of admission: requests, reviews, decisions, patches, stamps and the exception tree.

``review`` (AdmissionReviews) and ``patch`` (JSON Patch) are modules of their own: import them by name.
"""

from webhook.admission.decision import Cause, Decision, Default, Hint, Refusal, Warn, labels
from webhook.admission.errors import (
    CatalogError,
    DeadlineExceeded,
    DocumentError,
    Fault,
    Forbidden,
    LoadError,
    Malformed,
    ModelgateError,
    NotReady,
    Problem,
    RequestError,
    SettingsError,
    TooLarge,
    TooSlow,
    Unauthenticated,
    Unavailable,
    UnsupportedMedia,
)
from webhook.admission.request import GroupVersionKind, Request, group_version
from webhook.admission.stamp import Stamp

__all__ = [
    "CatalogError",
    "Cause",
    "DeadlineExceeded",
    "Decision",
    "Default",
    "DocumentError",
    "Fault",
    "Forbidden",
    "GroupVersionKind",
    "Hint",
    "LoadError",
    "Malformed",
    "ModelgateError",
    "NotReady",
    "Problem",
    "Refusal",
    "Request",
    "RequestError",
    "SettingsError",
    "Stamp",
    "TooLarge",
    "TooSlow",
    "Unauthenticated",
    "Unavailable",
    "UnsupportedMedia",
    "Warn",
    "group_version",
    "labels",
]
