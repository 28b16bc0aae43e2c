"""`modelgate check`: what the gate, and the API server behind it, would say about manifests."""

from __future__ import annotations

import argparse
from dataclasses import replace

from webhook.cli import manifests
from webhook.cli.manifests import ReviewedManifest

__all__ = ["add_parser", "run"]


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(
        "check",
        help="say what the gate would say about manifests",
        description="Check manifests as `kubectl apply --dry-run=server` would, without a cluster. "
        "Exit code 0: all accepted; 1: something is refused; 2: something could not be read, or there is no object.",
    )
    manifests.add_arguments(parser)


def run(options: argparse.Namespace) -> int:
    outcomes, remarks = manifests.outcomes(options)
    for remark in remarks:
        print(f"{remark.source}: warning: {replace(remark, source='')}")
    for outcome in outcomes:
        _report(outcome)
    known = [outcome for outcome in outcomes if outcome.known]
    refused = sum(not outcome.validation.allowed for outcome in known)
    warned = sum(bool(outcome.validation.warnings) for outcome in known)
    print(
        f"{len(known)} checked, {refused} refused, {warned} with warnings, {len(outcomes) - len(known)} of other kinds"
    )
    return 1 if refused else 0


def _report(outcome: ReviewedManifest) -> None:
    document, decision = outcome.document, outcome.validation
    where = f"{document.source}:{document.line}"
    if not outcome.known:
        meant = outcome.meant
        near = f"; did you mean {meant.kind} of {meant.group}/{meant.version}?" if meant else ""
        print(f"{where}: {outcome.title}: not a kind of ours, let through{near}")
        return
    print(f"{where}: {outcome.title}: {'accepted' if decision.allowed else 'REFUSED'}")
    for cause in decision.causes:
        print(f"  {document.source}:{document.line_at(cause.field)}: error: {cause}")
    for warning in decision.warnings:
        print(f"  {document.source}:{document.line_at(warning.field)}: warning: {warning}")
