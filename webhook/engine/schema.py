"""What the CRD says about an object: the API server's errors in its words, metadata, and unknown fields."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any, Final

from webhook.admission import Cause, Warn
from webhook.catalog import KnownKind
from webhook.cel import Budget
from webhook.engine.findings import Findings
from webhook.engine.metadata import metadata_errors
from webhook.policy import Path
from webhook.schema import RULES_NOT_RUN, FieldError

__all__ = ["MAX_SUGGESTIONS", "missing_spec", "suggestions", "validate_schema"]

_INDEX: Final = re.compile(r"\[\d+\]")
MAX_SUGGESTIONS: Final = 100
"""Suggest spellings for at most this many unknown fields: each takes 50 µs, and all warnings share 4 KiB."""


def validate_schema(
    kind: KnownKind, obj: dict[str, Any], old: dict[str, Any] | None, budget: Budget
) -> tuple[Findings, tuple[Cause, ...]]:
    """Findings of the CRD and of metadata, in the API server's words, and the errors that ratcheting hides.

    Those are the errors of the CRD that are not among the findings: an update does not change what they are about.
    """
    findings = Findings()
    errors, warnings, of_schema = kind.schema.check(obj, old, budget)
    for error in errors:
        if error.detail != RULES_NOT_RUN:  # it only repeats that there are other errors
            findings.causes.append(Cause(_place(error), error.type, error.body()))
    findings.notices += [Warn("", text) for text in warnings]
    findings.causes += metadata_errors(obj)
    if old is None or not of_schema:
        return findings, ()
    told = {(cause.field, cause.reason) for cause in findings.causes}
    hidden = (each for each in of_schema if (_place(each), each.type) not in told)
    return findings, tuple(Cause(_place(each), each.type, each.body()) for each in hidden)


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


def suggestions(
    kind: KnownKind, obj: dict[str, Any], paths: list[str], findings: Iterable[Cause | Warn], *, offline: bool
) -> Iterator[tuple[str, str]]:
    """Each unknown path with a remark: its new name, the later release that has it, or "; did you mean …?".

    The remark is "" without these, or if a finding names the field. Only ``offline`` are later releases looked up, in
    files: a cluster has one definition.
    """
    words = {word for each in findings for word in each.message.split()} if paths else set()
    for index, path in enumerate(paths):
        place = _INDEX.sub("[*]", path)
        if former := kind.policy.renamed.get(place):
            yield path, f"; its name is now {former}"
            continue
        later = _of_other_release(kind, place) if offline and index < MAX_SUGGESTIONS else ""
        named = index >= MAX_SUGGESTIONS or path.rpartition(".")[2] in words
        nearest = "" if named or later else kind.schema.suggest(obj, path)
        yield path, f"; did you mean {nearest}?" if nearest else later


def _of_other_release(kind: KnownKind, place: str) -> str:
    """That a field is in our definition and not in the installed one, or from which release on it exists."""
    try:
        keys = Path.parse(place).keys
    except ValueError:  # a definition has no field with such a name
        return ""
    field, pack = place.rpartition(".")[2], kind.pack
    if kind.own is not None and keys in kind.own.differences.lost:
        own = f"the definition of {pack.in_force}" if pack.documented else "Modelgate's definition"
        return f"; {own} has it, the installed one does not"
    since = pack.since(kind.plural, keys)
    setting = f"set releases.{kind.api}, or give --crds"
    return f"; {field} is a field of {pack.operator} {since} and later: {setting}" if since else ""
