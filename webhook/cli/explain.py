"""`modelgate explain`: what is chosen for an object, and where each of its fields comes from."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Sequence
from typing import Any, Final

from webhook.admission.errors import DocumentError, Problem, SettingsError
from webhook.cli import manifests
from webhook.cli.exits import GOOD
from webhook.cli.input.configuration import configured
from webhook.cli.input.flags import add_arguments
from webhook.cli.judging import ReviewedManifest
from webhook.cli.manifests import Outcomes
from webhook.cli.output import say
from webhook.cli.report.changes import Change, changes
from webhook.cli.shell.parser import Commands, command
from webhook.facts import EXPLANATIONS, Table
from webhook.manifests.documents import Document
from webhook.manifests.places import keys
from webhook.offline import kind_of, placed
from webhook.policy import field_path

__all__ = ["add_parser", "run"]

_EXAMPLES: Final = """\
examples:
  modelgate explain --view cluster.yaml service.yaml          the ranking of runtimes, the chain of an AIMService
  modelgate explain --field spec.hardware.gpu model.yaml      where the fields below spec.hardware.gpu come from
"""


def add_parser(commands: Commands) -> None:
    parser = command(
        commands,
        "explain",
        "Print what is chosen for an object among others (the runtime of an InferenceService, the parts of "
        "an AIMService), and where each field of the stored object comes from: a line of the file, a default of the "
        "schema, or a rule.",
        _EXAMPLES,
    )
    add_arguments(parser)
    parser.add_argument("--field", metavar="PATH", help="print only this field and those below it")


def run(options: argparse.Namespace) -> int:
    outcomes = manifests.outcomes(configured(options))
    wanted = None if options.field is None else keys(options.field)
    told = 0
    for outcome in outcomes.reviews:
        if outcome.reviewed:
            told += _explain(outcome, outcomes, wanted)
    if outcomes.problems:
        raise DocumentError(outcomes.problems)
    if wanted is not None and not told:
        raise SettingsError([Problem("--field", "", f"no object has the field {options.field}")])
    return GOOD


def _explain(outcome: ReviewedManifest, outcomes: Outcomes, wanted: Sequence[str | int] | None) -> int:
    """Print an object; return the number of its fields that are printed."""
    document = outcome.document
    origins = [each for each in _origins(outcome) if wanted is None or each[0][: len(wanted)] == wanted]
    if wanted is not None and not origins:
        return 0
    say(f"{document.source}:{document.line}: {outcome.title}")
    if wanted is None:
        for table in _tables(outcome, outcomes):
            _print(table)
    rows = tuple((field_path(path), value, origin) for path, value, origin in origins)
    _print(Table("fields", ("field", "value", "from"), rows))
    return len(rows)


def _tables(outcome: ReviewedManifest, outcomes: Outcomes) -> Iterator[Table]:
    value = outcome.merged
    gvk = kind_of(value)
    explain = EXPLANATIONS.get((gvk.group, gvk.kind))
    if explain is not None and isinstance(outcome.document.value.get("metadata"), dict):
        yield from explain(placed(value, None), outcomes.view, outcomes.settings)


def _origins(outcome: ReviewedManifest) -> Iterator[tuple[list[str | int], str, str]]:
    """The path, the value and the origin of each leaf outside of metadata."""
    document, stored = outcome.document, outcome.mutation.object or outcome.document.value
    filled = {each.path: each for each in changes(outcome.merged, stored, outcome.mutation.defaults)}
    for path, value in _leaves([], {key: stored[key] for key in stored if key not in _HEAD}):
        yield path, json.dumps(value, ensure_ascii=False), _origin(field_path(path), document, filled)


_HEAD: Final = frozenset({"apiVersion", "kind", "metadata", "status"})


def _origin(path: str, document: Document, filled: dict[str, Change]) -> str:
    change = filled.get(path)
    if change is not None:
        return f"{change.reason} ({change.code})" if change.code else change.reason
    if document.written(path) is None and document.tree is not None:
        return "the stored object"
    place = document.place(path)
    return f"{document.source}:{place.line}:{place.column}"


def _leaves(path: list[str | int], value: Any) -> Iterator[tuple[list[str | int], Any]]:
    if isinstance(value, dict) and value:
        for key, item in value.items():
            yield from _leaves([*path, key], item)
    elif isinstance(value, list) and value:
        for index, item in enumerate(value):
            yield from _leaves([*path, index], item)
    else:
        yield path, value


def _print(table: Table) -> None:
    say(f"  {table.title}")
    widths = [max(len(row[column]) for row in (table.header, *table.rows)) for column in range(len(table.header))]
    for row in (table.header, *table.rows):
        cells = (cell.ljust(min(width, 60)) for cell, width in zip(row, widths, strict=True))
        say(f"    {'  '.join(cells)}".rstrip())
