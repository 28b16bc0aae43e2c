"""``python -m tests.hostile.planted [ROW …]``: the test that a row of a document names fails where the claim is false.

``planted.yaml`` has a fault for each row of the threat model and each point of the checklist: a small change of the
product. Each fault is planted in a copy of the tree. The row's test must pass in the copy without the fault, and fail
with it, for the reason that the table gives.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from argparse import ArgumentParser
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import yaml

from tests.shared import ROOT, SHARED

__all__ = ["TABLE", "Fault", "Plain", "faults", "planted"]

TABLE: Final = Path(__file__).with_name("planted.yaml")

SECONDS: Final = 900
"""A test that takes longer hangs: the longest of the table, which start an API server, take about a minute."""

PLANE: Final = "MODELGATE_E2E"
"""Rows that need a real API server run where this is set to ``require``, and are skipped elsewhere."""

PASSED: Final = re.compile(r"^=* ?\d+ passed", re.MULTILINE)


class Plain(Exception):
    """A fault that cannot be planted; the text says why."""


@dataclass(frozen=True, slots=True)
class Fault:
    """A change of ``file``, from ``old`` to ``new``; ``shows`` matches what the row's ``test`` prints when it fails."""

    row: str
    fault: str
    test: str
    file: str
    old: str
    new: str
    shows: str
    plane: bool = False

    def __str__(self) -> str:
        return f"{self.row}: {self.fault}"

    def plant(self, tree: Path) -> None:
        """Change the file in a tree.

        Raises:
            Plain: the old text is not there exactly once.
        """
        path = tree / self.file
        path.write_text(planted(path.read_text(), self))


def planted(text: str, fault: Fault) -> str:
    """The text of a file with the fault in it.

    Raises:
        Plain: the old text is not there exactly once.
    """
    found = text.count(fault.old)
    if found != 1:
        raise Plain(f"{fault.file} has the old text {found} times: adapt {TABLE.name}")
    return text.replace(fault.old, fault.new)


def faults() -> list[Fault]:
    """All rows of the table."""
    return [Fault(**each) for each in yaml.safe_load(TABLE.read_text())]


@contextmanager
def copied() -> Iterator[Path]:
    """A copy of the tree, without what git ignores."""
    listing = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    found = subprocess.run(listing, cwd=ROOT, capture_output=True, check=True).stdout
    names = [name for name in os.fsdecode(found).split("\0") if name and os.path.lexists(ROOT / name)]
    with tempfile.TemporaryDirectory(prefix="modelgate-planted-") as folder:
        tree = Path(folder) / "clean"
        tree.mkdir()
        subprocess.run(["cp", "--archive", "--parents", f"--target-directory={tree}", *names], cwd=ROOT, check=True)
        yield tree


def outcome(clean: Path, fault: Fault) -> str:
    """What came of a fault: "noticed", "skipped: …", or "NOT NOTICED: …"."""
    if fault.plane and os.environ.get(PLANE) != "require":
        return f"skipped: needs a real API server, {PLANE}=require"
    code, text = run(clean, fault.test)
    if code or not PASSED.search(text):
        return f"NOT NOTICED: without the fault, the test does not pass\n{text}"
    tree = clean.with_name("planted")
    subprocess.run(["cp", "--archive", clean, tree], check=True)
    try:
        fault.plant(tree)
        return verdict(fault, *run(tree, fault.test))
    except Plain as why:
        return f"NOT NOTICED: {why}"
    finally:
        shutil.rmtree(tree)


def verdict(fault: Fault, code: int, text: str) -> str:
    if code == 0:
        return "NOT NOTICED: the test passes with the fault"
    if code != 1 or not re.search(fault.shows, text):
        return f'NOT NOTICED: the test does not fail with a match of "{fault.shows}"\n{text}'
    return "noticed"


def run(tree: Path, test: str) -> tuple[int, str]:
    """The exit code of pytest (1: a test has failed) and what it printed."""
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", "--hypothesis-profile=quick", test]
    paths = {"PYTHONPATH": str(tree), "MODELGATE_SHARED": str(SHARED)}
    try:
        done = subprocess.run(
            command, cwd=tree, env={**os.environ, **paths}, capture_output=True, text=True, timeout=SECONDS, check=False
        )
    except subprocess.TimeoutExpired:
        return -1, f"pytest had not ended after {SECONDS} s"
    return done.returncode, done.stdout + done.stderr


def main(argv: Sequence[str] | None = None) -> int:
    """Plant the faults of the rows, or of all; 1 if a test did not notice one."""
    table = faults()
    parser = ArgumentParser(prog="python -m tests.hostile.planted", description=__doc__)
    parser.add_argument("rows", nargs="*", metavar="ROW", help="such as threat-7 or point-22; all, if none is given")
    wanted = parser.parse_args(argv).rows
    if unknown := set(wanted) - {each.row for each in table}:
        parser.error(f"{TABLE.name} has no row {', '.join(sorted(unknown))}")
    missed = 0
    with copied() as clean:
        for each in table:
            if not wanted or each.row in wanted:
                found = outcome(clean, each)
                missed += found.startswith("NOT")
                print(f"{each}: {found}", flush=True)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
