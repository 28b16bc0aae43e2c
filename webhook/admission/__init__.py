"""The wire of admission: requests, reviews, decisions, patches, stamps and the exception tree.

``errors`` (the exceptions), ``review`` (AdmissionReviews), ``patch`` (JSON Patch) and ``recent`` are modules of their
own: import them by name.
"""

from webhook.admission.decision import (
    Cause,
    Decision,
    Default,
    GroupVersionKind,
    Refusal,
    Request,
    Warn,
    group_version,
    labels,
)
from webhook.admission.plain import cut_end, escaped, one_line

__all__ = [
    "Cause",
    "Decision",
    "Default",
    "GroupVersionKind",
    "Refusal",
    "Request",
    "Warn",
    "cut_end",
    "escaped",
    "group_version",
    "labels",
    "one_line",
]
