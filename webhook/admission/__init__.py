"""The wire of admission: requests, reviews, decisions, patches, stamps and the exception tree.

``errors`` (the exceptions), ``review`` (AdmissionReviews), ``patch`` (JSON Patch) and ``recent`` are modules of their
own: import them by name. A name is loaded when it is first used: an exception or a line of the log needs no decision.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

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
        labels,
    )
    from webhook.admission.plain import cut_end, escaped, one_line
    from webhook.admission.status import WARNING_LENGTH

__all__ = [
    "WARNING_LENGTH",
    "Cause",
    "Decision",
    "Default",
    "GroupVersionKind",
    "Muted",
    "Refusal",
    "Request",
    "Warn",
    "cut_end",
    "escaped",
    "group_version",
    "labels",
    "one_line",
]

_PLAIN: Final = ("cut_end", "escaped", "one_line")
_MODULES: Final = {
    **{name: "plain" if name in _PLAIN else "decision" for name in __all__},
    "WARNING_LENGTH": "status",
}
"""The module of each name, which is loaded when the name is first used."""

if not TYPE_CHECKING:
    __getattr__ = later(__name__, _MODULES)
