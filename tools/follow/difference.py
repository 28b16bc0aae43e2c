"""What one form of a definition changes against the form before it, field by field, with the texts."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import takewhile
from typing import Any, Final

from tools.statements import Keys, statements
from webhook.policy import Path

Definition = Mapping[str, Any]

_TEXT: Final = "description"
_MISSING: Final = object()
_NEAR: Final = 6
"""Words of what two texts have in common, to find the place in them."""


@dataclass(frozen=True, slots=True)
class Change:
    """A node that is ``added`` or ``removed``, or of which one ``keyword`` changed; ``version`` is that of the API."""

    version: str
    keys: Keys
    sort: str
    keyword: str = ""
    before: Any = _MISSING
    after: Any = _MISSING

    def __str__(self) -> str:
        name = str(Path(self.keys)) or "the object"
        if self.sort == "changed":
            before, after = _cut(_shown(self.before), _shown(self.after))
            return f"~ {name} {self.keyword}: {before} → {after}"
        node = self.after if self.sort == "added" else self.before
        stated = ", ".join(f"{key} {_shown(value)}" for key, value in node.items() if key not in ("type", _TEXT))
        head = f"{'+' if self.sort == 'added' else '-'} {name} ({node.get('type', 'any type')})"
        return head + (f", {stated}" if stated else "") + (f": {_shown(node[_TEXT])}" if _TEXT in node else "")


def changes(before: Definition, after: Definition) -> Iterator[Change]:
    """The changes of all versions; a version that only one of them has is its schema added or removed."""
    old, new = _versions(before), _versions(after)
    for version in sorted(old.keys() | new.keys()):
        yield from _of_version(version, old.get(version, {}), new.get(version, {}))


def _versions(definition: Definition) -> dict[str, dict[Keys, dict[str, Any]]]:
    found = {}
    for version in definition["spec"]["versions"]:
        schema = version.get("schema") or {}
        found[version["name"]] = dict(statements(schema.get("openAPIV3Schema") or {}))
    return found


def _of_version(version: str, old: dict[Keys, dict[str, Any]], new: dict[Keys, dict[str, Any]]) -> Iterator[Change]:
    for keys in sorted(old.keys() | new.keys()):
        if keys not in old:
            yield Change(version, keys, "added", after=new[keys])
        elif keys not in new:
            yield Change(version, keys, "removed", before=old[keys])
        else:
            yield from _of_node(version, keys, old[keys], new[keys])


def _of_node(version: str, keys: Keys, old: dict[str, Any], new: dict[str, Any]) -> Iterator[Change]:
    for keyword in sorted(old.keys() | new.keys()):
        before, after = old.get(keyword, _MISSING), new.get(keyword, _MISSING)
        if before != after:
            yield Change(version, keys, "changed", keyword, before, after)


def _shown(value: Any) -> str:
    if value is _MISSING:
        return "not stated"
    return json.dumps(" ".join(value.split()) if isinstance(value, str) else value, ensure_ascii=False)


def _cut(before: str, after: str) -> tuple[str, str]:
    """Both texts, with a few words of what they have in common at the start and at the end."""
    one, other = before.split(" "), after.split(" ")
    start = _common(one, other)
    end = _common(one[start:][::-1], other[start:][::-1])
    return _around(one, start, end), _around(other, start, end)


def _common(one: list[str], other: list[str]) -> int:
    """How many words both start with."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))


def _around(words: list[str], start: int, end: int) -> str:
    first, last = max(0, start - _NEAR), min(len(words), len(words) - end + _NEAR)
    return " ".join([*(["…"] if first else []), *words[first:last], *(["…"] if last < len(words) else [])])
