"""`modelgate check`: validate manifests offline, as the webhook and the API server do."""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable, Collection, Iterator
from copy import deepcopy
from pathlib import Path
from typing import Final, NoReturn

from webhook.admission.errors import DocumentError, ModelgateError, Problem, SettingsError
from webhook.cli import FINDINGS, GOOD, manifests
from webhook.cli.input.change import add_what_if, must_fit
from webhook.cli.input.configuration import FILE, configured
from webhook.cli.input.flags import COUNTS, FAILING, add_arguments, add_output
from webhook.cli.manifests import Outcomes
from webhook.cli.output import complain, counted, say
from webhook.cli.report import FORMATS, rendered, text
from webhook.cli.report.building import report_of
from webhook.cli.report.codes import known_codes
from webhook.cli.report.report import Report
from webhook.cli.report.text import Style
from webhook.cli.shell.parser import Commands, command, group
from webhook.library.edits import Repair
from webhook.library.findings import Severity

_EXAMPLES: Final = """\
examples:
  modelgate check manifests/                          a folder; what is not a manifest is skipped and counted
  helm template chart/ | modelgate check -            what a chart makes
  modelgate check --diff model.yaml                   what would be filled in, and why
  modelgate check --git origin/main manifests/        what the change to main brings
  modelgate check --view cluster.yaml manifests/      beside objects of a cluster (kubectl get … -o yaml)
  modelgate check -o sarif manifests/ > out.sarif     for code scanning; also json, junit, github, gitlab
  modelgate check --ignore LK305 --fail-on warning .  fail on every other warning, too
  modelgate check --watch manifests/                  again after each change of a file
"""


def add_parser(commands: Commands) -> None:
    parser = command(
        commands,
        "check",
        "Validate manifests offline, as `kubectl apply --dry-run=server` does in a cluster.",
        _EXAMPLES,
        "FILE ...",
    )
    add_arguments(parser)
    quiet = "print only objects with findings, and no summary"
    verbose = (
        "also list what is not checked or not read, and below an object the rules that are not applied to its values, "
        "and, where one of several other objects is chosen for it, all of them with the reasons"
    )
    add_output(parser, ("text", *FORMATS), quiet, verbose)
    add = group(parser, COUNTS).add_argument
    add(
        "--strict",
        action="store_true",
        default=None,
        help="report every file that cannot be read, also one that names no API group with rules or a definition, and "
        "fail if nothing is checked",
    )
    add(
        "--min-checked",
        type=_count,
        metavar="N",
        help="fail with code 2 if fewer objects are checked, such as none because of a wrong path (default 0; 1 with "
        "--strict)",
    )
    add = group(parser, "changes").add_argument
    add("--diff", action="store_true", help="also print what the gate and the schema would fill in, with the reasons")
    add("--children", action="store_true", help="also name the objects that the operators make of each object")
    add("--fix", action="store_true", help="write what is unambiguous: misspelt fields, missing quotes, letter case")
    add(
        "--old",
        action="append",
        type=Path,
        default=[],
        metavar="FILE",
        help="earlier version of the manifests, or a folder of it: judge the FILEs as updates of it; repeatable",
    )
    add(
        "--git",
        metavar="REF",
        help="judge the FILEs as updates of what they were at this commit, and count the findings that they had there "
        "instead of reporting them",
    )
    add("--all", action="store_true", help="also report the findings that the commit of --git has")
    add_what_if(group(parser, "changes"))
    add("--watch", action="store_true", help="check again whenever a file changes, until Ctrl-C")


def run(options: argparse.Namespace) -> int:
    must_fit(options)
    if options.watch:
        _watch(options)
    return _check(options)


def _check(options: argparse.Namespace) -> int:
    options = configured(options)
    if options.what_if:
        return _what_if(options)
    if options.fix and options.kustomize:
        raise SettingsError([Problem("--fix", "", "edits files, not what kustomize makes of them: remove --kustomize")])
    outcomes = manifests.outcomes(options)
    ignored = known_codes(options.ignore, outcomes.codes)
    if options.fix:
        outcomes = _fix(outcomes)
    report = report_of(outcomes, ignored, options.docs_url or "")
    report.children = options.children
    if outcomes.moved:
        from webhook.cli.check.comparing import add_moved  # noqa: PLC0415 - as below

        add_moved(report, outcomes, options, ignored)
    failing = FAILING[options.fail_on or "error"]
    _print(report, options, failing)
    text.summary(report, quiet=options.quiet, verbose=options.verbose)
    if charts := outcomes.given.charts:
        more = f" and {len(charts) - 1} more Helm charts" if len(charts) > 1 else ": Helm chart"
        say(f"{charts[0]}{more}: pipe `helm template {charts[0]}` into `modelgate check -`", sys.stderr)
    _require(report, options)
    found = {found.severity for _, found in report.findings()} | ({Severity.WARNING} if outcomes.unsure else set())
    return FINDINGS if found & {*failing} else GOOD


def _what_if(options: argparse.Namespace) -> int:
    """Judge twice, and print the difference."""
    from webhook.cli.check.comparing import compared  # noqa: PLC0415 - most calls judge once

    difference, report = compared(options)
    _require(report, options)
    return FINDINGS if difference.severities & {*FAILING[options.fail_on or "error"]} else GOOD


def _count(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number")
    return int(text)


def _require(report: Report, options: argparse.Namespace) -> None:
    """Fail if there is no judgement of everything that may be an object to judge.

    Raises:
        DocumentError: something cannot be read, or too few objects are checked.
    """
    if report.problems:
        raise DocumentError(report.problems)
    wanted = int(bool(options.strict)) if options.min_checked is None else options.min_checked
    if report.checked < wanted:
        text = f"{report.checked} checked, but at least {wanted} must be (--min-checked)"
        raise DocumentError([Problem(", ".join(map(str, options.files)), "", text)])


def _print(report: Report, options: argparse.Namespace, failing: Collection[Severity]) -> None:
    if options.output != "text" and options.verbose:
        raise SettingsError([Problem("--verbose", "", "only the text format lists candidates")])
    if options.output == "text":
        style = Style.of(options.color, sys.stdout)
        for line in text.lines(report, style, quiet=options.quiet, changes=options.diff, verbose=options.verbose):
            print(line)
    else:
        for line in rendered(report, options.output, failing):
            print(line)
        if options.output == "gitlab":  # its file is an artifact, which the log of the job does not show
            for line in text.lines(report, Style(), quiet=True, changes=False):
                print(line, file=sys.stderr)


def _fix(outcomes: Outcomes) -> Outcomes:
    """Write the edits that help into the files, and print each; the outcomes after that."""
    reviews = list(outcomes.reviews)
    for name in dict.fromkeys(each.document.source for each in reviews):
        path = Path(name)
        if not path.is_file():  # standard input, or what kustomize makes
            continue
        numbers = [number for number, each in enumerate(reviews) if each.document.source == name]
        file = Repair([reviews[number] for number in numbers], outcomes.review)
        file.repair()
        if file.done:
            content = file.text.encode()
            mark = b"\xef\xbb\xbf" if path.read_bytes().startswith(b"\xef\xbb\xbf") else b""
            path.write_bytes(mark + content)
            for line in file.done:
                say(f"{name}:{line}", sys.stderr)
            for number, review in zip(numbers, file.reviews, strict=True):
                reviews[number] = review
    return outcomes._replace(reviews=reviews)


_PAUSE: Final = 0.3
"""Seconds between two looks at the files."""
_SUFFIXES: Final = frozenset({".yaml", ".yml", ".json"})
_CLEAR: Final = "\033[H\033[2J\033[3J"
"""Of a terminal: the top left, without what is on the screen and above it."""


def _watch(options: argparse.Namespace) -> NoReturn:
    """Check now, and after each change of a file that the options name.

    Raises:
        KeyboardInterrupt: at Ctrl-C, which is the end.
        SettingsError: a flag that does not go with it.
    """
    if Path("-") in options.files:
        raise SettingsError([Problem("--watch", "", "standard input does not change: name files or folders")])
    if options.output != "text":
        raise SettingsError([Problem("--watch", "", f"is for people, and {options.output} is not: remove one of them")])
    while True:
        before = dict(_stamps(options))  # what changes during the check is seen after it
        if sys.stdout.isatty():
            print(_CLEAR, end="")
        try:
            _check(deepcopy(options))
        except (ModelgateError, OSError) as error:
            complain("check", error)
        say(f"watching {counted(len(before), 'file')}; Ctrl-C ends", sys.stderr)
        sys.stdout.flush()
        while dict(_stamps(options)) == before:
            time.sleep(_PAUSE)


def _stamps(options: argparse.Namespace) -> Iterator[tuple[str, tuple[int, int]]]:
    roots = [*options.files, *options.view, *options.crds, *options.packs, *options.old, Path(FILE)]
    roots += filter(None, (options.admission_policies, options.config))
    for path in {file for root in roots for file in _files(root)}:
        try:
            state = os.stat(path)  # noqa: PTH116 - a tree has thousands of files
        except OSError:
            continue  # it is gone
        yield path, (state.st_mtime_ns, state.st_size)


def _files(root: Path) -> Iterator[str]:
    if not root.is_dir():
        yield str(root)
    for folder, folders, names in os.walk(root):
        folders[:] = [name for name in folders if not name.startswith(".")]
        yield from (os.path.join(folder, name) for name in names if os.path.splitext(name)[1] in _SUFFIXES)  # noqa: PTH118, PTH122 - as above
