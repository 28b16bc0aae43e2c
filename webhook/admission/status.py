"""What the reply says of a decision: the ``metav1.Status`` of a refusal, and warnings, both within limits."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

from webhook.admission.decision import Cause, Request, Warn
from webhook.admission.plain import cut_end, escaped

STATUS_LENGTH: Final = 4096
"""Bytes of a refusal by Modelgate's rules. A terminal shows about 50 lines; `modelgate check` shows everything."""

CAUSES_LENGTH: Final = 256 * 1024
"""Bytes of all causes of a refusal by Kubernetes' own policies, in its words. The API server's messages quote whole
values, so one value can be as long as the object."""

SUMMARY_LENGTH: Final = 1024
"""Bytes of the message, which repeats the causes: many clients show only the message."""

SUMMARISED_LENGTH: Final = 512
"""Characters of one cause in the message. A longer cause is complete only among the causes."""

CAUSE_LENGTHS: Final = (1024, 256)
"""Characters that remain of the message and the field of a cause that exceeds the room for all: the first that fits."""

NAME_LENGTH: Final = 253
"""Characters of the longest valid name. A webhook is called before the API server checks the name."""

WARNING_LENGTH: Final = 256
"""Runes that the API server keeps of a warning once all are over the limit (``endpoints/filters/warning.go``)."""

WARNINGS_LENGTH: Final = 4096
"""Bytes of all warnings together; the API server drops the rest."""


def status(request: Request, causes: tuple[Cause, ...]) -> dict[str, Any]:
    """A ``metav1.Status`` as ``errors.NewInvalid`` makes it: kubectl prints its causes field by field.

    If all causes have a ``refusal``, it is the Status of the first, with the texts and causes of all. Otherwise it is
    at most :data:`STATUS_LENGTH` bytes of JSON, and a last cause counts those that are omitted.
    """
    kind, name = request.kind, cut_end(escaped(request.name), NAME_LENGTH)
    details: dict[str, Any] = {"name": name, "group": kind.group, "kind": kind.kind}
    refusals = [cause.refusal for cause in causes]
    prefix, reason, code = f'{kind.kind}.{kind.group} "{name}" is invalid: ', "Invalid", 422
    native = refusals[0] is not None and all(refusals)
    if native and refusals[0] is not None:
        prefix, reason, code = refusals[0].prefix, refusals[0].reason, refusals[0].code
        details |= {"group": (request.resource_api or (kind.group,))[0], "kind": request.resource}
    head = {"metadata": {}, "status": "Failure", "message": prefix, "reason": reason, "details": details, "code": code}
    shown = _within(causes, CAUSES_LENGTH if native else STATUS_LENGTH - SUMMARY_LENGTH - _size(head))
    details["causes"] = [_entry(cause) for cause in shown]
    texts = [str(cause) for cause in shown]
    return {**head, "message": f"{prefix}{_summary(texts if native else _brief(texts))}"}


def _summary(texts: Sequence[str]) -> str:
    return texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"


def _brief(texts: Sequence[str]) -> list[str]:
    """The texts within :data:`SUMMARY_LENGTH`, at least the first; a last one counts those that are omitted."""
    room, brief = SUMMARY_LENGTH - 64, list[str]()  # reserved for the text that counts the rest
    for text in texts:
        short = cut_end(text, SUMMARISED_LENGTH)
        room -= _size(short)
        if room < 0:
            return [*brief, f"and {len(texts) - len(brief)} more, see the causes"]
        brief.append(short)
    return brief


def _size(value: Any) -> int:
    return len(json.dumps(value, ensure_ascii=False).encode(errors="replace"))


def _entry(cause: Cause) -> dict[str, str]:
    return {"reason": cause.reason, "message": cause.text, "field": escaped(cause.field)}


def _within(causes: Sequence[Cause], room: int) -> Sequence[Cause]:
    """The causes within this many bytes: long ones are cut, and a last one counts those that are omitted."""
    shown: list[Cause] = []
    last = _omitted(len(causes))
    for index, cause in enumerate(causes):
        reserved = _size(_entry(last)) if index + 1 < len(causes) else 0
        size = _size(_entry(cause))
        for length in CAUSE_LENGTHS:
            if size > room - reserved:
                cause = _cut(cause, length)  # noqa: PLW2901
                size = _size(_entry(cause))
        if size > room - reserved:
            return [*shown, _omitted(len(causes) - index)]
        room -= size + 1
        shown.append(cause)
    return shown


def _omitted(number: int) -> Cause:
    text = f"{number} more errors are omitted: see `modelgate check` for all of them"
    return Cause("", "FieldValueInvalid", text)


def _cut(cause: Cause, length: int) -> Cause:
    message, field = cut_end(cause.message, length), cut_end(cause.field, length)
    return replace(cause, field=field, message=message)


def warnings(raised: tuple[Warn, ...]) -> list[str]:
    """The warnings within the API server's limits, each with its code; a last one counts those that are omitted."""
    lines: list[str] = []
    room = WARNINGS_LENGTH - WARNING_LENGTH  # reserved for the line that counts the rest
    for index, warning in enumerate(raised):
        line = str(warning)
        if "  " in line or not line.isprintable() or line != line.strip():
            line = " ".join(line.split())
        if len(line) > WARNING_LENGTH:
            code = f" ({warning.code})" if warning.code else ""
            line = f"{cut_end(line.removesuffix(code), WARNING_LENGTH - len(code))}{code}"
        room -= len(line) if line.isascii() else len(line.encode())
        if room < 0:
            lines.append(f"and {len(raised) - index} more warnings: see `modelgate check` for all of them")
            break
        lines.append(line)
    return lines
