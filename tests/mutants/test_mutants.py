"""Whether mutants are what a mistake would make, and whether the tests of a room are run against them."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from tests.mutants import __main__ as command
from tests.mutants import publish as publishing
from tests.mutants.mutate import MODULE, mutants
from tests.mutants.publish import HEAD, MARKS, Figures, publish
from tests.mutants.run import KILLED, SURVIVED, UNREACHED, _is_anew, run
from tests.mutants.templates import template_mutants

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


def test_a_function_that_is_only_registered_is_exchanged_and_one_that_remembers_is_made_anew(tmp_path: Path) -> None:
    path = tmp_path / "room.py"
    path.write_text('@rule("a")\ndef a(x):\n    return x\n\n\n@cache\ndef b(x):\n    return x\n')
    assert [(mutant.function, _is_anew(mutant)) for mutant in mutants(path)] == [("a", False), ("b", True)]


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


def test_a_line_of_a_template_is_changed_one_thing_at_a_time_and_not_for_readers(tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    path.write_text(
        "{{- if $own }}\n  # a == b\n  message: a == b\n  operations: [CREATE, UPDATE]\n  a == b && c\n{{ end }}\n"
    )
    assert [(one.line, one.before, one.after) for one in template_mutants(path)] == [
        (1, "$own", "true"),
        (1, "$own", "false"),
        (4, "CREATE, UPDATE", "UPDATE"),
        (4, "CREATE, UPDATE", "CREATE"),
        (5, " == ", " != "),
        (5, " && ", " || "),
    ]
    (first, *_) = template_mutants(path)
    assert first.text == path.read_text().replace("$own", "true")


def test_mutants_that_are_written_the_same_have_names_of_their_own(tmp_path: Path) -> None:
    path = tmp_path / "room.py"
    path.write_text("x = a < b\ny = a < b\n")
    first, second = (mutant.name for mutant in mutants(path))
    assert second == f"{first} (2)"


def test_what_is_killed_is_not_tried_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    name = "room_that_is_kept"
    path = tmp_path / f"{name}.py"
    path.write_text(SOURCE)
    tests = tmp_path / f"test_{name}.py"
    tests.write_text(TEST.format(name=name))
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(command, "ROOMS", {"a": {"about": "a", "modules": [], "tests": [str(tests)]}})
    monkeypatch.setattr(command, "_mutants", lambda _room: mutants(path))
    kept = tmp_path / "kept"
    monkeypatch.setattr("sys.argv", ["mutants", "a", f"--kept={kept}", "--jobs=1"])
    assert command.main() == 1
    once, lines = capsys.readouterr().out, kept.read_text().splitlines()
    assert command.main() == 1
    assert capsys.readouterr().out.splitlines()[-1] == once.splitlines()[-1]
    survived = [line for line in lines if not line.endswith(f'"{KILLED}"]')]
    assert kept.read_text().splitlines()[len(lines) :] == survived


def test_the_row_of_a_room_replaces_the_one_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = tmp_path / "page.md"
    page.write_text(f"before\n{MARKS[0]}{MARKS[1]}after\n")
    monkeypatch.setattr(publishing, "PAGE", page)
    for figures in (Figures("a", 9, 9, 1, 1), Figures("b", 9, 4, 3, 1), Figures("a", 9, 9, 8, 1)):
        publish(figures, "words", 7)
    rows = ["| `a` | words | 9 | 9 | 8 | 1 | 0 | 100.0 % |", "| `b` | words | 9 | 4 (seed 7) | 3 | 1 | 0 | 100.0 % |"]
    assert page.read_text() == f"before\n{MARKS[0]}\n" + "\n".join([*HEAD, *rows]) + f"\n\n{MARKS[1]}after\n"
