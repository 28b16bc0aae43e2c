"""The table of what the reconciler does for each kind."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import yaml

from reconciler import audit
from reconciler.audit import Outlet, outlet
from webhook.facts.settings import DEFAULT_SETTINGS

HEAD: Final = """
## What the reconciler does

Every kind is judged, healed and reported on: with an Event on each change of the verdict, with a Report while there are
findings, and with the condition `Normalised` where the status has room for it. The *outlet* says how the condition is
written. *Acts* says what the reconciler writes besides, if the API is enabled in `reconciler.apis`. *Upstream* says who
else writes the status.

"""

OUTLETS: Final = {
    Outlet.APPLY: "server-side apply of one condition",
    Outlet.REPLACE: "update of the status, unless another manager writes it",
    Outlet.NONE: "Event and Report only",
}

TESTS: Final = Path(__file__).parents[2] / "tests"
CASES: Final = TESTS / "reconciler" / "cases"
IMPOSSIBLE: Final = TESTS / "e2e" / "chainsaw.yaml"

SUITE: Final = 22
"""Tests that `python -m tests.e2e.chainsaw` is given: those of services, templates and images."""

SAID: Final = Path(__file__).with_suffix(".yaml")
SUITE_HEAD: Final = """
AIM's own suite tests its operator as a black box. {passed} of {all} tests pass against Modelgate on a real API server
(`python -m tests.e2e.chainsaw`). There, the result of a discovery is written by hand, because it needs a GPU. The
others cannot pass:

| test | reason |
|---|---|
"""

CASES_HEAD: Final = """
What the projections say is a table of cases, `tests/reconciler/cases`. Some state a fact of upstream's own suite, with
its file and line. Where Modelgate's projection says something else, the case says why.

| API | cases | facts of upstream's suite | of which differ |
|---|---|---|---|
"""


def reconciled() -> Iterator[str]:
    """The section, line by line."""
    rules, said = audit.load("standard", DEFAULT_SETTINGS), yaml.safe_load(SAID.read_text())
    yield HEAD
    yield "| kind | outlet | acts | children | upstream |\n|---|---|---|---|---|\n"
    for each in sorted(rules.kinds(), key=lambda each: each.kind):
        known = said.get(each.kind, {})
        acts, children = known.get("acts", "nothing"), known.get("children", "none")
        upstream = known.get("upstream", "operator at the revision of the document")
        room = OUTLETS[outlet(rules, each)]
        yield f"| {each.kind} | {room} | {acts} | {children} | {upstream} |\n"
    yield CASES_HEAD
    for file in sorted(CASES.glob("*.yaml")):
        rows = [*_rows(yaml.safe_load(file.read_text()))]
        shared, differ = (sum(key in row for row in rows) for key in ("src", "differs"))
        yield f"| {file.stem} | {len(rows)} | {shared} | {differ} |\n"
    impossible = yaml.safe_load(IMPOSSIBLE.read_text())
    yield SUITE_HEAD.format(passed=SUITE - len(impossible), all=SUITE)
    yield from (f"| {name} | {reason} |\n" for name, reason in impossible.items())


def _rows(value: Any) -> Iterator[dict[str, Any]]:
    """The cases of a file: a list, or lists by name."""
    for part in value.values() if isinstance(value, dict) else [value]:
        yield from part
