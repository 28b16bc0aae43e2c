"""What the server notes of one decision: an id for the audit log and the log line, and the fields of that line."""

from __future__ import annotations

import hashlib
import logging
from typing import Final, NamedTuple

from webhook.admission import Request, one_line
from webhook.serve.http.answers import address
from webhook.serve.http.limited import Limited

ANNOTATION = "decision"
"""The key of the audit annotation; the API server puts the webhook's name and "/" before it."""

log = logging.getLogger("modelgate")

DENIALS: Final = 1_000
"""Denials that are logged in ten seconds: a caller without rights to create anything may ask for dry runs all day. The
metrics count all, and the audit log of the API server has the decision of each."""

_limited = Limited(log, most=DENIALS)

_LEVELS: Final = {"allowed": logging.DEBUG, "denied": logging.INFO}


class Noted(NamedTuple):
    """One decision for the log.

    ``codes`` are those of the findings, without the values of the user. ``decision`` is its id. The texts are as
    received: only what is logged is made safe for a log line.
    """

    call: str
    kind: str
    operation: str
    outcome: str
    codes: tuple[str, ...]
    decision: str
    namespace: str
    name: str


def decision_id(request: Request, digest: str) -> str:
    """The id of a decision: the same for the same request and rules, so that a repeated answer has the same bytes.

    The uid of an API server is random already; another one is hashed.
    """
    try:
        return f"{int(request.uid.replace('-', '')[:16], 16) ^ int(digest, 16):016x}"
    except ValueError:
        return hashlib.sha256(f"{request.uid}\0{digest}".encode()).hexdigest()[:16]


def is_noted(outcome: str) -> bool:
    """Whether decisions of this outcome are logged: denials at level info, admissions at level debug."""
    return log.isEnabledFor(_LEVELS[outcome])


def note(noted: Noted) -> None:
    """Log one decision."""
    name = one_line(f"{noted.namespace}/{noted.name}" if noted.namespace else noted.name)
    found = [one_line(code) for code in noted.codes]
    fields = {**noted._asdict(), "codes": found, "peer": address()}
    del fields["name"], fields["namespace"]
    text, codes = f"{noted.outcome} %s %s %s: %s (decision %s)", ", ".join(found)
    told = (noted.operation, noted.kind, name, codes, noted.decision)
    _limited.line(_LEVELS[noted.outcome], noted.outcome, text, *told, extra={"fields": fields})
