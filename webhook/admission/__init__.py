"""The wire of admission: requests, reviews, decisions, patches, stamps and the exception tree.

``review`` (AdmissionReviews), ``patch`` (JSON Patch) and ``recent`` are modules of their own: import them by name.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from webhook.admission.decision import Cause, Decision, Default, Refusal, Warn, labels
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
from webhook.ground.later import later

if TYPE_CHECKING:
    from webhook.admission.plain import one_line
    from webhook.admission.status import cut_end

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
    "cut_end",
    "group_version",
    "labels",
    "one_line",
]

_LATER: Final = {"cut_end": "status", "one_line": "plain"}
"""Names that are loaded when they are first used, and their modules."""

if not TYPE_CHECKING:
    __getattr__ = later(__name__, _LATER)
