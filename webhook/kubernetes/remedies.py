"""An error of Kubernetes as a finding says it: in one short line, with what to write instead.

Kubernetes explains a name by its regular expression, and prints an object as Go does. ``remedies.json`` has, for each
detail of its errors, shorter words and a remedy. The errors themselves stay as Kubernetes has them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, Final, NamedTuple

from webhook.golang.json import marshal
from webhook.ground.budget import Budget
from webhook.ground.fieldpath import field_keys
from webhook.kubernetes.shown import cut
from webhook.schema.fielderror import OMIT, FieldError

_TEXT: Final = Path(__file__).with_name("remedies.json").read_text(encoding="utf-8")
"""Read with the module: a server must not read a file for a review."""

LINE: Final = 250
"""Characters of a finding: what a reader takes in at once, and what the API server keeps of a warning."""
_VALUE: Final = 60
"""Characters of a value in a line."""
_DETAIL: Final = 120
"""Characters of what is wrong with it."""
_READ: Final = 1024
"""Characters of a detail in which a pattern is looked for."""
_STEPS: Final = 32
"""Steps of an error: its words are looked up, and it becomes a line."""

_PREFIX: Final = re.compile(r"(?:\\.|[^\\.*+?()\[\]{}|])*(?![*+?{|])")
"""The start of a pattern that stands for itself."""
_SAYS_WHAT_TO_DO: Final = re.compile(
    r"\b(must|use|set|remove|add|write|keep|supported values|expected|should|either)\b"
)
_OTHERWISE: Final = {
    "FieldValueRequired": "set {field}",
    "FieldValueForbidden": "remove {field}",
    "FieldValueDuplicate": "use another one, or remove one of the two",
    "FieldValueNotFound": "use a name that the pod has, or add it",
    "FieldValueTooMany": "remove some",
}
"""What to write where a detail says nothing of it, by the type of the error."""


class _Row(NamedTuple):
    """The details that match a pattern, and what a finding says of them."""

    prefix: str
    pattern: str
    advice: _Advice


class _Advice(NamedTuple):
    """The words for a detail, "" if its own are short, and the remedy, "" if the words say it.

    ``is_enough``: the remedy alone corrects all that is wrong with the value.
    """

    words: str
    remedy: str
    is_enough: bool = False


_ELSEWHERE: Final = _Advice("", "")
"""Of a detail about which another error says what to write."""


class Fault(NamedTuple):
    """What is wrong with one value: the first error, and all that Kubernetes says of it as one line with remedies.

    ``bodies`` are Kubernetes' own texts where the line does not have the whole value.
    """

    error: FieldError
    text: str
    bodies: str


def faults_of(errors: Sequence[FieldError], budget: Budget) -> list[Fault]:
    """One fault for each value. An error that only follows from another one is omitted: `Required value; set image`.

    Raises:
        SpentError: from the budget.
    """
    by_value: dict[tuple[object, ...], list[FieldError]] = {}
    for error in errors:
        value = error.bad_value
        identity = (type(value), value) if isinstance(value, str | int | float | None) else (id(value),)
        by_value.setdefault((error.field, error.type, *identity), []).append(error)
    of_values: list[Fault] = []
    for group in by_value.values():
        budget.spend(_STEPS * len(group), group[0].field)
        of_values.append(_fault(group))
    return [fault for fault in of_values if fault.text] or [Fault(error, error.body(), "") for error in errors[:1]]


def advised_warning(field: str, text: str) -> str:
    """A warning of Kubernetes, with a remedy."""
    words, remedy, _ = _advice(text[:_READ]) or _Advice(text, "")
    return _with(cut(words, _DETAIL), remedy, field)


def shortened(error: FieldError) -> str:
    """The error of a definition without its field: in the API server's words, unless these are long or a pattern that
    has shorter ones.
    """
    text, detail = error.body(), error.detail.removeprefix(f"{error.field} in body ")
    advice = _advice(detail[:_READ])
    if advice is None and len(text) <= LINE:
        return text
    return _line(error, *(advice or _Advice(detail, ""))[:2])


def _fault(errors: Sequence[FieldError]) -> Fault:
    """The errors of one value as one: their words, and their remedies, each once. No text: others say it."""
    advice = [item for item in map(_advised, errors) if item is not _ELSEWHERE]
    if errors[0].type == "FieldValueNotSupported":
        advice.sort(key=lambda item: len(item.words))  # of two lists of supported values, the shorter one counts
        del advice[1:]
    words = ", ".join(dict.fromkeys(item.words for item in advice if item.words))
    remedies = [item for item in advice if item.is_enough] or advice
    remedy = "; ".join(dict.fromkeys(item.remedy for item in remedies if item.remedy))
    text = _line(errors[0], words, remedy) if advice else ""
    return Fault(errors[0], text, "\n".join(error.body() for error in errors if not _is_shown(error.bad_value)))


def _advised(error: FieldError) -> _Advice:
    detail = error.detail
    if (advice := _advice(detail[:_READ])) is not None:
        return advice
    return _Advice(detail, "" if _SAYS_WHAT_TO_DO.search(detail) else _OTHERWISE.get(error.type, "use another value"))


def _is_shown(value: Any) -> bool:
    """Whether a line has the whole value."""
    return len(value) <= _VALUE if isinstance(value, str) else isinstance(value, int | float | None)


def _line(error: FieldError, words: str, remedy: str) -> str:
    value = error.bad_value
    if isinstance(value, str):
        value = cut(value, _VALUE)
    elif not isinstance(value, int | float | None) and (type(value) is not dict or len(marshal(value)) > _VALUE):
        value = OMIT
    return _with(replace(error, detail=cut(words, _DETAIL), bad_value=value).body(), remedy, error.field)


def _with(text: str, remedy: str, field: str) -> str:
    return f"{text}; {remedy.replace('{field}', _last_name(field))}" if remedy else text


def _last_name(field: str) -> str:
    """The last name of a path; ``it`` for the root."""
    names = [key for key in field_keys(field) if isinstance(key, str)] if field else []
    return cut(names[-1], _VALUE) if names else "it"


@lru_cache(1024)
def _advice(detail: str) -> _Advice | None:
    """What the first row says whose pattern is the whole detail, with the values of the detail; None without a row."""
    for row in _rows():
        match = _compiled(row.pattern).fullmatch(detail) if detail.startswith(row.prefix) else None
        if match is not None:
            words, remedy, is_enough = row.advice
            expanded = _Advice(match.expand(words) or detail, match.expand(remedy), is_enough)
            return expanded if row.advice is not _ELSEWHERE else _ELSEWHERE
    return None


@cache
def _rows() -> tuple[_Row, ...]:
    return tuple(_read())


def _read() -> Iterator[_Row]:
    for pattern, words, remedy, *is_enough in json.loads(_TEXT):
        prefix = _PREFIX.match(pattern)
        start = re.sub(r"\\(.)", r"\1", prefix[0]) if prefix and "|" not in pattern else ""
        yield _Row(start, pattern, _ELSEWHERE if words is None else _Advice(words, remedy, bool(is_enough)))


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.DOTALL)
