"""`modelgate test`: run tables of cases, ours or one's own."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path

from webhook import catalog, documents
from webhook.cases import CasesDocument, parse_cases
from webhook.cases import run as run_case
from webhook.catalog import Catalog
from webhook.errors import DocumentError, Problem
from webhook.request import GroupVersionKind

__all__ = ["add_parser", "read_cases", "run"]


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(
        "test",
        help="run tables of cases",
        description="Run the cases of a folder of APIs, laid out as policies/ is: <api>/crds/*.yaml, "
        "<api>/<kind>.yaml, <api>/cases/<kind>.yaml. Without a folder: the policies that are installed. "
        "Exit code 0: all cases are as expected; 1: some are not, or there is none; 2: something could not be read.",
    )
    parser.add_argument("folder", nargs="?", type=Path, metavar="DIR", help="a folder of APIs")


def run(options: argparse.Namespace) -> int:
    root: Traversable = options.folder or files("policies")
    loaded = catalog.load(options.folder)
    passed = failed = 0
    for document in read_cases(root, loaded):
        target = document.target
        known = loaded.find(GroupVersionKind(target.group, target.version, target.kind))
        assert known is not None  # read_cases has seen to it
        for case in document.cases:
            failures = run_case(case, known, loaded).failures
            passed, failed = passed + (not failures), failed + bool(failures)
            if failures:
                print(f"FAILED {target.kind}: {case.name}")
                print(*(f"  {failure}" for failure in failures), sep="\n")
    print(f"{passed} passed, {failed} failed")
    return 0 if passed and not failed else 1


def read_cases(root: Traversable, loaded: Catalog) -> Iterator[CasesDocument]:
    """Every document of cases below a folder of APIs.

    Raises:
        DocumentError: one that does not fit the model, or speaks of a kind that no CRD serves.
    """
    for folder in sorted(root.iterdir(), key=lambda item: item.name):
        cases = folder.joinpath("cases")
        for file in sorted(cases.iterdir(), key=lambda item: item.name) if cases.is_dir() else ():
            name = f"{folder.name}/cases/{file.name}"
            for document in documents.parse(file.read_text(encoding="utf-8"), name):
                found = parse_cases(document)
                target = GroupVersionKind(found.target.group, found.target.version, found.target.kind)
                if loaded.find(target) is None:
                    raise DocumentError([Problem(f"{name}:{document.line}", "target", f"no CRD serves {target}")])
                yield found
