"""Each measure finds a fault that is planted in a small tree, and a number only falls."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.house import floors, numbers
from tests.house.measures import MEASURES
from tests.house.tree import House

PYPROJECT = """
[[tool.importlinter.contracts]]
type = "layers"
containers = ["webhook"]
layers = ["cli", "engine : facts", "ground"]
"""
FROZEN = "from dataclasses import dataclass, field\n@dataclass(frozen=True, slots=True)\nclass Value:\n"
WAYS = "## Which decisions\n\n| decision | generated | exact |\n|---|---|---|\n| pods | {} | all rules |\n\nWithout it"
CLEAN = {
    "pyproject.toml": PYPROJECT,
    "webhook/__init__.py": "",
    "webhook/ground/__init__.py": "class Frame:\n    pass\n",
    "webhook/engine/__init__.py": "from webhook.ground import Frame\n",
    "webhook/facts/__init__.py": "def fact(request, view, catalog): ...\n",
    "webhook/cli/__init__.py": "from webhook.engine import Frame\n",
    "modelgate/__init__.py": "from webhook.cli import Frame\n",
    "docs/ways.md": WAYS.format("one function (`webhook/engine`)"),
}


def made(root: Path, *changes: tuple[str, str]) -> House:
    """A tree of three floors without a fault, in which some files are others."""
    for path, text in (CLEAN | dict(changes)).items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    return House(root, faces={"webhook.engine": {"webhook.engine.review": "a door"}} if changes else {})


def places(house: House, name: str) -> list[str]:
    (measure,) = (measure for measure in MEASURES if measure.name == name)
    return [place for places in measure.of(house).values() for place in places]


@pytest.mark.parametrize(
    "measure", [each for each in MEASURES if each.name != "lines"], ids=lambda measure: measure.name
)
def test_a_clean_tree_has_nothing(tmp_path, measure):
    assert measure.numbers(made(tmp_path)) == {}


@pytest.mark.parametrize(
    ("name", "path", "text", "place"),
    [
        ("arrows_up", "webhook/ground/a.py", "from webhook.engine import Frame\n", "imports webhook.engine"),
        ("arrows_up", "webhook/engine/a.py", "def f():\n    import webhook.cli\n", "imports webhook.cli"),
        ("arrows_up", "webhook/cli/a.py", "import modelgate\n", "imports modelgate"),
        (
            "arrows_up",
            "webhook/facts/a.py",
            "if TYPE_CHECKING:\n    from webhook.cli import f\n",
            "imports webhook.cli",
        ),
        ("arrows_up", "webhook/attic/a.py", "import webhook.ground\n", "is on no floor"),
        ("circles", "webhook/ground/__init__.py", "import webhook.engine\n", "webhook.engine → webhook.ground"),
        ("doors", "webhook/engine/review.py", "", "webhook.engine.review"),
        (
            "mutable_cells",
            "webhook/engine/a.py",
            f"{FROZEN}    seen: dict = field(init=False, default_factory=dict)\n",
            "memo",
        ),
        (
            "mutable_cells",
            "webhook/engine/a.py",
            f"{FROZEN}    a: int\n    @cached_property\n    def b(self): ...\n",
            "cached_property",
        ),
        (
            "mutable_cells",
            "webhook/engine/a.py",
            f"{FROZEN}    a: dict\n    def b(self):\n        self.a[1] = 2\n",
            "changes self.a",
        ),
        (
            "mutable_cells",
            "webhook/engine/a.py",
            f"{FROZEN}    a: list\n    def b(self):\n        self.a.append(2)\n",
            "changes self.a",
        ),
        (
            "mutable_cells",
            "webhook/engine/a.py",
            f"{FROZEN}    a: int\n    def b(self):\n        object.__setattr__(self, 'a', 2)\n",
            "sets an attribute",
        ),
        (
            "mutable_cells",
            "webhook/engine/a.py",
            f"{FROZEN}    rows: list[int]\ndef f(value):\n    value.rows.append(1)\n",
            "grows",
        ),
        (
            "mutable_cells",
            "webhook/engine/a.py",
            "class Value(NamedTuple):\n    a: set\n    def b(self):\n        self.a.add(1)\n",
            "changes self.a",
        ),
        (
            "shared_class_names",
            "webhook/engine/a.py",
            "class Frame:\n    pass\n",
            "Frame: webhook.engine.a, webhook.ground",
        ),
        (
            "parts_of_a_review",
            "webhook/engine/a.py",
            "def f(known, request, *, view, options): ...\n",
            "f takes kind, options",
        ),
        ("private_words", "webhook/engine/a.py", "found = 1\n", "found"),
        ("private_words", "webhook/engine/a.py", "def f(each): ...\n", "each"),
        ("private_words", "webhook/engine/a.py", "x.told = 1\n", "told"),
        ("private_words", "webhook/engine/a.py", "[1 for known in ()]\n", "known"),
        ("handwritten_twins", "docs/ways.md", WAYS.format("a look, which is not generated"), "not generated"),
        ("handwritten_twins", "docs/ways.md", WAYS.format("one pass (`webhook/gone`)"), "there is no webhook/gone"),
    ],
)
def test_a_planted_fault_is_found(tmp_path, name, path, text, place):
    hits = places(made(tmp_path, (path, text)), name)
    assert [hit for hit in hits if place in hit], hits


@pytest.mark.parametrize(
    "text",
    [
        f"{FROZEN}    a: int\n    def __post_init__(self):\n        object.__setattr__(self, 'a', 2)\n",
        f"{FROZEN}    a: dict\n    def b(self):\n        copy = dict(self.a)\n        copy[1] = 2\n",
        f"{FROZEN}    a: int = field(init=False)\n",
        "class Open:\n    def __init__(self):\n        self.rows = []\n    def f(self):\n        self.rows.append(1)\n",
    ],
)
def test_what_is_made_with_a_value_is_not_a_cell(tmp_path, text):
    assert places(made(tmp_path, ("webhook/engine/a.py", text)), "mutable_cells") == []


def test_lines_are_counted_by_room(tmp_path):
    (lines,) = (measure for measure in MEASURES if measure.name == "lines")
    assert lines.numbers(made(tmp_path))["webhook.ground"] == 2


def test_floors_are_read_from_the_lowest(tmp_path):
    page = "| floor | package |\n|---|---|\n| 2 | `webhook/engine` | a |\n| 1 | `webhook/ground` | b |\n"
    house = made(tmp_path, (floors.PAGE, page))
    assert floors.of_page(house) == [{"webhook.ground"}, {"webhook.engine"}]
    assert floors.contracts(house) == [{"webhook.ground"}, {"webhook.engine", "webhook.facts"}, {"webhook.cli"}]


@pytest.fixture
def words(tmp_path) -> House:
    return made(tmp_path, ("webhook/engine/a.py", "found = 1\ntold = 2\n"))


def of(house: House, number: int) -> tuple[list[str], list[str], dict[str, int]]:
    """What is said where the number of names in the engine is ``number``, and the number that is written then."""
    (measure,) = (measure for measure in MEASURES if measure.name == "private_words")
    allowed = {measure.name: {"webhook.engine": number}}
    high, stale = numbers.too_high(measure, house, allowed), numbers.stale(measure, house, allowed)
    return [*high], [*stale], numbers.lowered(house, allowed)[measure.name]


def test_a_measure_above_its_number_says_what_to_do(words):
    (text,), stale, written = of(words, 1)
    assert text.startswith("webhook.engine: 2 names that say nothing")
    assert "Lower it, or raise the number in numbers.yaml with a reason in the commit" in text
    assert (stale, written) == ([], {"webhook.engine": 1})


def test_a_number_above_its_measure_must_be_lowered(words):
    high, (text,), written = of(words, 3)
    assert "run `python -m tests.house --lower`" in text
    assert (high, written) == ([], {"webhook.engine": 2})


def test_a_number_that_is_met_stays(words):
    assert of(words, 2) == ([], [], {"webhook.engine": 2})


def test_a_room_without_a_number_may_have_nothing(words):
    (measure,) = (measure for measure in MEASURES if measure.name == "private_words")
    assert len([*numbers.too_high(measure, words, {})]) == 1
    assert numbers.lowered(words, {measure.name: {}})[measure.name] == {}


def test_numbers_are_written_and_read_again(tmp_path, words):
    file = tmp_path / "numbers.yaml"
    numbers.write(numbers.lowered(words, {}), file)
    assert numbers.read(file)["private_words"] == {"webhook.engine": 2}
    assert file.read_text().startswith("# What each room may have")
