"""`modelgate test`: run test cases of policies."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Final

from webhook import catalog
from webhook.admission.errors import DocumentError, Problem, SettingsError
from webhook.catalog import POLICIES, Catalog, chosen
from webhook.cli import FAILED, FINDINGS, GOOD, choices
from webhook.cli.cases import Case, CasesDocument, fired_in, parse_cases
from webhook.cli.cases import run as run_case
from webhook.cli.output import say
from webhook.cli.report import junit
from webhook.cli.shell.parser import Commands, Once, command, unknown_kind
from webhook.manifests import documents
from webhook.manifests.documents import Document
from webhook.manifests.folders import content_of, entries

_EXAMPLES: Final = """\
examples:
  modelgate test policies/                      all cases of a folder of APIs
  modelgate test policies/llmkube --code LK205  the cases of one API that expect a code
  modelgate test policies/ --run 'Model: .*pvc' the cases whose title matches
  modelgate test policies/ --coverage           also the codes that fire in no case: the exit code is then 1
  modelgate test policies/llmkube --release llmkube=0.9.19  the cases that name no release, under this one
  modelgate test policies/ -o junit > out.xml   for CI systems
"""


@dataclass(frozen=True, slots=True)
class _Outcome:
    """One case that has run: its place, its title, and its failures."""

    file: str
    line: int
    title: str
    failures: Sequence[str]

    @property
    def where(self) -> str:
        return f"{self.file}:{self.line}" if self.line else self.file


def add_parser(commands: Commands) -> None:
    parser = command(
        commands,
        "test",
        "Run the cases of a folder of APIs, laid out as policies/: <api>/crds/*.yaml, <api>/<kind>.yaml, "
        "<api>/cases/<kind>.yaml, or of one such API. Default: the built-in policies.",
        _EXAMPLES,
    )
    add = parser.add_argument
    add("folder", nargs="?", type=Path, metavar="DIR", help="folder of APIs, or of one API")
    add("--run", metavar="REGEX", dest="pattern", help="run only the cases whose title (`Kind: name`) matches")
    add("--kind", action=Once, metavar="KIND", help="run only the cases of this kind")
    add("--code", metavar="CODE", help="run only the cases that expect this code, or repair it")
    choices.add_release(parser)
    add("-v", "--verbose", action="store_true", help="also list the cases that pass")
    add("--fail-only", action="store_true", help="leave the cases that pass out of a JUnit report")
    add("--coverage", action="store_true", help="also list the codes that fire in no case")
    add("-o", "--output", choices=("text", "junit"), default="text", help="format on standard output (default text)")


def run(options: argparse.Namespace) -> int:
    if options.folder is not None and not options.folder.is_dir():
        reason = "Not a directory" if options.folder.exists() else "No such file or directory"
        raise DocumentError([Problem(str(options.folder), "", f"cannot be read: {reason}")])
    fired: set[str] = set()
    loaded = catalog.load(options.folder, choices.chosen(options))
    outcomes = list(_of_apis(options, loaded, fired))
    _print(outcomes, options)
    failed = sum(bool(each.failures) for each in outcomes)
    summary = sys.stdout if options.output == "text" else sys.stderr
    print(f"{len(outcomes) - failed} passed, {failed} failed", file=summary)
    silent = sorted(loaded.codes() - fired) if options.coverage else []
    if silent:
        say(f"codes that fire in none of these cases: {', '.join(silent)}", summary)
    if not outcomes:
        say("modelgate test: no case is found", sys.stderr)
        return FAILED
    return FINDINGS if failed or silent else GOOD


def _print(outcomes: Iterable[_Outcome], options: argparse.Namespace) -> None:
    if options.output == "junit":
        shown = [each for each in outcomes if each.failures or not options.fail_only]
        cases = [junit.TestCase(each.file, each.title, "\n".join(each.failures)) for each in shown]
        print(junit.render_cases(cases))
        return
    for each in outcomes:
        if each.failures:
            say(f"{each.where}: FAILED {each.title}")
            for failure in each.failures:
                say(f"  {failure}")
        elif options.verbose:
            say(f"{each.where}: passed {each.title}")


def _wanted(options: argparse.Namespace) -> Callable[[str, Case], bool]:
    """Whether to run a case, by its title and its expectation.

    Raises:
        SettingsError: the pattern is not a regular expression.
    """
    try:
        pattern = re.compile(options.pattern or "")
    except re.error as error:
        raise SettingsError([Problem("--run", "", f"not a regular expression: {error}")]) from None

    def wanted(title: str, case: Case) -> bool:
        if options.kind and not title.lower().startswith(f"{options.kind.lower()}: "):
            return False
        if options.code and options.code.upper() not in case.codes:
            return False
        return pattern.search(title) is not None

    return wanted


def _of_apis(options: argparse.Namespace, loaded: Catalog, fired: set[str]) -> Iterator[_Outcome]:
    """Run tables of cases, and collect the codes that fire in them."""
    kinds = {known.gvk.kind.lower() for known in loaded.kinds.values()}
    if options.kind and options.kind.lower() not in kinds:
        raise SettingsError([Problem("--kind", "", unknown_kind(options.kind, loaded.kinds.values()))])
    wanted = _wanted(options)
    for document, table in tables(_apis(options.folder), loaded, whole=options.folder is not None):
        known = loaded.kinds[table.target.gvk]  # tables checks it
        for index, case in enumerate(table.cases):
            title = f"{table.target.kind}: {case.name}"
            if wanted(title, case):
                result = run_case(case, known, loaded)
                fired |= fired_in(result)
                yield _Outcome(document.source, document.line_of("cases", index), title, result.failures)


def _apis(folder: Path | None) -> list[Traversable]:
    if folder is None:
        return entries(POLICIES)
    return [folder] if (folder / "crds").is_dir() else entries(folder)


def read_cases(apis: Iterable[Traversable], loaded: Catalog) -> Iterator[CasesDocument]:
    """The documents of cases of some APIs; raises as :func:`tables`."""
    return (table for _, table in tables(apis, loaded))


def tables(
    apis: Iterable[Traversable], loaded: Catalog, *, whole: bool = False, naming: str = ""
) -> Iterator[tuple[Document, CasesDocument]]:
    """Each document of cases, with its source; ``whole`` names files by their whole path. A file whose text does not
    have the word ``naming`` is left out.

    Raises:
        DocumentError: a document does not match the model, or names a kind that no CRD serves.
    """
    for folder in apis:
        cases = folder.joinpath("cases")
        for file in entries(cases) if cases.is_dir() else ():
            name = f"{folder if whole else folder.name}/cases/{file.name}"
            text = content_of(file).decode()
            for document in documents.parse(text, name) if naming in text else ():
                found = parse_cases(document)
                if (gvk := found.target.gvk) not in loaded.kinds:
                    raise DocumentError([Problem(f"{name}:{document.line}", "target", f"no CRD serves {gvk}")])
                _check_releases(found, document, loaded)
                yield document, found


def _check_releases(table: CasesDocument, document: Document, loaded: Catalog) -> None:
    """Check that the releases that cases name exist."""
    api = loaded.uncompiled(table.target.gvk).api
    for index, case in enumerate(table.cases):
        try:
            chosen(loaded.packs, [(api, release) for release in case.releases])
        except SettingsError as error:
            where = f"{document.source}:{document.line_of('cases', index)}"
            found = [Problem(where, f"cases[{index}].release", each.message) for each in error.problems]
            raise DocumentError(found) from None
