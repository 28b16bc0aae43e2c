"""`modelgate test`: run test cases of policies, and Kyverno tests of native policies."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator, Sequence
from importlib.resources import files
from importlib.resources.abc import Traversable
from itertools import chain
from pathlib import Path

from webhook.admission.errors import DocumentError, LoadError, Problem
from webhook.admission.request import GroupVersionKind
from webhook.cli import kyverno
from webhook.cli.cases import CasesDocument, parse_cases
from webhook.cli.cases import run as run_case
from webhook.cli.output import say
from webhook.engine import catalog
from webhook.engine.catalog import KYVERNO_TEST, Catalog
from webhook.manifests import documents
from webhook.manifests.folders import entries

__all__ = ["add_parser", "read_cases", "run"]

TitledFailures = tuple[str, Sequence[str]]
"""The title of a case, and its failures."""


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(
        "test",
        help="run test cases of policies",
        description="Run the cases of a folder of APIs, laid out as policies/: <api>/crds/*.yaml, <api>/<kind>.yaml, "
        "<api>/cases/<kind>.yaml; and every kyverno-test.yaml below the folder whose policies are "
        "ValidatingAdmissionPolicies or MutatingAdmissionPolicies. Default: the built-in policies. "
        "Exit code 0: all cases pass; 1: a case fails, or no case is found; 2: a file cannot be read.",
    )
    parser.add_argument("folder", nargs="?", type=Path, metavar="DIR", help="folder of APIs")


def run(options: argparse.Namespace) -> int:
    tests = sorted(options.folder.rglob(KYVERNO_TEST)) if options.folder else []
    passed = failed = 0
    problems: list[Problem] = []
    for title, failures in chain(_of_apis(options.folder, tests), _of_kyverno(options.folder, tests, problems)):
        passed, failed = passed + (not failures), failed + bool(failures)
        if failures:
            say(f"FAILED {title}")
            for failure in failures:
                say(f"  {failure}")
    print(f"{passed} passed, {failed} failed")
    if problems:
        raise DocumentError(problems)
    return 0 if passed and not failed else 1


def _of_apis(folder: Path | None, tests: Sequence[Path]) -> Iterator[TitledFailures]:
    """Run tables of cases; a folder with Kyverno tests need not contain an API."""
    if folder is not None and tests and not any(folder.glob("*/crds")):
        return
    loaded = catalog.load(folder)
    for document in read_cases(entries(folder or files("policies")), loaded):
        target = document.target
        known = loaded.find(GroupVersionKind(target.group, target.version, target.kind))
        assert known is not None  # read_cases checks it
        for case in document.cases:
            yield f"{target.kind}: {case.name}", run_case(case, known, loaded).failures


def _of_kyverno(folder: Path, tests: Iterable[Path], problems: list[Problem]) -> Iterator[TitledFailures]:
    """Run Kyverno tests; a test that cannot be read is added to ``problems``, and the others still run."""
    for file in tests:
        try:
            outcomes = kyverno.run(file)
        except LoadError as error:
            problems += error.problems
            continue
        for outcome in outcomes:
            reason = f": {outcome.message}" if outcome.message else ""
            failure = f"expected {outcome.expected}, got {outcome.got}{reason}"
            title = f"{outcome.resource}: {outcome.policy} in {file.relative_to(folder)}"
            yield title, () if outcome.passed else (failure,)


def read_cases(apis: Iterable[Traversable], loaded: Catalog) -> Iterator[CasesDocument]:
    """The documents of cases of some APIs.

    Raises:
        DocumentError: a document does not match the model, or names a kind that no CRD serves.
    """
    for folder in apis:
        cases = folder.joinpath("cases")
        for file in entries(cases) if cases.is_dir() else ():
            name = f"{folder.name}/cases/{file.name}"
            for document in documents.parse(file.read_text(encoding="utf-8"), name):
                found = parse_cases(document)
                target = GroupVersionKind(found.target.group, found.target.version, found.target.kind)
                if loaded.find(target) is None:
                    raise DocumentError([Problem(f"{name}:{document.line}", "target", f"no CRD serves {target}")])
                yield found
