"""What is looked at, and how the fast way asks the exact one about a small part of it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any, Final

import orjson

from webhook.kubernetes.judge import Judge, walk
from webhook.kubernetes.values import Json

__all__ = ["Check", "Sight", "are", "checks_of", "exactly", "fields_are_clean", "is_known", "one_of"]


class Sight:
    """One value that is looked at, and what was seen in it by now.

    ``volumes`` are the names of the clean volumes, and ``ports`` the names and numbers that no two ports may have.
    """

    __slots__ = ("owner", "part", "ports", "volumes")

    def __init__(self, part: bool, owner: str) -> None:
        self.part, self.owner = part, owner
        self.volumes, self.ports = set[str](), set[Any]()


MOST: Final = 1024
LONGEST: Final = 1024
"""Small parts that are remembered, and bytes of the JSON of one."""
_clean: Final = set[bytes]()

Check = Callable[[Sight, Any], bool]
"""Whether the value of a field is clean."""


def fields_are_clean(sight: Sight, value: Json, checks: Mapping[str, Check]) -> bool:
    """Whether the fields are. One without a check is not looked at by any rule."""
    for key, item in value.items():
        check = checks.get(key)
        if check is not None and not check(sight, item):
            return False
    return True


def checks_of(names: Iterable[str], free: Collection[str], checks: Mapping[str, Check]) -> dict[str, Check]:
    """The checks of a type with these ``names``. No rule looks at ``free`` ones; others without a check are rare."""
    rare: dict[str, Check] = {name: _rare for name in names if name not in free}
    return {**rare, **checks}


def _rare(_: Sight, __: Any) -> bool:
    return False


def one_of(*values: str) -> Check:
    return lambda _, value: value in values


def exactly(kind: str, *keys: str) -> Check:
    """The exact rules of a type, for an object that has no other ``keys``."""
    known: Final = frozenset(keys)
    return lambda sight, value: value.keys() <= known and are(sight, kind, [value])


def are(sight: Sight, kind: str, values: list[Json]) -> bool:
    """Whether the exact rules of a type find nothing in any of the values. A file of the pod is rare."""
    return is_known(sight, kind, values, _judged)


def is_known(sight: Sight, kind: str, value: Any, judged: Callable[[Judge, str, Any], None]) -> bool:
    """Whether an exact rule finds nothing in a small part. The parts of a cluster are alike, so they are remembered."""
    key = orjson.dumps((kind, sight.part, value))
    if key in _clean:
        return True
    judge = Judge(part=sight.part, owner=sight.owner)
    judged(judge, kind, value)
    if judge.errors or judge.pod.files:
        return False
    if len(_clean) >= MOST:
        _clean.clear()
    if len(key) <= LONGEST:
        _clean.add(key)
    return True


def _judged(judge: Judge, kind: str, values: list[Json]) -> None:
    for value in values:
        walk(judge, kind, value, "[].")
