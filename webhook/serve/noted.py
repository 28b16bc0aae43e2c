"""What the server notes of one decision: an id for the audit log and the log line, and the fields of that line."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Iterable

from webhook.admission.decision import Decision
from webhook.admission.request import Request
from webhook.serve.answers import PEER

__all__ = ["ANNOTATION", "decision_id", "note"]

ANNOTATION = "decision"
"""The key of the audit annotation; the API server puts the webhook's name and "/" before it."""

log = logging.getLogger("modelgate")


def decision_id(request: Request, digest: str) -> str:
    """The id of a decision: the same for the same request and rules, so that a repeated answer has the same bytes."""
    return hashlib.sha256(f"{request.uid}\0{digest}".encode()).hexdigest()[:16]


def note(call: str, request: Request, decision: Decision, codes: Iterable[str], identity: str, name: str) -> None:
    """Log one decision: a denial at level info, an admission at level debug.

    ``codes`` are the codes of the findings, without the values of the user; ``name`` is safe for a log line.
    """
    level = logging.DEBUG if decision.allowed else logging.INFO
    if not log.isEnabledFor(level):
        return
    outcome, shown = "allowed" if decision.allowed else "denied", list(codes)
    fields = {
        "call": call,
        "kind": request.kind.kind,
        "operation": request.operation,
        "outcome": outcome,
        "codes": shown,
        "decision": identity,
        "peer": PEER.get(),
    }
    text = f"{outcome} %s %s %s: %s (decision %s)"
    log.log(level, text, request.operation, fields["kind"], name, ", ".join(shown), identity, extra={"fields": fields})
