"""What the CRD says about an object: the API server's errors in its words, and unknown fields."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

from webhook.admission import Cause, Warn
from webhook.catalog import KnownKind
from webhook.cel import Budget as CostBudget
from webhook.engine.findings import Findings
from webhook.engine.metadata import metadata_errors
from webhook.engine.options import OBJECT_BUDGET
from webhook.engine.review import Subject
from webhook.ground.budget import Budget
from webhook.kubernetes import shortened
from webhook.policy import Path
from webhook.policy.ranges import Range
from webhook.schema import RULES_NOT_RUN, FieldError
from webhook.schema.fielderror import OVERSIZED

_INDEX: Final = re.compile(r"\[\d+\]")

_REMARK: Final = 8
"""Steps of the finding about an unknown field."""

_MAY_WIDEN: Final = frozenset({"FieldValueInvalid", "FieldValueNotSupported", *OVERSIZED})
"""Errors about values of which a later release may accept more."""

MAX_SUGGESTIONS: Final = 100
"""Suggest spellings for at most this many unknown fields: each takes 50 µs, and all warnings share 4 KiB."""


def validate_schema(
    kind: KnownKind, obj: dict[str, Any], old: dict[str, Any] | None, budget: Budget
) -> tuple[Findings, tuple[Cause, ...]]:
    """Findings of the CRD and of metadata, in the API server's words, and the errors that ratcheting hides.

    Those are the errors of the CRD that are not among the findings: an update does not change what they are about.
    """
    errors, warnings, of_schema = kind.schema.check(obj, old, CostBudget(OBJECT_BUDGET, interrupt=budget.tick))
    # The error that rules were not run only repeats that there are others.
    causes = [_cause(error) for error in errors if error.detail != RULES_NOT_RUN] + metadata_errors(obj)
    findings = Findings(causes, [Warn("", text) for text in warnings])
    if old is None or not of_schema:
        return findings, ()
    named = {(cause.field, cause.reason) for cause in causes}
    hidden = (error for error in of_schema if (_place(error), error.type) not in named)
    return findings, tuple(map(_cause, hidden))


def _cause(error: FieldError) -> Cause:
    return Cause(_place(error), error.type, shortened(error))


def _place(error: FieldError) -> str:
    """The field of an error. The API server names no field for some ("<nil>"); the object itself is "" here."""
    return error.field if error.field != "<nil>" else error.place if error.place != "<nil>" else ""


def missing_spec(kind: KnownKind) -> Iterator[Warn]:
    """The warning for an object without spec, where spec has required fields but is not required itself."""
    root = kind.schema.root
    spec = root.properties.get("spec")
    if spec is not None and spec.required and "spec" not in root.required:
        fields = ", ".join(name for name in spec.required if "default" not in spec.raw["properties"][name])
        what = f"set {fields}" if fields else "add it"
        yield Warn("spec", f"is missing; the API server accepts this, but the object has no effect: {what}")


def add_unknown_fields(subject: Subject, findings: Findings) -> None:
    """Add a finding for each unknown field: an error if fields are strict, else a warning."""
    strict, kind = subject.review.options.strict_fields, subject.review.kind
    if _is_unshaped(kind):
        return
    for path, remark in _remarks(subject, findings, offline=strict):
        if strict and (why := _may_exist(kind, remark)):
            findings.warnings.append(Warn(path, f"unknown field{why}"))
        elif strict:
            findings.causes.append(Cause(path, "FieldValueInvalid", f"unknown field{remark}"))
        else:
            text = f"unknown field: Modelgate does not check or default it{remark}"
            findings.warnings.append(Warn(path, text))


def _is_unshaped(kind: KnownKind) -> bool:
    """Whether the definition of the release in force is not known, and none is installed or given."""
    return kind.is_unshaped and not kind.deviates


def _may_exist(kind: KnownKind, remark: str) -> str:
    """Why a release that is not known may have an unknown field; "" if it has none."""
    if kind.deviates or (kind.in_force.releases and not kind.in_force.is_newer):
        return ""
    return _beyond(kind) if kind.in_force.is_newer else remark if "is a field of" in remark else ""


def _beyond(kind: KnownKind) -> str:
    return f": {kind.in_force.name} is newer than what Modelgate knows"


def relax(kind: KnownKind, findings: Findings) -> None:
    """Refuse nothing for what a release that is in no table may accept.

    A newer one than all may accept more values: what says so becomes a warning. Of an older one no definition is known.
    """
    is_unshaped, is_newer = _is_unshaped(kind), kind.in_force.is_newer and not kind.deviates
    if not (is_unshaped or is_newer):
        return
    kept, relaxed = list[Cause](), list[Cause]()
    for cause in findings.causes:
        of_schema = cause.label == "schema" and not cause.field.startswith("metadata")
        (relaxed if of_schema and (is_unshaped or cause.reason in _MAY_WIDEN) else kept).append(cause)
    findings.causes = kept
    if is_newer:
        findings.warnings += [Warn(cause.field, f"{cause.message}{_beyond(kind)}") for cause in relaxed]


def _remarks(subject: Subject, findings: Findings, *, offline: bool) -> Iterator[tuple[str, str]]:
    """Each unknown path with a remark: its new name, the later release that has it, or "; did you mean …?".

    The remark is "" without these, or if a finding names the field. Only ``offline`` are later releases looked up, in
    files: a cluster has one definition.
    """
    kind = subject.review.kind
    words = {word for finding in findings for word in finding.message.split()}
    for index, path in enumerate(subject.unknown):
        subject.review.budget.spend(_REMARK, path)
        place = _INDEX.sub("[*]", path)
        if new_name := kind.policy.renamed.get(place):
            yield path, f"; its name is now {new_name}"
            continue
        later = _of_other_release(kind, place) if offline and index < MAX_SUGGESTIONS else ""
        named = index >= MAX_SUGGESTIONS or path.rpartition(".")[2] in words
        nearest = "" if named or later else kind.schema.suggest(subject.review.obj, path)
        yield path, f"; did you mean {nearest}?" if nearest else later


def _of_other_release(kind: KnownKind, place: str) -> str:
    """That a field is in our definition and not in the installed one, or in which releases it exists."""
    try:
        keys = Path.parse(place).keys
    except ValueError:  # a definition has no field with such a name
        return ""
    field, pack = place.rpartition(".")[2], kind.pack
    having = pack.releases_with(kind.plural, keys)
    releases = f"{pack.operator} {Range.parse(having).words(pack.releases)}" if having else str(kind.in_force)
    if kind.own is not None and keys in kind.own.differences.lost and (not having or kind.in_force.may_hold(having)):
        own = f"the definition of {releases}" if pack.documented else "Modelgate's definition"
        return f"; {own} has it, the installed one does not"
    if not having:
        return ""
    is_assumed = kind.in_force.by == "documented"
    remedy = f": set releases.{kind.api}, or give --crds" if is_assumed else f", and not of {kind.in_force}"
    return f"; {field} is a field of {releases}{remedy}"
