"""What a reference may mean that leads nowhere: an object of this name in another namespace, or of a name like it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from difflib import get_close_matches
from functools import cached_property
from typing import Any, Final

from webhook.admission import Decision, Warn
from webhook.engine import UNSEEN

_MISSING: Final = re.compile(rf"(?P<what>(?P<noun>\w+) (?P<name>\S+)) {re.escape(UNSEEN)}")
_KNOWN: Final = UNSEEN.partition(";")[0]
_MOST: Final = 2_000
"""Objects among which names that are like another one are looked for: each missing one is compared with all."""


class Nearby:
    """The names of all objects that are known; a finding about a missing one gets what it may mean."""

    def __init__(self, objects: Iterable[Mapping[str, Any]]) -> None:
        self._objects = objects

    @cached_property
    def _names(self) -> Mapping[str, list[tuple[str, str]]]:
        """Name → kind, in lower case, and namespace of each object."""
        found: dict[str, list[tuple[str, str]]] = {}
        for each in self._objects:
            metadata = each["metadata"]
            found.setdefault(metadata["name"], []).append((each["kind"].lower(), metadata.get("namespace") or ""))
        return found

    def told(self, decision: Decision, namespace: str) -> Decision:
        """The decision about an object in a namespace, with the names that it may mean."""
        if not any(UNSEEN in each.message for each in decision.warnings):
            return decision
        return replace(decision, warnings=tuple(self._told(each, namespace) for each in decision.warnings))

    def _told(self, warning: Warn, namespace: str) -> Warn:
        found = _MISSING.fullmatch(warning.message)
        hint = next(self._meant(found["noun"].lower(), found["name"], namespace), "") if found else ""
        if found is None or not hint:
            return warning
        return Warn(warning.field, f"{found['what']} {_KNOWN}; {hint}", warning.code, warning.policy)

    def _meant(self, noun: str, name: str, namespace: str) -> Iterator[str]:
        for kind, where in self._names.get(name, ()):
            if noun in kind and where not in {"", namespace}:
                yield f"there is one in namespace {where}, and it is looked for in {namespace}"
        if len(self._names) <= _MOST:
            like = [
                each
                for each, objects in self._names.items()
                if any(noun in kind and where in {"", namespace} for kind, where in objects)
            ]
            yield from (f"did you mean {each}?" for each in get_close_matches(name, like, 1))
