"""`modelgate explain`: what is chosen for an object, and where each of its fields comes from."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

from webhook.admission.errors import DocumentError, Problem, SettingsError
from webhook.cli import GOOD, manifests
from webhook.cli.input.configuration import configured
from webhook.cli.input.flags import add_arguments
from webhook.cli.manifests import Outcomes
from webhook.cli.output import counted, inert_json, printable, say
from webhook.cli.shell.parser import Commands, command
from webhook.cli.terminal import aligned, bar, terminal_width
from webhook.facts import Table
from webhook.ground.fieldpath import field_keys
from webhook.library.apiserver import kind_of, placed
from webhook.library.explained import Explanation, explained
from webhook.library.review import Key, ReviewedManifest, key_of
from webhook.library.verdict import Verdict

_EXAMPLES: Final = """\
examples:
  modelgate explain --view cluster.yaml service.yaml          the ranking of runtimes, the chain of an AIMService
  modelgate explain --field spec.hardware.gpu model.yaml      where the fields below spec.hardware.gpu come from
  modelgate explain --children service.yaml                   what the operator will make of it, and of which fields
  modelgate explain -o html service.yaml > service.html       all of it as a page, with pictures
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
    form = "html is a page with all of it; yaml and json are the forms of --children (default yaml)"
    parser.add_argument("-o", "--output", choices=("html", "yaml", "json"), help=form)


def run(options: argparse.Namespace) -> int:
    if options.output in {"yaml", "json"} and not options.children:
        raise SettingsError([Problem("--output", "", "is the form of --children: add --children, or use html")])
    if options.children and options.field is not None:
        raise SettingsError([Problem("--field", "", "does not go with --children: remove one of them")])
    outcomes = manifests.outcomes(configured(options))
    if options.children and options.output != "html":
        return _children(outcomes, options.output or "yaml")
    explanations = [*_explanations(outcomes, None if options.field is None else field_keys(options.field))]
    if options.output == "html" and explanations:
        _print_page(explanations, children=options.field is None)
    for outcome, explanation in explanations if options.output is None else ():
        _print_object(outcome, explanation)
    if outcomes.problems:
        raise DocumentError(outcomes.problems)
    if options.field is not None and not explanations:
        raise SettingsError([Problem("--field", "", f"no object has the field {options.field}")])
    return GOOD


Explained = tuple[ReviewedManifest, Explanation]


def _explanations(outcomes: Outcomes, wanted: Sequence[str | int] | None) -> Iterator[Explained]:
    """Each object that is judged, with the fields below the one that is ``wanted``; without it, all."""
    refusals = _refusals(outcomes)
    for outcome in outcomes.reviews:
        if not outcome.reviewed:
            continue
        judge = outcomes.judges.of(outcome.document)
        explanation = explained(
            outcome, judge.view, judge.options.settings, judge.catalog, lambda key: refusals.get(key, "")
        )
        if wanted is not None:
            fields = tuple(origin for origin in explanation.fields if list(origin.path[: len(wanted)]) == wanted)
            explanation = replace(explanation, tables=(), fields=fields)
        if wanted is None or explanation.fields:
            yield outcome, explanation


def _refusals(outcomes: Outcomes) -> dict[Key, str]:
    """Why objects of the files are refused: the first error of each."""
    refusals = dict[Key, str]()
    for outcome in outcomes.reviews:
        if outcome.validation.causes:
            value, catalog = outcome.document.value, outcomes.judges.of(outcome.document).catalog
            refusals[key_of(placed(value, catalog.find(kind_of(value))))] = Verdict.of(outcome).refusal
    return refusals


def _print_page(explanations: Sequence[Explained], *, children: bool) -> None:
    from webhook.cli.report import explanation as page  # noqa: PLC0415 - most calls print no HTML

    objects = [
        page.ExplainedObject(outcome.document.where, explanation, outcome.describe if children else tuple)
        for outcome, explanation in explanations
    ]
    print(page.render(objects))


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
        count = counted(len(of_object), "object") if of_object else "none described"
        say(f"# {outcome.document.where}: {outcome.title}: children: {count}")
        for child in of_object:
            print(children.commented(child))
    if outcomes.problems:
        raise DocumentError(outcomes.problems)
    return GOOD


def _print_object(outcome: ReviewedManifest, explanation: Explanation) -> None:
    judged_as = f", judged as of {explanation.judged_as}" if explanation.judged_as else ""
    say(f"{outcome.document.where}: {explanation.title}{judged_as}")
    for table in explanation.tables:
        _print(table)
    rows = tuple((at.field, json.dumps(at.value, ensure_ascii=False), at.origin) for at in explanation.fields)
    _print(Table("fields", ("field", "value", "from"), rows))


def _print(table: Table) -> None:
    say(f"  {table.title}")
    width = terminal_width()
    rows = [tuple(map(printable, row)) for row in (table.header, *_with_bars(table))]
    for line in aligned(rows, None if width is None else width - 4):
        print(f"    {line}")


def _with_bars(table: Table) -> Iterator[Sequence[str]]:
    """The rows, with a bar before the second cell of one that has a share. A score needs none."""
    for number, row in enumerate(table.rows):
        share = table.shares[number] if table.shares and not table.of else None
        yield row if share is None else (row[0], f"{bar(share)} {row[1]}", *row[2:])
