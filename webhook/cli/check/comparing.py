"""Judge the files twice: as the options and as a change of them say, or as of the releases that a commit pins."""

from __future__ import annotations

import argparse

from webhook.admission.errors import Problem
from webhook.cli import manifests
from webhook.cli.input.change import WhatIf
from webhook.cli.manifests import Outcomes
from webhook.cli.report import comparison
from webhook.cli.report.building import report_of
from webhook.cli.report.codes import Ignoring, known_codes
from webhook.cli.report.difference import ChangeReport
from webhook.cli.report.report import Report
from webhook.policy import Profile


def add_moved(report: Report, outcomes: Outcomes, options: argparse.Namespace, ignored: Ignoring) -> None:
    """Add to a report on a change what the releases bring that it pins, also to objects that it does not touch.

    Both judgements are of objects that are created: an update is spared what it does not change.
    """
    commit, files = options.commit, outcomes.files
    if files is None or commit is None or not outcomes.moved:
        return
    plain = argparse.Namespace(**{**vars(options), "all": True})
    sides = [manifests.outcomes(plain, each.created()) for each in (files.as_pinned_at(commit), files)]
    before, after = (report_of(each, ignored, report.docs) for each in sides)
    differences = ChangeReport()
    pairs = zip(report.objects, differences.add_reports(before, after, sides[1].judges.rulings.made), strict=True)
    report.objects = [difference.added_to(verdict) if difference.new else verdict for verdict, difference in pairs]
    report.unjudged.append(
        Problem("", "", f"what the releases change, as if all were created: {comparison.summed_up(differences)}")
    )


def compared(options: argparse.Namespace) -> tuple[ChangeReport, Report]:
    """Print the difference; return it, and the report of the second judgement.

    Raises:
        CatalogError, DocumentError, SettingsError: as :func:`webhook.cli.manifests.outcomes`, and a mistake in the
            change.
    """
    change = WhatIf.of(options.what_if)
    after = manifests.outcomes(change.applied(options))
    before = manifests.outcomes(options, after.files)
    ignored, docs = known_codes(options.ignore, lambda: before.codes() | after.codes()), options.docs_url or ""
    report = report_of(after, ignored, docs)
    differences = ChangeReport(docs)
    differences.add_reports(report_of(before, ignored, docs), report, after.judges.rulings.made)
    differences.changes = [*change.texts(differences.releases, options.profile or Profile.STANDARD)]
    comparison.show(differences, options, options.output)
    return differences, report
