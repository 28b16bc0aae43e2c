"""Whether mutants are what a mistake would make, and whether the tests of a room are run against them."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from tests.mutants.mutate import MODULE, mutants
from tests.mutants.run import KILLED, SURVIVED, UNREACHED, run

SOURCE = '''\
"""A room."""

NAMES = ("a", "b")


def first(texts: list[str], most: int = 3) -> str | None:
    """The first text that is a name."""
    for text in texts[:most]:
        if text in NAMES and text != "":
            return text
    return None


def unused(value: int) -> int:
    return value + 1
'''
TEST = """\
from {name} import NAMES, first


def test_first():
    assert first(["x", "a"]) == "a"
    assert first(["x"]) is None
    assert NAMES
"""


def changes(source: str, tmp_path: Path) -> list[str]:
    path = tmp_path / "room.py"
    path.write_text(source)
    return [f"{mutant.before} -> {mutant.after}" for mutant in mutants(path)]


@pytest.mark.parametrize(
    ("source", "wanted"),
    [
        ("x = a < b", ["a < b -> a <= b"]),
        ("x = a and b", ["a and b -> b", "a and b -> a"]),
        ("x = not a", ["not a -> a"]),
        ("x = f(a, key=b)", ["f(a, key=b) -> f(a)"]),
        ("x = (a, b)", ["(a, b) -> (b,)", "(a, b) -> (a,)"]),
        ("x = a if b else c", ["a if b else c -> a", "a if b else c -> c"]),
        ("x = {a}", []),
        ('x = "text"', []),
        ("x: int = 3", ["3 -> 4"]),
        ('__all__ = ["a"]', []),
        ("while a:\n    break", ["a -> False", "break -> continue"]),
        ("def f():\n    raise E", ["raise E -> pass"]),
        ("log.info(a == b)", []),
        ("x = dict[str, tuple[int, str]]()", []),
        ('def f():\n    return ""', []),
    ],
)
def test_one_thing_is_changed_at_a_time(source: str, wanted: list[str], tmp_path: Path) -> None:
    assert changes(source, tmp_path) == wanted


def test_every_mutant_can_be_compiled(tmp_path: Path) -> None:
    path = tmp_path / "room.py"
    path.write_text(Path(ast.__file__).read_text())
    for index, mutant in enumerate(mutants(path)):
        if index % 100 == 0:
            compile(mutant.tree(), str(path), "exec")


def test_what_a_function_has_as_default_is_of_the_statement_around_it(tmp_path: Path) -> None:
    path = tmp_path / "room.py"
    path.write_text(SOURCE)
    assert {mutant.function for mutant in mutants(path) if mutant.before == "3"} == {MODULE}


def test_mutants_of_functions_and_of_values_are_killed_or_survive(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = "room_of_a_test"
    path = tmp_path / f"{name}.py"
    path.write_text(SOURCE)
    (tmp_path / f"test_{name}.py").write_text(TEST.format(name=name))
    monkeypatch.syspath_prepend(str(tmp_path))
    verdicts: dict[str, str] = {}
    problem = run([*mutants(path)], [str(tmp_path)], lambda mutant, verdict: verdicts.update({mutant.after: verdict}))
    assert problem == ""
    assert verdicts["value - 1"] == UNREACHED
    assert verdicts["('b',)"] == KILLED
    assert verdicts["('a',)"] == SURVIVED
    assert verdicts["text not in NAMES"] == KILLED
    assert verdicts["text in NAMES"] == SURVIVED
