"""`modelgate check`: validate manifests offline, as the webhook and the API server do."""

from __future__ import annotations

import argparse
from dataclasses import replace

from webhook.admission.errors import DocumentError
from webhook.cli import manifests
from webhook.cli.manifests import ReviewedManifest
from webhook.cli.output import say

__all__ = ["add_parser", "run"]


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(
        "check",
        help="validate manifests offline",
        description="Validate manifests offline, as `kubectl apply --dry-run=server` does in a cluster. "
        "Exit code 0: all accepted; 1: at least one refused; 2: a file cannot be read, or no object is found.",
    )
    manifests.add_arguments(parser)


def run(options: argparse.Namespace) -> int:
    outcomes, remarks, problems = manifests.outcomes(options)
    for remark in remarks:
        say(f"{remark.source}: warning: {replace(remark, source='')}")
    for outcome in outcomes:
        _report(outcome)
    checked = [outcome for outcome in outcomes if outcome.reviewed]
    refused = sum(not outcome.validation.allowed for outcome in checked)
    warned = sum(bool(outcome.validation.warnings) for outcome in checked)
    skipped = len(outcomes) - len(checked)
    say(f"{len(checked)} checked, {refused} refused, {warned} with warnings, {skipped} skipped")
    if problems:
        raise DocumentError(problems)
    return 1 if refused else 0


def _report(outcome: ReviewedManifest) -> None:
    document, decision = outcome.document, outcome.validation
    where = f"{document.source}:{document.line}"
    if not outcome.reviewed:
        kind, meant = f"{document.value['apiVersion']} {document.value['kind']}", outcome.suggestion
        suggestion = f"; did you mean {meant.group}/{meant.version} {meant.kind}?" if meant else ""
        say(f"{where}: {outcome.title}: skipped: {kind} is not known to Modelgate{suggestion}")
        return
    say(f"{where}: {outcome.title}: {'accepted' if decision.allowed else 'REFUSED'}")
    for cause in decision.causes:
        say(f"  {document.source}:{document.line_at(cause.field)}: error: {cause}")
    for warning in decision.warnings:
        say(f"  {document.source}:{document.line_at(warning.field)}: warning: {warning}")
