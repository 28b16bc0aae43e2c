"""What the operator makes otherwise of an object that is judged twice: fields of its children, by their paths."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from typing import Any, NamedTuple

from webhook.admission.stamp import ANNOTATION
from webhook.library.verdict import Verdict

_NOTHING = "nothing"


class ChildChange(NamedTuple):
    """A difference in one child, ``Deployment "a"``, of a ``kind``. Without a ``field`` it is made only once.

    ``before`` and ``after`` are values as JSON, or what a list of words loses and gets.
    """

    kind: str
    child: str
    field: str
    before: str
    after: str

    @property
    def text(self) -> str:
        return f"{self.child}: {f'{self.field}: ' if self.field else ''}{self.before} → {self.after}"


def made_otherwise(before: Verdict, after: Verdict) -> Iterator[ChildChange]:
    """The differences between what is made of an object in two judgements."""
    old, new = ({child.name: child.object for child in verdict.children} for verdict in (before, after))
    for name in dict.fromkeys((*old, *new)):
        kind = name.partition(" ")[0]
        if name in old and name in new:
            yield from _fields(kind, name, old[name], new[name])
        else:
            yield ChildChange(kind, name, "", *((_NOTHING, "made") if name in new else ("made", _NOTHING)))


def _fields(kind: str, name: str, old: Any, new: Any) -> Iterator[ChildChange]:
    was, will_be = dict(_leaves(old, "")), dict(_leaves(new, ""))
    for path in dict.fromkeys((*was, *will_be)):
        one, other = was.get(path), will_be.get(path)
        if one != other or (path in was) != (path in will_be):
            yield ChildChange(kind, name, path, *_texts(one, other, path in was, path in will_be))


def _leaves(value: Any, path: str) -> Iterator[tuple[str, Any]]:
    """The values by path, without empty maps and lists at keys, which say nothing. Items of a list with names go by
    them, and a list of words is one value.
    """
    if isinstance(value, dict) and value:
        for key, item in value.items():
            if key != ANNOTATION:
                yield from _leaves(item, f"{path}.{key}" if path else str(key))
    elif isinstance(value, list) and value and all(isinstance(item, dict) for item in value):
        names = [item.get("name") for item in value]
        is_named = len({*map(str, names)}) == len(names) and all(isinstance(name, str) for name in names)
        for place, item in enumerate(value):
            yield from _leaves(item, f"{path}[{names[place] if is_named else place}]")
    elif value not in ({}, []) or path.endswith("]"):
        yield path, value


def _texts(one: Any, other: Any, was: bool, will_be: bool) -> tuple[str, str]:
    if isinstance(one, list) and isinstance(other, list):
        old, new = Counter(map(str, one)), Counter(map(str, other))
        if old == new:
            return f"{len(one)} words", "the same in another order"
        return " ".join((old - new).elements()) or _NOTHING, " ".join((new - old).elements()) or _NOTHING
    return _json(one) if was else _NOTHING, _json(other) if will_be else _NOTHING


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
