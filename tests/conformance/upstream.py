"""The recorded answers of upstream's own webhooks: cases with their cluster, and the list of meant differences."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import Any

import yaml

__all__ = ["Difference", "difference_for", "upstream_cases"]

HERE = Path(__file__).parent


def upstream_cases(document: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Each case with ``op`` and ``view``, all objects that exist: those it names, and the old object."""
    objects, groups = document["objects"], document["groups"]

    def view(case: Mapping[str, Any]) -> list[dict[str, Any]]:
        names = [name for each in case["cluster"] for name in groups.get(each, [each])]
        old = case.get("oldObject")
        return [*(objects[name] for name in names), *([old] if old else [])]

    return [{**case, "op": f"upstream-{case['api']}", "view": view(case)} for case in document["cases"]]


@dataclass(frozen=True, slots=True)
class Difference:
    """Cases that we answer otherwise than upstream, and how.

    ``ids`` are patterns; ``operation``, ``denied_by`` and ``message`` (a part of it) narrow them.
    Ours then is ``allowed`` and each of ``causes`` is part of a cause; ``object`` says that the
    stored object differs at these paths only.
    """

    ids: tuple[str, ...]
    reason: str
    allowed: bool
    causes: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()
    operation: str = ""
    denied_by: str = ""
    message: str = ""

    def covers(self, case: Mapping[str, Any]) -> bool:
        return (
            any(fnmatchcase(case["id"], pattern) for pattern in self.ids)
            and self.operation in {"", case["operation"]}
            and self.denied_by in (case["deniedBy"] or "")
            and self.message in case["expect"]["message"]
        )


def difference_for(case: Mapping[str, Any]) -> Difference | None:
    """The first entry of the list that covers a case."""
    return next((each for each in _differences() if each.covers(case)), None)


@cache
def _differences() -> tuple[Difference, ...]:
    entries = yaml.safe_load(HERE.joinpath("differences.yaml").read_text())
    lists = ("ids", "causes", "paths")
    return tuple(Difference(**{key: tuple(v) if key in lists else v for key, v in each.items()}) for each in entries)


def in_upstreams_words(theirs: str, ours: str) -> bool:
    """Whether our message has upstream's words, and behind them only what to write instead."""
    _, found, after = ours.partition(theirs)
    return bool(found) and (not after or after.startswith(("; ", ": ")))
