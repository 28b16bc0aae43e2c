"""`modelgate explain`: what is chosen for an object, and where each of its fields comes from."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from typing import Final

from webhook.admission.errors import DocumentError, Problem, SettingsError
from webhook.cli import GOOD, manifests
from webhook.cli.input.configuration import configured
from webhook.cli.input.flags import add_arguments
from webhook.cli.manifests import Outcomes
from webhook.cli.output import inert_json, printable, say
from webhook.cli.shell.parser import Commands, command
from webhook.cli.terminal import aligned, terminal_width
from webhook.facts import Table
from webhook.ground.fieldpath import field_keys
from webhook.library.explained import explained
from webhook.library.review import ReviewedManifest

_EXAMPLES: Final = """\
examples:
  modelgate explain --view cluster.yaml service.yaml          the ranking of runtimes, the chain of an AIMService
  modelgate explain --field spec.hardware.gpu model.yaml      where the fields below spec.hardware.gpu come from
  modelgate explain --children service.yaml                   what the operator will make of it, and of which fields
"""


def add_parser(commands: Commands) -> None:
    parser = command(
        commands,
        "explain",
        "Print what is chosen for an object among others (the runtime of an InferenceService, the parts of "
        "an AIMService), and where each field of the stored object comes from: a line of the file, a default of the "
        "schema, or a rule.",
        _EXAMPLES,
        "FILE ...",
    )
    add_arguments(parser)
    parser.add_argument("--field", metavar="PATH", help="print only this field and those below it")
    children = "print the objects that the operator makes of each object, and at each line the field that decides it"
    parser.add_argument("--children", action="store_true", help=children)
    parser.add_argument("-o", "--output", choices=("yaml", "json"), help="the form of --children (default yaml)")


def run(options: argparse.Namespace) -> int:
    if options.output and not options.children:
        raise SettingsError([Problem("--output", "", "is the form of --children: add --children, or remove --output")])
    if options.children and options.field is not None:
        raise SettingsError([Problem("--field", "", "does not go with --children: remove one of them")])
    outcomes = manifests.outcomes(configured(options))
    if options.children:
        return _children(outcomes, options.output or "yaml")
    wanted = None if options.field is None else field_keys(options.field)
    told = 0
    for outcome in outcomes.reviews:
        if outcome.reviewed:
            told += _explain(outcome, outcomes, wanted)
    if outcomes.problems:
        raise DocumentError(outcomes.problems)
    if wanted is not None and not told:
        raise SettingsError([Problem("--field", "", f"no object has the field {options.field}")])
    return GOOD


def _children(outcomes: Outcomes, form: str) -> int:
    """Print what the operator makes of each object."""
    from webhook.cli import children  # noqa: PLC0415 - most calls print no YAML

    made = [(outcome, outcome.describe()) for outcome in outcomes.reviews if outcome.reviewed]
    if form == "json":
        objects = [
            {
                "file": outcome.document.source,
                "line": outcome.document.line,
                "object": outcome.title,
                "children": [children.as_json(child) for child in of_object],
            }
            for outcome, of_object in made
        ]
        print(inert_json(json.dumps(objects, ensure_ascii=True, indent=2)))
    for outcome, of_object in made if form == "yaml" else ():
        count = f"{len(of_object)} {'object' if len(of_object) == 1 else 'objects'}" if of_object else "none described"
        say(f"# {outcome.document.source}:{outcome.document.line}: {outcome.title}: children: {count}")
        for child in of_object:
            print(children.commented(child))
    if outcomes.problems:
        raise DocumentError(outcomes.problems)
    return GOOD


def _explain(outcome: ReviewedManifest, outcomes: Outcomes, wanted: Sequence[str | int] | None) -> int:
    """Print an object; return the number of its fields that are printed."""
    document, judge = outcome.document, outcomes.judges.of(outcome.document)
    found = explained(outcome, judge.view, judge.options.settings, judge.catalog)
    origins = [each for each in found.fields if wanted is None or list(each.path[: len(wanted)]) == wanted]
    if wanted is not None and not origins:
        return 0
    judged_as = f", judged as of {found.judged_as}" if found.judged_as else ""
    say(f"{document.source}:{document.line}: {found.title}{judged_as}")
    if wanted is None:
        for table in found.tables:
            _print(table)
    rows = tuple((each.field, json.dumps(each.value, ensure_ascii=False), each.origin) for each in origins)
    _print(Table("fields", ("field", "value", "from"), rows))
    return len(rows)


def _print(table: Table) -> None:
    say(f"  {table.title}")
    width = terminal_width()
    rows = [tuple(map(printable, row)) for row in (table.header, *table.rows)]
    for line in aligned(rows, None if width is None else width - 4):
        print(f"    {line}")
