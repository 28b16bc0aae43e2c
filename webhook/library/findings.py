"""Findings: what is wrong with an object, at which place of which file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from webhook.admission import Cause, Warn, escaped, one_line
from webhook.ground.fieldpath import field_keys, field_path
from webhook.manifests.documents import Document
from webhook.manifests.places import Place, Remark, find

_WRONG_TYPE: Final = "FieldValueTypeInvalid"
_UNSUPPORTED: Final = "FieldValueNotSupported"

CODES: Final = {
    "schema": "The definition of the kind, or the API server's own validation of metadata, refuses the value. The "
    "text is the API server's.",
    "unknown-field": "The definition has no such field. The API server refuses it under strict validation, and drops "
    "it otherwise.",
    "unknown-kind": "No definition of this group serves the kind or the version. Give the definition with --crds if "
    "the cluster has it.",
    "policy": "A ValidatingAdmissionPolicy or MutatingAdmissionPolicy of --admission-policies says this.",
    "size": "The object has more values than the gate judges.",
    "yaml": "kubectl and kustomize read the same text as two different values, so that the object depends on the "
    "program that applies it. A key that is written twice is an error: kubectl takes the last one, while kustomize and "
    "strict field validation refuse it.",
    "note": "A remark without a rule, such as a finding that an update is not refused for.",
    "unreadable": "The file or document cannot be read, so that nothing is said about what is in it.",
}
"""The codes of findings that are not a rule's."""


class Severity(StrEnum):
    ERROR = "error"
    WARNING = "warning"


@dataclass(frozen=True, slots=True)
class Finding:
    """One fault. ``reason`` is the API server's type of the cause (``FieldValueInvalid``), "" for a warning.

    Its texts have no control characters; ``field`` is a place, and may have some. ``helps`` say what to write instead;
    ``policy`` names the native policy that it is from.
    """

    severity: Severity
    code: str
    field: str
    message: str
    place: Place
    helps: tuple[str, ...] = ()
    reason: str = ""
    policy: str = ""

    @classmethod
    def of_cause(cls, cause: Cause, document: Document, helps: tuple[str, ...] = ()) -> Finding:
        label, policy = cause.label, cause.refusal.policy if cause.refusal else ""
        if label == "schema":
            label = _schema_code(cause)
        hints = (*map(str, cause.hints), *map(one_line, helps))
        place = document.place(cause.field)
        return cls(Severity.ERROR, label, cause.field, cause.message, place, hints, cause.reason, policy)

    @classmethod
    def of_warning(cls, warning: Warn, document: Document) -> Finding:
        label = "note" if warning.label == "schema" else warning.label
        place = document.place(warning.field)
        return cls(Severity.WARNING, label, warning.field, warning.message, place, policy=warning.policy)

    @classmethod
    def of_remark(cls, remark: Remark) -> Finding:
        return cls(Severity.WARNING, "yaml", field_path(remark.path), one_line(remark.message), remark.place)

    @property
    def is_rule(self) -> bool:
        """Whether `modelgate rule` explains its code by a rule."""
        return self.code not in CODES

    @property
    def text(self) -> str:
        return f"{escaped(self.field)}: {self.message}" if self.field else self.message

    @property
    def text_with_helps(self) -> str:
        return "; help: ".join((self.text, *self.helps))


def _schema_code(cause: Cause) -> str:
    if cause.message.startswith("unknown field"):
        return "unknown-field"
    if cause.message.startswith("duplicate key "):
        return "yaml"
    return "unknown-kind" if cause.message.startswith("no matches for kind") else "schema"


def findings_of(document: Document, causes: Iterable[Cause], warnings: Iterable[Warn]) -> list[Finding]:
    """Everything that is said of a document. What an error is about needs no remark on its YAML."""
    found = [Finding.of_cause(cause, document, helps) for cause, helps in _faults(list(causes), document)]
    refused = {each.field for each in found}
    remarks = [Finding.of_remark(each) for each in document.remarks]
    found += [each for each in remarks if each.field not in refused]
    return [*found, *(Finding.of_warning(warning, document) for warning in warnings)]


def _faults(causes: Sequence[Cause], document: Document) -> Iterator[tuple[Cause, tuple[str, ...]]]:
    """The causes, each with advice: one for each fault. A value of the wrong type is not one of the supported values
    either, which the API server says, too; here that is advice.
    """
    wrong = {cause.field for cause in causes if cause.reason == _WRONG_TYPE}
    unsupported = {cause.field: cause for cause in causes if cause.reason == _UNSUPPORTED and cause.field in wrong}
    for cause in causes:
        if unsupported.get(cause.field) is not cause:
            helps = [*_quoting(cause, document)]
            if cause.reason == _WRONG_TYPE and cause.field in unsupported:
                helps.append(unsupported[cause.field].message.partition(": ")[2].partition(": ")[2])
            yield cause, tuple(filter(None, helps))


def ordered(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """The findings in the order of the file, the graver ones first."""
    return tuple(sorted(findings, key=lambda each: (each.place, each.severity, each.code)))


def _quoting(cause: Cause, document: Document) -> Iterator[str]:
    """Advice about a key or a value without quotes that YAML does not read as text."""
    key, _, complete = find(document.tree, field_keys(cause.field))
    if complete and key is not None and key.plain and isinstance(key.value, bool) and key.text not in {"true", "false"}:
        yield f"YAML reads the key {key.text} as {str(key.value).lower()}: put it in quotes"
        return
    if cause.reason not in {"FieldValueTypeInvalid", "FieldValueNotSupported", "FieldValueInvalid"}:
        return
    spot = document.written(cause.field)
    if spot is None or not spot.plain:
        return
    if isinstance(spot.value, bool) and spot.text not in {"true", "false"}:
        yield f"YAML reads {spot.text} as {str(spot.value).lower()}: put it in quotes"
    elif isinstance(spot.value, int | float) and not isinstance(spot.value, bool) and "string" in cause.message:
        yield f"YAML reads {spot.text} as a number: put it in quotes"
