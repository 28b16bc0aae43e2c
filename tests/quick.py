"""`make quick`: the tests of the packages that a change touches.

`tests/` mirrors the packages, so the path of a changed file names its tests.
"""

import os
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path, PurePosixPath

from tests.laws import QUICK

ROOT = Path(__file__).parents[1]
ALWAYS = ("tests/house", "tests/test_faces.py", "tests/test_imports.py")
PACKAGES = ("certs", "reconciler", "tools", "chart", "policies")  # whose tests are in tests/<package>
TEXTS = ("tests/test_plain_english.py", "tests/tools/test_readme.py")
"""The tests of pages and of the files that the pages name."""


def mirrored(changed: str) -> tuple[str, ...]:
    """Return the tests of a changed file. Paths are relative to the root, with slashes; a path may not exist."""
    path = PurePosixPath(changed)
    match path.parts:
        case ("webhook", package, _, *_):
            return (f"tests/{package}",)
        case ("tests", *_, name) if name.startswith("test_") and name.endswith(".py"):
            return (changed,)
        case ("tests", package, _, *_):
            return (f"tests/{package}",)
        case ("tests", name) if name.endswith(".py"):
            return (f"tests/test_{name}",)
        case (package, _, *_) if package in PACKAGES:
            return (f"tests/{package}",)
        case _:
            return TEXTS if path.suffix == ".md" or path.name == "Makefile" else ()


def selection(changed: Iterable[str], left_out: Iterable[str]) -> list[str]:
    """Return what pytest has to run: each test once, without what is missing or what `make check` leaves out."""
    slow = [PurePosixPath(path) for path in left_out]
    wanted = {test for path in changed for test in mirrored(path)} | set(ALWAYS)
    fast = (test for test in wanted if not any(PurePosixPath(test).is_relative_to(path) for path in slow))
    there = {test for test in fast if (ROOT / test).exists()}
    return sorted(test for test in there if not any(str(parent) in there for parent in PurePosixPath(test).parents))


def git(*arguments: str) -> list[str]:
    answer = subprocess.run(["git", "-C", ROOT, *arguments], capture_output=True, text=True, check=False)
    return answer.stdout.splitlines() if answer.returncode == 0 else []


def changed_files() -> list[str]:
    """Return the files that differ from where this branch left the default branch, untracked files too.

    On the default branch itself, and without a default branch, the last commit counts.
    """
    head = git("rev-parse", "HEAD")
    bases = (git("merge-base", "HEAD", name) for name in ("origin/HEAD", "origin/main", "main", "master"))
    base = next((commit for commit in bases if commit and commit != head), ["HEAD~"])[0]
    return git("diff", "--name-only", "--no-renames", base) + git("ls-files", "--others", "--exclude-standard")


def main(left_out: list[str]) -> None:
    tests = selection(changed_files(), left_out)
    print("tests of the change:", *tests, flush=True)
    ignored = [f"--ignore={path}" for path in left_out]
    command = ["-m", "pytest", "-q", "-n", "auto", f"--hypothesis-profile={QUICK}", *ignored, *tests]
    os.chdir(ROOT)
    os.execv(sys.executable, [sys.executable, *command])


if __name__ == "__main__":
    main(sys.argv[1:])
