"""The ids of the rules in a specification, and the file with the answer to each."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError

ANSWERS: Final = Path(__file__).parents[2] / "docs" / "spec"

_HEADING = re.compile(r"(#+) (?:(\d+(?:\.\d+)*)\.? )?([^:(—]*)")
_CELL = re.compile(r"\| *\**([A-Z]{1,2}-?[A-Z]?\d+|\d+[a-z]?|W)\**(?: `\[\w+\]`)? *\|")
_FACT = re.compile(r"\{id: (\w+),")
_ITEM = re.compile(r"(\d+)\. ")
_POINT = re.compile(r"[-*] ")
_PART = re.compile(r" {2,4}([a-z])\. ")
_RANGE = re.compile(r"(.*?)(\d+)\.\.(\d+)")


class Answer(BaseModel):
    """The answer to a rule: codes, fields of a CRD, facts and tests, or the reason for having none."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    codes: tuple[str, ...] = ()
    crd: tuple[str, ...] = ()
    facts: tuple[str, ...] = ()
    tests: tuple[str, ...] = ()
    why_not: str = Field("", alias="not")
    note: str = ""


@dataclass(slots=True)
class Specification:
    """``sections`` are all headings; ``rules`` maps each id to the headings above it, its own included."""

    sections: set[str] = field(default_factory=set)
    rules: dict[str, tuple[str, ...]] = field(default_factory=dict)


def answers(path: Path) -> dict[str, Answer]:
    """Id → answer; ranges such as ``OM-V1..9`` are expanded.

    Raises:
        ValueError: an id is answered twice, or an answer is empty.
    """
    found: dict[str, Answer] = {}
    for key, value in (yaml.safe_load(path.read_text()) or {}).items():
        try:
            answer = Answer.model_validate(value)
        except ValidationError as error:
            raise ValueError(f"{path.name}: {key}: {error}") from None
        if not (answer.codes or answer.crd or answer.facts or answer.tests or answer.why_not):
            raise ValueError(f"{path.name}: {key} has no answer")
        for each in _expanded(str(key)):
            if each in found:
                raise ValueError(f"{path.name}: {each} is answered twice")
            tests = tuple(test.replace("{id}", each) for test in answer.tests)
            found[each] = answer.model_copy(update={"tests": tests})
    return found


def _expanded(key: str) -> Iterator[str]:
    match = _RANGE.fullmatch(key)
    if not match:
        yield key
        return
    head, first, last = match.groups()
    yield from (f"{head}{number:0{len(first)}}" for number in range(int(first), int(last) + 1))


def unanswered(specification: Specification, found: dict[str, Answer]) -> set[str]:
    """The rules without an answer; the reason of a section covers all rules below it."""
    silent = {key for key, answer in found.items() if answer.why_not and not answer.codes}
    return {rule for rule, above in specification.rules.items() if rule not in found and not silent & {*above}}


def read_specification(text: str) -> Specification:
    """Find the ids of rules.

    - ``§2.3`` or, without a number, ``§Corrections``: a section with its own sentences,
    - ``§2.3#4``: its list item or table row with the number 4, or a fact with this id; ``§2.3#4a`` below it,
    - ``§2.3 row 4``: the fourth row of its tables, if the row has no number,
    - ``§2.3 point 4``: its fourth list item without a number,
    - ``OM-V1``, ``E07``: an item with an id of letters and digits.
    """
    return _Reader().read(text)


class _Reader:
    def __init__(self) -> None:
        self.found = Specification()
        self.above: list[tuple[int, str]] = []
        self.rows = 0
        self.points = 0
        self.number = ""
        self.fenced = False

    def read(self, text: str) -> Specification:
        lines = text.splitlines()
        for line, following in zip(lines, [*lines[1:], ""], strict=True):
            if line.startswith("```"):
                self.fenced = not self.fenced
            elif self.fenced or _FACT.search(line):
                self._facts(line)
            elif line.startswith("#"):
                self._heading(line)
            elif line.startswith("|"):
                self._row(line, header=following.startswith("|--"))
            elif line.strip() and not set(line) <= {"-"}:
                self._sentence(line)
        return self.found

    def _add(self, rule: str) -> None:
        if self.above:
            self.found.rules.setdefault(rule, tuple(name for _, name in self.above))

    @property
    def _section(self) -> str:
        return self.above[-1][1] if self.above else ""

    def _heading(self, line: str) -> None:
        match = _HEADING.match(line)
        assert match
        level = len(match[1])
        self.above = [(depth, name) for depth, name in self.above if depth < level]
        if level > 1:
            self.above.append((level, "§" + (match[2] or match[3].strip())))
            self.found.sections.add(self._section)
        self.rows, self.points, self.number = 0, 0, ""

    def _facts(self, line: str) -> None:
        for fact in _FACT.findall(line):
            self._add(f"{self._section}#{fact}" if fact.isdigit() else fact)

    def _row(self, line: str, *, header: bool) -> None:
        if header or line.startswith("|--"):
            return
        self.rows += 1
        cell = _CELL.match(line)
        if not cell:
            self._add(f"{self._section} row {self.rows}")
        elif cell[1][0].isdigit() or cell[1] == "W":
            self._add(f"{self._section}#{cell[1]}")
        else:
            self._add(cell[1])

    def _sentence(self, line: str) -> None:
        item, part = _ITEM.match(line), _PART.match(line)
        if item:
            self.number = item[1]
            self._add(f"{self._section}#{self.number}")
            self._rest_of_the_line(line)
        elif part and self.number:
            self._add(f"{self._section}#{self.number}{part[1]}")
        elif _POINT.match(line):
            self.points += 1
            self._add(f"{self._section} point {self.points}")
        elif not line.startswith("  "):
            self._add(self._section)

    def _rest_of_the_line(self, line: str) -> None:
        """Further items of a list on one line."""
        while (at := line.find(f" {int(self.number) + 1}. ")) >= 0:
            line, self.number = line[at + 1 :], str(int(self.number) + 1)
            self._add(f"{self._section}#{self.number}")
