"""What the reply says of a decision: the ``metav1.Status`` of a refusal, and warnings, both within limits."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from webhook.admission.decision import Cause, Warn
from webhook.admission.request import Request
from webhook.golang.credentials import masked

__all__ = ["CAUSES_LENGTH", "WARNINGS_LENGTH", "WARNING_LENGTH", "cut_end", "status", "warnings"]

CAUSES_LENGTH: Final = 256 * 1024
"""Bytes of all causes together: 1,000 causes of the usual length fit. The API server's own messages quote whole values,
so one value can be as long as the object."""

CAUSE_LENGTH: Final = 1024
"""Characters that remain of a cause that exceeds the room for all."""

WARNING_LENGTH: Final = 256
"""Runes that the API server keeps of a warning once all are over the limit (``endpoints/filters/warning.go``)."""

WARNINGS_LENGTH: Final = 4096
"""Bytes of all warnings together; the API server drops the rest."""


def status(request: Request, causes: tuple[Cause, ...]) -> dict[str, Any]:
    """A ``metav1.Status`` as ``errors.NewInvalid`` makes it: kubectl prints its causes field by field.

    If all causes have a ``refusal``, it is the Status of the first, with the texts and causes of all.
    """
    kind, name = request.kind, request.name
    details: dict[str, Any] = {"name": name, "group": kind.group, "kind": kind.kind}
    shown = _within(causes)
    details["causes"] = [{"reason": c.reason, "message": c.text, "field": c.field} for c in shown]
    texts = [str(cause) for cause in shown]
    summary = texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"
    prefix, reason, code = f'{kind.kind}.{kind.group} "{name}" is invalid: ', "Invalid", 422
    refusals = [cause.refusal for cause in causes]
    if refusals[0] is not None and all(refusals):
        prefix, reason, code = refusals[0].prefix, refusals[0].reason, refusals[0].code
        details |= {"group": (request.resource_api or (kind.group,))[0], "kind": request.resource}
    return {
        "metadata": {},
        "status": "Failure",
        "message": f"{prefix}{summary}",
        "reason": reason,
        "details": details,
        "code": code,
    }


def _within(causes: Sequence[Cause]) -> Sequence[Cause]:
    """The causes within the limit: long ones are cut, and a last one counts those that are omitted."""
    room = CAUSES_LENGTH
    shown: list[Cause] = []
    for index, cause in enumerate(causes):
        size = len(cause.text.encode(errors="replace")) + len(cause.field)
        if size > room:
            cause = _cut(cause)  # noqa: PLW2901
            size = len(cause.text.encode(errors="replace")) + len(cause.field)
        if size > room:
            omitted = f"{len(causes) - index} more errors are omitted: see `modelgate check` for all of them"
            return [*shown, Cause("", "FieldValueInvalid", omitted)]
        room -= size
        shown.append(cause)
    return shown


def _cut(cause: Cause) -> Cause:
    message, field = cut_end(cause.message, CAUSE_LENGTH), cut_end(cause.field, CAUSE_LENGTH)
    return Cause(field, cause.reason, message, cause.code, cause.refusal)


def warnings(found: tuple[Warn, ...]) -> list[str]:
    """The warnings within the API server's limits; a last one counts those that are omitted."""
    lines: list[str] = []
    room = WARNINGS_LENGTH - WARNING_LENGTH  # reserved for the line that counts the rest
    for index, warning in enumerate(found):
        line = cut_end(" ".join(str(warning).split()), WARNING_LENGTH)
        room -= len(line.encode())
        if room < 0:
            lines.append(f"and {len(found) - index} more warnings: see `modelgate check` for all of them")
            break
        lines.append(line)
    return lines


def cut_end(text: str, length: int) -> str:
    """At most this many characters; the last is "…" if some are cut.

    Credentials are hidden before, because half of one could not be recognised.
    """
    return text if len(text) <= length else f"{masked(text)[: length - 1]}…"
