"""What a judgement has found so far, and the form that a profile gives it."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Final, Protocol, TypeVar

from webhook.admission import Cause, Warn, cut_end
from webhook.ground.budget import Budget
from webhook.kubernetes import LINE

MAX_FINDINGS: Final = 1000
"""Causes, notices and warnings of the policy's rules about one object, each: more are of no use to a reader."""

MESSAGE: Final = 1024
"""Characters of a rule's message, which may quote values of the user."""


_LINE_STEPS: Final = 32
"""Steps of a line that is made, in which control characters and credentials are looked for."""

SPARED: Final = " (not refused, because this update does not change it)"
"""The end of what ratcheting spares."""


@dataclass(slots=True)
class Findings:
    """``causes`` refuse the object. ``notices`` are the causes that ratcheting spares: warnings that come first.

    ``hints`` are what rules say about fields that the schema refuses, by field.
    """

    causes: list[Cause] = field(default_factory=list)
    notices: list[Warn] = field(default_factory=list)
    warnings: list[Warn] = field(default_factory=list)
    hints: dict[str, list[Warn]] = field(default_factory=dict)

    def attach_hints(self) -> None:
        """Move the hints into the first cause of their field."""
        for index, cause in enumerate(self.causes):
            if hints := self.hints.pop(cause.field, None):
                self.causes[index] = replace(cause, hints=tuple(hints))

    def __add__(self, other: Findings) -> Findings:
        return Findings(
            self.causes + other.causes,
            self.notices + other.notices,
            self.warnings + other.warnings,
            self.hints | other.hints,
        )

    def __iter__(self) -> Iterator[Cause | Warn]:
        yield from self.causes
        yield from self.notices
        yield from self.warnings


class KubernetesFault(Protocol):
    """What the API server will say of what becomes of an object, at the ``field`` that is the cause.

    ``reason`` is its type of the cause, and the ``text`` has a remedy.
    """

    @property
    def code(self) -> str: ...
    @property
    def field(self) -> str: ...
    @property
    def reason(self) -> str: ...
    @property
    def text(self) -> str: ...
    def unplaced(self) -> Hashable:
        """What is the same for the same fault of another state of the object."""


_Fault = TypeVar("_Fault", bound=KubernetesFault)


def findings_of_faults(
    faults: Iterable[_Fault],
    is_refusal: Callable[[_Fault], bool],
    of_stored: Callable[[], Iterable[_Fault]],
    budget: Budget,
) -> Findings:
    """Findings in lines, :data:`MAX_FINDINGS` of each sort. A refusal that the stored object has as well is a notice.

    Other faults are warnings. The faults ``of_stored`` are asked for at the first refusal.

    Raises:
        SpentError, DeadlineExceeded: from the budget.
    """
    findings, stored = Findings(), None
    for fault in faults:
        budget.spend(_LINE_STEPS, fault.field)
        if not is_refusal(fault):
            findings.warnings.append(Warn(fault.field, cut_end(fault.text, LINE), fault.code))
            continue
        if stored is None:
            stored = frozenset(one.unplaced() for one in of_stored())
        if fault.unplaced() in stored:
            text = f"{cut_end(fault.text, LINE - len(SPARED))}{SPARED}"
            findings.notices.append(Warn(fault.field, text, fault.code))
        else:
            findings.causes.append(Cause(fault.field, fault.reason, cut_end(fault.text, LINE), fault.code))
    for sort in (findings.causes, findings.notices, findings.warnings):
        del sort[MAX_FINDINGS:]
    return findings


def refusals_as_warnings(causes: Iterable[Cause]) -> tuple[Warn, ...]:
    """Warnings of what another profile would refuse. Hints come first: a long warning is cut at its end."""
    return tuple(_as_warning(cause) for cause in causes)


def _as_warning(cause: Cause) -> Warn:
    text = "; ".join((*map(str, cause.hints), cause.message))
    return Warn(cause.field, f"would be refused: {text}", cause.code, cause.refusal.policy if cause.refusal else "")
