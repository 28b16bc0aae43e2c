"""docs/cel.md: its examples run, and its tables name what exists."""

import re
from pathlib import Path

import webhook.cel
from tests.library.pages import differences
from webhook.cel import COMPATIBLE, LATEST
from webhook.cel.library.registry import LIBRARIES
from webhook.cel.library.strings import JSON_PATCH, SHOWN
from webhook.cli import main

ROOT = Path(__file__).parents[2]
CEL = Path(webhook.cel.__file__).parent
PAGE = (ROOT / "docs" / "cel.md").read_text()


def rows(heading):
    """The cells of the first table below a heading."""
    section = PAGE.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    lines = [line for line in section.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in lines[2:]]


def words(cell):
    return re.findall(r"`([^`]+)`", cell)


def test_the_python_examples_are_true():
    count, said = differences(ROOT / "docs" / "cel.md")
    assert said == ""
    assert count >= 40


def test_the_shell_example_is_true(capsys):
    ((command, shown),) = re.findall(r"```console\n\$ modelgate (.*?)\n(.*?)```", PAGE, re.DOTALL)
    assert main(command.split()) == 0
    assert capsys.readouterr().out.startswith(shown)


def test_the_page_has_every_room():
    rooms = {path.parent.name for path in CEL.glob("*/__init__.py")}
    assert {words(cells[0])[0] for cells in rows("The rooms")} == rooms


def test_the_page_has_every_library_with_its_version_and_its_functions():
    table = rows("Libraries")
    assert [(name, since) for name, since, *_ in table] == [
        (each.name, ".".join(map(str, each.since)) + (" to 1.28" if each.until == (1, 29) else ""))
        for each in LIBRARIES
    ]
    for library, (_, _, modules, functions) in zip(LIBRARIES, table, strict=True):
        assert all((CEL / "library" / f"{module}.py").is_file() for module in words(modules))
        if "macros" not in functions:
            own = {overload.function for overload in library.overloads}
            assert [name for name in words(functions) if name not in own] == []
    assert [overload.function for overload in JSON_PATCH] == ["jsonpatch.escapeKey"]
    assert [overload.function for overload in SHOWN] == ["shown"]


def test_the_page_has_the_versions():
    assert f"implemented ({LATEST[0]}.{LATEST[1]})" in PAGE
    assert (COMPATIBLE[0], COMPATIBLE[1] + 1) == LATEST


def test_the_files_that_the_page_names_exist():
    paths = set(re.findall(r"`((?:webhook|tests)/[\w/]+\.\w+)`", PAGE))
    paths |= {f"webhook/cel/{path}" for path in re.findall(r"`((?:\w+/)?\w+\.py)`", PAGE)}
    assert len(paths) >= 8
    assert [path for path in sorted(paths) if not (ROOT / path).is_file()] == []
