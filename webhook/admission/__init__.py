"""The wire of admission: requests, reviews, decisions, patches, stamps and the exception tree.

``errors`` (the exceptions), ``review`` (AdmissionReviews), ``patch`` (JSON Patch) and ``recent`` are modules of their
own: import them by name. A name is loaded when it is first used: an exception or a line of the log needs no decision.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from webhook.ground.later import later

if TYPE_CHECKING:
    from webhook.admission.decision import (
        Cause,
        Decision,
        Default,
        GroupVersionKind,
        Muted,
        Refusal,
        Request,
        Warn,
        group_version,
        kind_of,
        labels,
    )
    from webhook.admission.plain import cut_end, escaped, one_line
    from webhook.admission.status import WARNING_LENGTH

if not TYPE_CHECKING:
    __getattr__ = later(__name__)
