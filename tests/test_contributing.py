"""The walk-throughs of CONTRIBUTING.md, done in a copy of the tree: each command gives what the page promises."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from textwrap import dedent

import pytest

from tests.shared import ROOT

PAGE = (ROOT / "CONTRIBUTING.md").read_text()
LEFT_OUT = shutil.ignore_patterns(".git", ".venv", ".*_cache", ".hypothesis", ".compiled", "build", "dist")
NARROWER = {
    "tests/policies/test_proofs.py tests/facts": "tests/facts -k 'llmkube and (password or path)'",
    ".venv/bin/pytest -q": ".venv/bin/pytest -q -p no:cacheprovider -k 'llmkube and (promised or password or path)'",
    "make docs": ".venv/bin/python -m tools.rules llmkube",
    "make check": "make --dry-run check",
    "-n 1000": "--help",
}
"""What is run instead, so that the walk takes seconds: the tests of the rule's API and the generator of its page."""


@dataclass(frozen=True)
class Command:
    """A command of the page, and the comment at its end or below it, which says what it does."""

    text: str
    promise: str


def section(heading: str) -> str:
    """The text below a heading, as far as the next one."""
    return re.split(r"^#+ ", PAGE.partition(f" {heading}\n")[2], maxsplit=1, flags=re.MULTILINE)[0]


def commands(text: str) -> Iterator[Command]:
    """The commands in the indented blocks of a section, in their order."""
    for block in re.findall(r"(?:^ {4}.*\n|^\n(?= {4}))+", text, re.MULTILINE):
        for command, after, below in re.findall(
            r"^((?:.*<<'EOF'\n(?:.*\n)*?EOF|(?:.*\\\n)*.*?))(?: +# (.*))?\n(?:# (.*)\n)?", dedent(block), re.MULTILINE
        ):
            if command.strip():
                yield Command(command, after or below)


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the tree, with the Python of these tests as its virtual environment, and one commit."""
    copy = tmp_path_factory.mktemp("newcomer") / "modelgate"
    shutil.copytree(ROOT, copy, ignore=LEFT_OUT, symlinks=True)
    (copy / ".venv").mkdir()
    for name in ("bin", "lib", "pyvenv.cfg"):
        (copy / ".venv" / name).symlink_to(Path(sys.prefix, name))
    (copy / ".venv" / ".ready").touch()
    run(copy, "git init -q . && git add . && git -c user.name=n -c user.email=n@example.com commit -qm first")
    return copy


def run(folder: Path, command: str, expected: int = 0) -> str:
    """What a command of the page prints."""
    for written, narrower in NARROWER.items():
        command = command.replace(written, narrower)
    given = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST", "GIT_", "MAKE"))}
    done = subprocess.run(
        ["bash", "-c", command],
        cwd=folder,
        env=given | {"PYTHONPATH": str(folder)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert done.returncode == expected, done.stdout
    return done.stdout


def write_the_rule(folder: Path) -> None:
    """The two edits of the walk-through: the rule and its cases."""
    for command in commands(section("A new rule in ten minutes")):
        if command.text.startswith("cat >> "):
            run(folder, command.text)


def follow(folder: Path, command: Command) -> str:
    """Run a command and compare what it prints with what the page promises."""
    promise = command.promise
    printed = run(folder, command.text, expected=int(promise.startswith("FAILED")))
    if promise == "passed":
        assert re.search(r"^\d+ passed", printed, re.MULTILINE), printed
    elif promise.startswith("nothing"):
        assert printed == ""
    elif "…" in promise:  # a line, of which the page omits parts
        line = ".*".join(map(re.escape, promise.split("…")))
        assert re.search(f"^{line}", printed, re.MULTILINE), printed
    return printed


def test_a_new_rule_is_made_as_the_page_says(checkout: Path) -> None:
    highest, *others = commands(section("A new rule in ten minutes"))
    printed = follow(checkout, highest)
    policies = "".join(path.read_text() for path in (checkout / "policies/llmkube").glob("*.yaml"))
    assert printed == f"{max(re.findall(r'code: LK3[0-9]+', policies))}\n"
    outputs = {command.text: follow(checkout, command) for command in others}
    promises = [re.match(r"\w+", command.promise) for command in others]
    assert [word[0] for word in promises if word] == ["nothing", "FAILED", "passed", "stdin"]
    shown = outputs[".venv/bin/modelgate rule LK338"]
    assert "The source is stored and logged as it is written." in shown
    assert "https://ann:secret@example.com/m.gguf" in shown
    assert "LK338" in (checkout / "docs/rules/llmkube.md").read_text()
    (undone,) = re.findall(r"`(git restore docs policies)`", section("A new rule in ten minutes"))
    assert run(checkout, f"{undone} && git status --porcelain") == ""


def test_a_fact_is_added_as_the_page_says(checkout: Path) -> None:
    """The rule of the walk-through reads the fact instead of the text."""
    page = section("Adding a fact")
    imported, function, row = re.findall(r"(?:^ {7}.*\n|^\n(?= {7}))+", page, re.MULTILINE)[0].split("\n\n")
    facts, policy = checkout / "webhook/facts/llmkube/facts.py", checkout / "policies/llmkube/model.yaml"
    text = facts.read_text()
    for place, added in (
        ("\nfrom webhook", f"\n{imported.strip()}\n"),
        ("\nFACTS: ", f"\n{dedent(function)}\n\n"),
        ('        "source": Fact(', f"        {row.strip()}\n"),
    ):
        before, found, after = text.partition(place)
        text = before + added + found + after
    facts.write_text(text)
    if "LK338" not in policy.read_text():
        write_the_rule(checkout)
    (rule,) = re.findall(r'`(rule: "!facts[^`]*)`', page)
    policy.write_text(re.sub(r"(code: LK338\n.*\n +)rule: .*", lambda found: found[1] + rule, policy.read_text()))
    run(checkout, ".venv/bin/python -m tools.inputs llmkube")
    assert "address" in (checkout / "webhook/facts/inputs.json").read_text()
    (tests,) = (command for command in commands(page.partition("4. **Test**")[2]))
    assert " passed" in run(checkout, tests.text)
    assert {"LK338", "address"} <= set(re.findall(r"LK338|address", run(checkout, "git diff policies webhook")))


def test_a_rule_is_shown_as_the_page_says(checkout: Path) -> None:
    page, source, cases, ways = commands(section("Debug a rule") + a_block_of("tests.fuzz.ways"))
    assert "LK205" in follow(checkout, page)
    assert "def " in follow(checkout, source)
    assert ", 0 failed" in follow(checkout, cases)
    follow(checkout, ways)


def a_block_of(module: str) -> str:
    """A command that stands in a sentence, as a block."""
    (command,) = set(re.findall(rf"`(\.venv/bin/python -m {re.escape(module)} [^`]*)`", PAGE))
    return f"\n    {command}\n"
