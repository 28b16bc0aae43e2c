"""What the server notes of one decision: an id for the audit log and the log line, and the fields of that line."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

from webhook.admission import Cause, Request, one_line
from webhook.serve.http.answers import address
from webhook.serve.http.limited import Limited

ANNOTATION = "decision"
"""The key of the audit annotation; the API server puts the webhook's name and "/" before it."""

log = logging.getLogger("modelgate")

DENIALS: Final = 1_000
"""Denials that are logged in ten seconds: a caller without rights to create anything may ask for dry runs all day. The
metrics count all, and the audit log of the API server has the decision of each."""

FINDINGS: Final = 50
"""Findings of one line: no reader needs more, and an object can have thousands."""

_LEVELS: Final = {"allowed": logging.DEBUG, "denied": logging.INFO}


class Noted(NamedTuple):
    """One decision for the log.

    ``causes`` are the codes of the findings, each with its field, without the values of the user. ``decision`` is its
    id, ``user`` the name of the one who asked. The texts are as received: only what is logged is made safe for a log
    line.
    """

    call: str
    kind: str
    operation: str
    outcome: str
    causes: tuple[tuple[str, str], ...]
    decision: str
    namespace: str
    name: str
    user: str


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


def noted(call: str, request: Request, outcome: str, causes: tuple[Cause, ...], decision: str) -> Noted:
    """What is logged of a decision."""
    user = request.user.get("username")
    about = request.namespace, request.name, user if isinstance(user, str) else ""
    listed = tuple(map(_cause, causes[:FINDINGS]))
    return Noted(call, request.kind.kind, request.operation, outcome, listed, decision, *about)


def _cause(cause: Cause) -> tuple[str, str]:
    """The code and the field of a cause, without the user's values, which may be secret."""
    if cause.refusal is not None:
        return (f"policy {cause.refusal.policy}" if cause.refusal.policy else cause.refusal.reason), ""
    return cause.code or cause.reason, cause.field


def hashed(user: str) -> str:
    """16 hexadecimal digits instead of the name of a user: the same for the same name, in every gate.

    Who has a name finds its lines; who has the lines does not read the name from them.
    """
    return hashlib.sha256(user.encode(errors="surrogatepass")).hexdigest()[:16] if user else ""


USERS: Final[Mapping[str, Callable[[str], str]]] = {"name": one_line, "hash": hashed, "none": lambda _: ""}
"""How a user is named in the log."""


class Journal:
    """Logs decisions, so many of them in ten seconds. ``users`` is how users are named: a key of :data:`USERS`."""

    def __init__(self, users: str = "name") -> None:
        self._user = USERS[users]
        self._limited = Limited(log, most=DENIALS)

    def note(self, noted: Noted) -> None:
        """Log one decision. The first finding is also in fields of its own, by which a log can be grouped."""
        name = one_line(f"{noted.namespace}/{noted.name}" if noted.namespace else noted.name)
        findings = [{"code": one_line(code), "field": one_line(field)} for code, field in noted.causes]
        named = {"namespace": one_line(noted.namespace), "name": one_line(noted.name), "user": self._user(noted.user)}
        fields = {**noted._asdict(), **named, **(findings[0] if findings else {}), "findings": findings}
        del fields["causes"]
        text = f"{noted.outcome} %s %s %s: %s (decision %s)"
        codes = ", ".join(f"{finding['field']} {finding['code']}".strip() for finding in findings)
        words = (noted.operation, noted.kind, name, codes, noted.decision)
        extra = {"fields": {**fields, "peer": address()}}
        self._limited.line(_LEVELS[noted.outcome], noted.outcome, text, *words, extra=extra)
