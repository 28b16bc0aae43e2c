"""`modelgate normalise`: print manifests with all defaults, as a cluster would store them."""

from __future__ import annotations

import argparse
import sys

from webhook.admission.errors import DocumentError
from webhook.cli import manifests
from webhook.cli.dumping import dumped
from webhook.cli.input.configuration import configured
from webhook.cli.input.flags import add_arguments
from webhook.cli.output import say
from webhook.cli.shell.parser import Commands, command


def add_parser(commands: Commands) -> None:
    parser = command(
        commands,
        "normalise",
        "Print every object with all defaults, as YAML. Errors go to standard error, and the exit code "
        "is then 1. `modelgate check --diff` prints only what is filled in, with the reasons.",
        files="FILE ...",
    )
    add_arguments(parser)


def run(options: argparse.Namespace) -> int:
    found = manifests.outcomes(configured(options))
    outcomes, problems = found.reviews, found.problems
    for number, outcome in enumerate(outcomes):
        text = dumped(outcome.mutation.object)
        print(text if number else text.removeprefix("---\n"), end="")
    for judged_as in dict.fromkeys(outcome.judged_as for outcome in outcomes if outcome.judged_as):
        if judged_as.by == "pin":
            say(f"judged as of {judged_as}", sys.stderr)
    refused = [outcome for outcome in outcomes if not outcome.validation.allowed]
    for outcome in refused:
        for cause in outcome.validation.causes:
            say(f"{outcome.document.where}: {outcome.title}: {cause}", sys.stderr)
    if problems:
        raise DocumentError(problems)
    return 1 if refused else 0
