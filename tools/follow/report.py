"""What a release changes against the one before it, as lines to print."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from tools.follow.definitions import Defined
from tools.follow.difference import Change, changes
from tools.follow.judged import Judge
from tools.follow.touched import touched
from tools.follow.watches import Turn

_FIELDS: Final = 60
"""Changes to show of one definition: types of Kubernetes have thousands of fields."""
_LINES: Final = 80
"""Lines to show of a function."""

_NONE: Final[dict[str, Any]] = {"spec": {"versions": []}}


@dataclass(frozen=True, slots=True)
class Step:
    """A release and the one before it: their names, and their definitions by name."""

    before: str
    release: str
    old: Mapping[str, Defined]
    new: Mapping[str, Defined]

    @property
    def changed(self) -> list[str]:
        """The names of the definitions that differ, be it in texts only."""
        digests = [{name: each.digest for name, each in found.items()} for found in (self.old, self.new)]
        return sorted({name for name, _ in digests[0].items() ^ digests[1].items()})

    def lines(self, judge: Judge, turns: Sequence[Turn], others: Sequence[str], *, again: bool) -> Iterator[str]:
        """All that is new; nothing if the release has the same definitions and functions.

        What changed in a function that was looked at is shown only ``again``. ``others`` are lines about functions that
        nothing watches.
        """
        changed = self.changed
        if not (turns or changed or others):
            return
        yield f"## {self.release}, after {self.before}"
        for name in changed:
            yield from self._of_definition(judge, name)
        for turn in turns:
            yield str(turn)
            if again or not turn.seen:
                yield from _first(turn.lines(), _LINES)
        yield from others
        yield from self._cases(judge)

    def _of_definition(self, judge: Judge, name: str) -> Iterator[str]:
        old, new = self.old.get(name), self.new.get(name)
        found = list(changes(old.value if old else _NONE, new.value if new else _NONE))
        present = new or old
        assert present is not None
        yield f"{name}{'' if old and new else ' is new' if new else ' is gone'} ({present.file})"
        if old and new:
            yield from _first((f"  {each}" for each in found), _FIELDS)
            yield f"  codes: {self._codes(judge, present, found)}"

    def _codes(self, judge: Judge, defined: Defined, found: Iterable[Change]) -> str:
        fields, kind = {each.keys for each in found}, defined.value["spec"]["names"]["kind"]
        catalogs = [judge.under(each) for each in (self.before, self.release)]
        codes = {code for catalog in catalogs for code in touched(catalog, judge.api, kind, fields)}
        return ", ".join(sorted(codes)) or "none reads these fields"

    def _cases(self, judge: Judge) -> Iterator[str]:
        before = judge.failing(self.before)
        new = {name: failure for name, failure in judge.failing(self.release).items() if name not in before}
        if new:
            yield f"cases that hold of {self.before}, and not of {self.release}:"
            yield from (f"  {name}: {failure}" for name, failure in new.items())


def _first(lines: Iterable[str], count: int) -> Iterator[str]:
    """The first lines, and how many more there are."""
    found = list(lines)
    yield from found[:count]
    if len(found) > count:
        yield f"  … {len(found) - count} more lines"
