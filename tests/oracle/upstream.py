"""``python -m tests.oracle.upstream OLD NEW``: which test files behind our tables changed between two releases.

It downloads the modules of both from the Go module proxy and compares them. ``--diff`` prints the changes.
"""

from __future__ import annotations

import argparse
import difflib
import sys
from functools import cache
from pathlib import Path

from tests.conformance.tables import TABLES, name_of, read
from tests.e2e.machine import Unavailable
from tests.e2e.recipes import downloaded
from tests.oracle.build import CACHE


def main(argv: list[str] | None = None) -> int:
    """Compare the test files of two Kubernetes releases, OLD and NEW; print those that changed and their tables."""
    parser = argparse.ArgumentParser(prog="python -m tests.oracle.upstream", description=main.__doc__)
    parser.add_argument("old", metavar="OLD", help="a release, such as 1.37.2")
    parser.add_argument("new", metavar="NEW", help="another, such as 1.38.0")
    parser.add_argument("--diff", action="store_true", help="print what changed, too")
    options = parser.parse_args(argv)
    try:
        changed = [_compare(source, tables, options) for source, tables in sorted(sources().items())]
    except Unavailable as reason:
        sys.exit(f"upstream: {reason}")
    print(f"{sum(changed)} of {len(changed)} test files changed from {options.old} to {options.new}")
    return 0


def sources() -> dict[str, set[str]]:
    """Each test file of Kubernetes (``apiserver/pkg/…_test.go``), with the tables that have cases of it."""
    found: dict[str, set[str]] = {}
    for path in sorted(TABLES.glob("*.json.gz")):
        for case in read(path)["cases"]:
            if str(case.get("src", "")).endswith(".go"):
                found.setdefault(case["src"], set()).add(name_of(path))
    return found


def _compare(source: str, tables: set[str], options: argparse.Namespace) -> bool:
    old, new = (_text(source, release) for release in (options.old, options.new))
    if old == new:
        return False
    print(f"{source}: {'removed' if new is None else 'changed'}; tables {', '.join(sorted(tables))}")
    if options.diff:
        lines = ((old or "").splitlines(keepends=True), (new or "").splitlines(keepends=True))
        sys.stdout.writelines(difflib.unified_diff(*lines, f"{source} {options.old}", f"{source} {options.new}"))
    return True


@cache
def _folder(module: str, release: str) -> Path:
    return Path(downloaded(f"k8s.io/{module}@v0.{release.removeprefix('1.')}", CACHE / "upstream")["Dir"])


def _text(source: str, release: str) -> str | None:
    module, _, path = source.partition("/")
    file = _folder(module, release) / path
    return file.read_text() if file.exists() else None


if __name__ == "__main__":
    sys.exit(main())
