"""What the CRD says about an object: the API server's errors in its words, metadata, and unknown fields."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final

from webhook.admission import Cause, Warn
from webhook.cel import Budget
from webhook.engine.catalog import KnownKind
from webhook.engine.findings import Findings
from webhook.policy import field_path
from webhook.schema import RULES_NOT_RUN, FieldError, annotations_size

__all__ = ["MAX_SUGGESTIONS", "hidden_errors", "missing_spec", "suggestions", "unreadable_metadata", "validate_schema"]

_TEXTS: Final = ("name", "generateName", "namespace", "creationTimestamp")
_LISTS: Final = {"finalizers": (str, "must be a string"), "managedFields": (dict, "must be an object")}
"""The fields of metadata that rules can read. Of a list, the type of the items."""

MAX_SUGGESTIONS: Final = 100
"""Suggest spellings for at most this many unknown fields: each takes 50 µs, and all warnings share 4 KiB."""


def validate_schema(kind: KnownKind, obj: dict[str, Any], old: dict[str, Any] | None, budget: Budget) -> Findings:
    """Findings of the CRD and of metadata, in the API server's words."""
    findings = Findings()
    errors, warnings = kind.schema.check(obj, old, budget)
    for error in errors:
        if error.detail != RULES_NOT_RUN:  # it only repeats that there are other errors
            findings.causes.append(Cause(_place(error), error.type, error.body()))
    findings.notices += [Warn("", text) for text in warnings]
    findings.causes += _metadata_errors(obj)
    return findings


def hidden_errors(kind: KnownKind, obj: dict[str, Any], findings: Findings) -> tuple[Cause, ...]:
    """The errors of the CRD that are not among the findings, because an update does not change what they are about."""
    told = {(cause.field, cause.reason) for cause in findings.causes}
    errors = kind.schema.validate(obj)
    causes = (Cause(_place(each), each.type, each.body()) for each in errors)
    return tuple(each for each in causes if (each.field, each.reason) not in told)


def _place(error: FieldError) -> str:
    """The field of an error. The API server names no field for some ("<nil>"); the object itself is "" here."""
    return error.field if error.field != "<nil>" else error.place if error.place != "<nil>" else ""


def missing_spec(kind: KnownKind, obj: dict[str, Any]) -> Iterator[Warn]:
    """Warn of an object without spec, where spec has required fields but is not required itself."""
    root = kind.schema.root
    spec = root.properties.get("spec")
    if obj.get("spec") is None and spec is not None and spec.required and "spec" not in root.required:
        fields = ", ".join(name for name in spec.required if "default" not in spec.raw["properties"][name])
        what = f"set {fields}" if fields else "add it"
        yield Warn("spec", f"is missing; the API server accepts this, but the object has no effect: {what}")


def suggestions(
    kind: KnownKind, obj: dict[str, Any], paths: list[str], findings: Iterable[Cause | Warn]
) -> Iterator[tuple[str, str]]:
    """Each unknown path with "; did you mean …?", or "" without a suggestion or if a finding names the field."""
    words = {word for each in findings for word in each.message.split()} if paths else set()
    for index, path in enumerate(paths):
        named = index >= MAX_SUGGESTIONS or path.rpartition(".")[2] in words
        nearest = "" if named else kind.schema.suggest(obj, path)
        yield path, f"; did you mean {nearest}?" if nearest else ""


def _metadata_errors(obj: dict[str, Any]) -> Iterator[Cause]:
    """Errors of metadata that a request from an API server never has: it decodes metadata before it calls a webhook.

    Fields of the wrong type, of those that rules can read, and annotations that are too long.
    """
    metadata = obj.get("metadata")
    if metadata is None:
        return
    if not isinstance(metadata, dict):
        yield _invalid("metadata", "must be an object")
        return
    yield from _wrong_types(metadata)
    causes = [cause for part in ("annotations", "labels") for cause in _not_strings(part, metadata.get(part))]
    yield from causes
    if not causes:
        for error in annotations_size(metadata.get("annotations") or {}):
            yield Cause(error.field, error.type, error.body())


def unreadable_metadata(obj: dict[str, Any]) -> bool:
    """Whether rules cannot read the metadata: it is missing or wrong."""
    return not isinstance(obj.get("metadata"), dict) or any(_metadata_errors(obj))


def _invalid(path: str, text: str) -> Cause:
    return Cause(path, "FieldValueInvalid", f"Invalid value: {text}")


def _wrong_types(metadata: dict[str, Any]) -> Iterator[Cause]:
    for name in _TEXTS:
        item = metadata.get(name)
        if item is not None and type(item) is not str:
            yield _invalid(f"metadata.{name}", "must be a string")
    for name, (wanted, text) in _LISTS.items():
        items = metadata.get(name)
        if items is None:
            continue
        if type(items) is not list:
            yield _invalid(f"metadata.{name}", "must be a list")
            continue
        for index, item in enumerate(items):
            if type(item) is not wanted:
                yield _invalid(f"metadata.{name}[{index}]", text)
    yield from _wrong_times(metadata.get("managedFields"))


def _wrong_times(entries: Any) -> Iterator[Cause]:
    for index, entry in enumerate(entries if isinstance(entries, list) else ()):
        if isinstance(entry, dict) and not isinstance(entry.get("time"), str | None):
            yield _invalid(f"metadata.managedFields[{index}].time", "must be a string")


def _not_strings(part: str, value: Any) -> Iterator[Cause]:
    if not isinstance(value, dict | None):
        yield _invalid(f"metadata.{part}", "must be a map of strings")
        return
    for key, item in (value or {}).items():
        if not isinstance(item, str):
            path = field_path(("metadata", part, key))
            yield _invalid(path, "must be a string: put it in quotes")
