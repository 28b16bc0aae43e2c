"""`modelgate check`: validate manifests offline, as the webhook and the API server do."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Collection
from pathlib import Path
from typing import Final

from webhook.admission.errors import DocumentError, Problem, SettingsError
from webhook.cli import FINDINGS, GOOD, manifests
from webhook.cli.check.fixing import fixed
from webhook.cli.input.change import add_what_if, must_fit
from webhook.cli.input.configuration import configured
from webhook.cli.input.flags import COUNTS, FAILING, add_arguments, add_output
from webhook.cli.manifests import Outcomes
from webhook.cli.output import say
from webhook.cli.report import FORMATS, rendered, text
from webhook.cli.report.building import report_of
from webhook.cli.report.codes import known_codes
from webhook.cli.report.report import Report
from webhook.cli.report.text import Style
from webhook.cli.shell.parser import Commands, command, group
from webhook.library.findings import Severity

__all__ = ["add_parser", "run"]

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
        from webhook.cli.check.watching import watched  # noqa: PLC0415 - most calls check once

        watched(options, _check)
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


def _fix(outcomes: Outcomes) -> Outcomes:
    outcomes, done = fixed(outcomes)
    for line in done:
        say(line, sys.stderr)
    return outcomes


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
