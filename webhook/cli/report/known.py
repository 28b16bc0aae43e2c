"""Findings that the files had before a change: they are counted, not reported."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Final

from webhook.admission import Cause, Warn
from webhook.library.apiserver import placed
from webhook.library.findings import Finding
from webhook.library.review import Key, ReviewedManifest, key_of
from webhook.manifests.documents import Document

__all__ = ["Known"]

Findings = Callable[[Document, Iterable[Cause], Iterable[Warn]], list[Finding]]

_SPARED: Final = "(not refused, because this update does not change it)"
"""What a warning ends with that is about the stored object."""
_INDEX: Final = re.compile(r"\[\d+\]")
"""The position of an item, which another item may move."""


class Known:
    """What was found of the objects as they were. An object is the same if its kind, namespace and name are."""

    def __init__(self, reviews: Iterable[ReviewedManifest], findings: Findings) -> None:
        self._found: Counter[tuple[Key, str]] = Counter()
        self._is_empty = True
        for each in reviews:
            self._is_empty = False
            key, decision = _key(each.document), each.validation
            found = findings(each.document, decision.causes, decision.warnings)
            self._found.update((key, _text(finding)) for finding in found)

    def without(self, document: Document, findings: Iterable[Finding]) -> list[Finding]:
        """The findings of an object that are new."""
        key = _key(document)
        return [each for each in findings if self._is_empty or not self._take(key, each)]

    def _take(self, key: Key, finding: Finding) -> bool:
        """Whether a finding is known; each of the past counts once."""
        if finding.message.endswith(_SPARED):
            return True
        found = (key, _text(finding))
        self._found[found] -= 1
        return self._found[found] >= 0


def _key(document: Document) -> Key:
    return key_of(placed(document.value, None))


def _text(finding: Finding) -> str:
    return _INDEX.sub("[]", finding.text)
