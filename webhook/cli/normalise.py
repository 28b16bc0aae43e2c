"""`modelgate normalise`: print manifests with all defaults, as a cluster would store them."""

from __future__ import annotations

import argparse
import sys

import yaml

from webhook.admission.errors import DocumentError
from webhook.cli import manifests

__all__ = ["add_parser", "run"]


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(
        "normalise",
        help="print manifests with all defaults, as a cluster would store them",
        description="Print every object with all defaults, as YAML. Errors go to standard error, and the exit code "
        "is then 1.",
    )
    manifests.add_arguments(parser)


def run(options: argparse.Namespace) -> int:
    outcomes, _, problems = manifests.outcomes(options)
    yaml.safe_dump_all(
        (outcome.mutation.object for outcome in outcomes), sys.stdout, sort_keys=False, allow_unicode=True
    )
    refused = [outcome for outcome in outcomes if not outcome.validation.allowed]
    for outcome in refused:
        for cause in outcome.validation.causes:
            print(f"{outcome.document.source}:{outcome.document.line}: {outcome.title}: {cause}", file=sys.stderr)
    if problems:
        raise DocumentError(problems)
    return 1 if refused else 0
