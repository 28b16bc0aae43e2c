"""`modelgate check`: validate manifests offline, as the webhook and the API server do."""

from __future__ import annotations

import argparse
from dataclasses import replace

from webhook.admission.errors import DocumentError
from webhook.admission.request import group_version
from webhook.cli import manifests
from webhook.cli.manifests import ReviewedManifest
from webhook.cli.output import say
from webhook.engine.catalog import SUCCESSORS

__all__ = ["add_parser", "run"]


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(
        "check",
        help="validate manifests offline",
        description="Validate manifests offline, as `kubectl apply --dry-run=server` does in a cluster. "
        "Exit code 0: all accepted; 1: at least one refused; 2: a file cannot be read, or no object is found.",
    )
    manifests.add_arguments(parser)
    parser.add_argument(
        "-v",
        "--verbose",
        action="store_true",
        help="also list, for each object for which one of several others is chosen, all of them with the reasons",
    )


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
        group = group_version(document.value["apiVersion"])[0]
        if group in SUCCESSORS:
            suggestion = f"; no rules for {group}, the successor of {SUCCESSORS[group]}"
        say(f"{where}: {outcome.title}: skipped: {kind} is not known to Modelgate{suggestion}")
        return
    say(f"{where}: {outcome.title}: {'accepted' if decision.allowed else 'REFUSED'}")
    for cause in decision.causes:
        at = f"{document.source}:{document.line_at(cause.field)}"
        say(f"  {at}: error: {cause.unexplained}")
        for hint in cause.hints:
            say(f"  {at}: help: {hint}")
    for warning in decision.warnings:
        say(f"  {document.source}:{document.line_at(warning.field)}: warning: {warning}")
    for line in outcome.comparison:
        say(f"    {line}")
