"""`modelgate normalise`: print manifests with all defaults, as a cluster would store them."""

from __future__ import annotations

import argparse
import sys
from typing import Any

import yaml

from webhook.admission.errors import DocumentError
from webhook.cli import manifests
from webhook.cli.input.configuration import configured
from webhook.cli.input.flags import add_arguments
from webhook.cli.output import is_plain, say
from webhook.cli.shell.parser import Commands, command

__all__ = ["add_parser", "run"]


def add_parser(commands: Commands) -> None:
    parser = command(
        commands,
        "normalise",
        "Print every object with all defaults, as YAML. Errors go to standard error, and the exit code "
        "is then 1. `modelgate check --diff` prints only what is filled in, with the reasons.",
    )
    add_arguments(parser)


def run(options: argparse.Namespace) -> int:
    found = manifests.outcomes(configured(options))
    outcomes, problems = found.reviews, found.problems
    objects = (outcome.mutation.object for outcome in outcomes)
    # Lines are not folded: the rest of a text could begin one.
    yaml.dump_all(objects, sys.stdout, _Dumper, sort_keys=False, allow_unicode=True, width=sys.maxsize)
    refused = [outcome for outcome in outcomes if not outcome.validation.allowed]
    for outcome in refused:
        for cause in outcome.validation.causes:
            say(f"{outcome.document.source}:{outcome.document.line}: {outcome.title}: {cause}", sys.stderr)
    if problems:
        raise DocumentError(problems)
    return 1 if refused else 0


class _Dumper(yaml.SafeDumper):
    """YAML without anchors, which people do not write, and with text in quotes that could forge lines."""

    def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002 - PyYAML's
        return True

    def write_double_quoted(self, text: str, split: bool = True) -> None:
        """Escape all but ASCII: PyYAML prints the characters that reverse the direction of text."""
        allowed, self.allow_unicode = self.allow_unicode, False
        super().write_double_quoted(text, split)
        self.allow_unicode = allowed


def _text(dumper: _Dumper, text: str) -> yaml.ScalarNode:
    node = dumper.represent_str(text)
    if not is_plain(text):
        node.style = '"'
    return node


_Dumper.add_representer(str, _text)
