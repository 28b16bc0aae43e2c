"""Findings that only follow from a misspelt field: they are gone where it has its right name."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any, Final

from webhook.ground.fieldpath import field_keys
from webhook.library.findings import Finding
from webhook.manifests.documents import Document

__all__ = ["MEANT", "without_consequences"]

MEANT: Final = re.compile(r"unknown field; (?:did you mean|its name is now) (?P<name>[\w.\[\]]+)")
_MOST: Final = 100
"""Misspelt fields of one object that are looked at: people make fewer."""


def without_consequences(
    document: Document, findings: list[Finding], judge: Callable[[Document], Iterable[Finding]]
) -> list[Finding]:
    """The findings without those that an unknown field brings, such as that the field which is meant is missing.

    ``judge`` gives the findings of another document.
    """
    wrong = [each for each in findings if each.code == "unknown-field"]
    value = document.value
    for each in wrong[:_MOST]:
        if found := MEANT.match(each.message):
            value = _renamed(value, field_keys(each.field), found["name"])
    if value is document.value or len(wrong) == len(findings):
        return findings
    left = {(each.code, each.field, each.message) for each in judge(replace(document, value=value))}
    return [each for each in findings if each in wrong or (each.code, each.field, each.message) in left]


def _renamed(value: Any, path: list[str | int], name: str) -> Any:
    """The value with another name of a field; itself if it has that field, too, or lacks this one."""
    step, *rest = path
    if isinstance(value, dict) and step in value:
        if rest:
            below = _renamed(value[step], rest, name)
            return value if below is value[step] else {**value, step: below}
        return value if name in value else {name if key == step else key: item for key, item in value.items()}
    if isinstance(value, list) and isinstance(step, int) and step < len(value) and rest:
        below = _renamed(value[step], rest, name)
        return value if below is value[step] else [*value[:step], below, *value[step + 1 :]]
    return value
