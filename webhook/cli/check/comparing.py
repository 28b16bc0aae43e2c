"""`check --what-if`: judge the files twice, as the options say and as a change says, and print the difference."""

from __future__ import annotations

import argparse
import sys

from webhook.cli import manifests
from webhook.cli.input.change import Change
from webhook.cli.output import say
from webhook.cli.report import comparison
from webhook.cli.report.building import report_of
from webhook.cli.report.codes import known_codes
from webhook.cli.report.difference import Differences
from webhook.cli.report.report import Report
from webhook.cli.report.text import Style
from webhook.policy import Profile


def compared(options: argparse.Namespace) -> tuple[Differences, Report]:
    """Print the difference; return it, and the report of the second judgement.

    Raises:
        CatalogError, DocumentError, SettingsError: as :func:`webhook.cli.manifests.outcomes`, and a mistake in the
            change.
    """
    change = Change.of(options.what_if)
    after = manifests.outcomes(change.applied(options))
    before = manifests.outcomes(options, after.files)
    ignored, docs = known_codes(options.ignore, lambda: before.codes() | after.codes()), options.docs_url or ""
    report = report_of(after, ignored, docs)
    differences = Differences(docs)
    differences.add_reports(report_of(before, ignored, docs), report, after.judges.rulings.made)
    differences.changes = [*change.texts(differences.releases, options.profile or Profile.STANDARD)]
    style = Style.of(options.color, sys.stdout)
    for line in comparison.rendered(differences, options.output, style, whole=options.verbose):
        print(line)
    for note in () if options.quiet else comparison.explaining(differences):
        say(note.message, sys.stderr)
    return differences, report
