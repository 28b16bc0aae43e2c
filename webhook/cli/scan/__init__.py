"""`modelgate scan`: judge the stored objects of a cluster, or of a folder, as if they were created now."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Collection, Iterable
from typing import Final

from reconciler import audit
from webhook.admission.errors import CatalogError, DocumentError, Problem, SettingsError
from webhook.cli import FINDINGS, GOOD, choices
from webhook.cli.input.change import Instead, WhatIf, add_what_if, must_fit
from webhook.cli.input.cluster import add_cluster, connected
from webhook.cli.input.configuration import configured
from webhook.cli.input.flags import FAILING, add_output, add_paths, add_rules
from webhook.cli.output import say
from webhook.cli.report import BY_FILE, FORMATS, rendered, text
from webhook.cli.report.codes import known_codes
from webhook.cli.report.text import Style
from webhook.cli.scan import table
from webhook.cli.scan.judging import Scan, Source
from webhook.cli.scan.sources import Cluster, Files
from webhook.cli.shell.parser import Commands, command, group, unknown_kind
from webhook.cli.terminal import terminal_width
from webhook.cluster import Reader
from webhook.engine import Ruling
from webhook.library.findings import Severity
from webhook.policy import Profile

_FORMATS: Final = ("table", "openreports", "text", *FORMATS)
_EXAMPLES: Final = """\
examples:
  modelgate scan                                 the cluster of kubectl's current context
  modelgate scan -n ml --kind Model              the Models of one namespace
  modelgate scan --fail-on warning -o json       for a nightly job
  modelgate scan -o openreports | kubectl apply -f -    findings as objects of the cluster
  modelgate scan -o text dump/                   files of `kubectl get … -o yaml`, with their lines
"""


def add_parser(commands: Commands) -> None:
    parser = command(
        commands,
        "scan",
        "Judge every stored object of the kinds that Modelgate covers, as if it were created now: rules change, and "
        "objects that others refer to vanish. It only reads. Give the flags of the cluster's `modelgate serve`.",
        _EXAMPLES,
        "[FILE ...]",
    )
    add_paths(parser, "*", "manifest or folder of stored objects; - reads stdin. Without it: the cluster")
    add_cluster(parser)
    parser.add_argument("-n", "--namespace", default="", metavar="NAME", help="only the objects of this namespace")
    parser.add_argument(
        "--kind", action="append", default=[], metavar="KIND", help="only the objects of this kind; repeatable"
    )
    add_rules(parser)
    add_output(parser, _FORMATS, "print no summary", "also list the objects without findings (table)")
    add_what_if(group(parser, "rules"))
    parser.set_defaults(view=[])


def run(options: argparse.Namespace) -> int:
    must_fit(options)
    options.instead = () if options.files else (_flagged(options),)
    options = configured(options)
    if not options.files and options.output in (*BY_FILE, *(() if options.what_if else ("text",))):
        wrong = f"{options.output} is about files: use another format, or give FILEs"
        raise SettingsError([Problem("--output", "", wrong)])
    if options.what_if:
        return _what_if(options)
    source = _source(options)
    scan = Scan(source, known_codes(options.ignore, source.rules.shipped.codes))
    failing = FAILING[options.fail_on or "error"]
    _print(scan, options, failing)
    if not options.quiet:
        scan.summarise(sys.stderr)
    if source.problems:
        raise DocumentError(source.problems)
    unsure = Severity.WARNING in failing and scan.unsure
    return FINDINGS if unsure or any(scan.counts[severity] for severity in failing) else GOOD


def _flagged(options: argparse.Namespace) -> Instead:
    """What flags name instead of the definitions of a cluster. A configuration is about files."""
    return Instead.of(options.crds, choices.chosen(options).releases)


def _source(options: argparse.Namespace, other: Source | None = None) -> Source:
    """What the options name; the objects of another source that was read by other rules."""
    rules = _rules(options)
    kinds = _kinds(options.kind, rules)
    if options.files:
        return Files(options, rules, kinds, other.given if isinstance(other, Files) else None)
    reader = other.api if isinstance(other, Cluster) else Reader(connected(options))
    return Cluster(reader, rules, kinds, options.namespace, options.instead)


def _what_if(options: argparse.Namespace) -> int:
    """Judge each object twice, and print the difference."""
    from webhook.cli.report import comparison  # noqa: PLC0415 - most scans judge once

    change = WhatIf.of(options.what_if)
    after = _source(change.applied(options))
    before = _source(options, after)
    ignored = known_codes(options.ignore, lambda: before.rules.shipped.codes() | after.rules.shipped.codes())
    differences = Scan(before, ignored).differences(Scan(after, ignored))
    differences.changes = [*change.texts(differences.releases, options.profile or Profile.STANDARD)]
    comparison.show(differences, options, "text" if options.output == "table" else options.output)
    if differences.problems:
        raise DocumentError(differences.problems)
    return FINDINGS if differences.severities & {*FAILING[options.fail_on or "error"]} else GOOD


def _rules(options: argparse.Namespace) -> Ruling:
    folder = options.admission_policies
    policies = audit.native_policies(folder) if folder is not None else None
    if policies is not None and not policies:
        raise CatalogError([Problem(str(folder), "", "no ValidatingAdmissionPolicy that judges a stored object found")])
    return audit.load(options.profile or "standard", choices.chosen(options), policies, packs=options.packs)


def _kinds(words: Iterable[str], rules: Ruling) -> Collection[str]:
    """The kinds to judge.

    Raises:
        SettingsError: there is no such kind.
    """
    known = {known.gvk.kind.lower(): known for known in rules.catalog.kinds.values()}
    unknown = [Problem("--kind", "", unknown_kind(each, known.values())) for each in words if each.lower() not in known]
    if unknown:
        raise SettingsError(unknown)
    return {known[each.lower()].gvk.kind for each in words} or {each.gvk.kind for each in known.values()}


def _print(scan: Scan, options: argparse.Namespace, failing: Collection[Severity]) -> None:
    style = Style.of(options.color, sys.stdout)
    if options.output == "openreports":
        table.write_reports(scan.judged(), sys.stdout)
    elif options.output == "table":
        for line in table.lines(scan.judged(), style, verbose=options.verbose, width=terminal_width()):
            print(line)
    else:
        report = scan.report(options.docs_url or "")
        lines = text.lines(report, style, quiet=True, changes=False)
        for line in lines if options.output == "text" else rendered(report, options.output, failing):
            print(line)
