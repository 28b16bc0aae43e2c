"""Run one table: each case through the function of its operation.

A module ``tests/conformance/<family>_ops.py`` has a table ``OPS``: operation name → function of
the case (a JSON object, see ``tables/README.md``). A function returns None when our answer
is the real one, else what differs. What cannot apply is in
``skips.yaml``, with its reason.
"""

from __future__ import annotations

import importlib
import traceback
import zlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from tests.conformance import objects, pods
from tests.conformance.children import children_cases, is_children
from tests.conformance.fit_ops import fit_cases, is_fit
from tests.conformance.scheduler_ops import is_scheduler, scheduler_cases
from tests.conformance.tables import is_table, read
from tests.conformance.upstream import upstream_cases
from tests.conformance.upstream_llmkube import is_llmkube, llmkube_cases

HERE = Path(__file__).parent
Op = Callable[[dict[str, Any]], str | None]


@dataclass(frozen=True, slots=True)
class Outcome:
    """``state`` is passed, failed, skipped (listed, with its reason) or missing (no function for the operation)."""

    id: str
    op: str
    state: str
    message: str = ""


class Listed(str):
    """The reason why an answer differs, from a list of decided differences; a function returns it for what differs."""

    __slots__ = ()


def load_ops() -> dict[str, Op]:
    """The tables of all ``*_ops.py`` beside this file, merged."""
    ops: dict[str, Op] = {}
    for path in sorted(HERE.glob("*_ops.py")):
        ops |= importlib.import_module(f"tests.conformance.{path.stem}").OPS
    return ops


def load_skips() -> Mapping[str, str]:
    """Case id, or operation, → the reason why it cannot apply."""
    return yaml.safe_load(HERE.joinpath("skips.yaml").read_text()) or {}


class Unreadable(Exception):
    """A file whose cases cannot be read; the text names it, and says why."""


def read_cases(path: Path) -> list[dict[str, Any]]:
    """The cases of a table.

    Raises:
        Unreadable: it is not JSON, or not of one of the forms of tables.
    """
    cases: list[dict[str, Any]] = []
    try:
        document = read(path, _special)
    except OSError as error:
        raise Unreadable(f"{path}: cannot be read: {error.strerror or error}") from None
    except (ValueError, TypeError, EOFError, zlib.error, RecursionError) as error:
        raise Unreadable(f"{path}: not JSON: {error}") from None
    if not is_table(document):
        raise Unreadable(f"{path}: not a table: it has neither cases nor groups of cases")
    try:
        for case in _cases(document, path):
            name, op = case["id"], case["op"]
            cases.append({**case, "id": str(name), "op": str(op)})
    except (LookupError, TypeError, AttributeError, ValueError) as error:
        what = f"lacks {error}" if isinstance(error, KeyError) else f"is not of the form of this table: {error}"
        place = f"the case after {cases[-1]['id']}" if cases else "a case"
        raise Unreadable(f"{path}: {place} {what}") from None
    return cases


def _cases(document: Any, path: Path) -> Iterable[dict[str, Any]]:
    if is_children(document):
        return children_cases(document, path)
    if is_llmkube(document):
        return llmkube_cases(document)
    if document.get("format") == pods.FORMAT:
        return pods.pods_cases(document)
    if document.get("format") == objects.FORMAT:
        return objects.objects_cases(document)
    if is_fit(document):
        return fit_cases(document)
    if is_scheduler(document):
        return scheduler_cases(document)
    return upstream_cases(document) if "groups" in document else document["cases"]


def _special(value: dict[str, Any]) -> Any:
    if value.keys() == {"$float"}:
        return float(value["$float"])
    return value


def run_file(path: Path, ops: Mapping[str, Op], skips: Mapping[str, str], only: str | None = None) -> list[Outcome]:
    return [run_case(case, ops, skips) for case in read_cases(path) if only in (None, case["op"])]


def run_case(case: dict[str, Any], ops: Mapping[str, Op], skips: Mapping[str, str]) -> Outcome:
    op = case["op"]
    reason = skips.get(case["id"]) or skips.get(op)
    if reason:
        return Outcome(case["id"], op, "skipped", reason)
    if op not in ops:
        return Outcome(case["id"], op, "missing")
    try:
        message = ops[op](case)
    except Exception:  # noqa: BLE001 - a crash is a failed case, not the end of the run
        message = traceback.format_exc()
    state = "skipped" if isinstance(message, Listed) else "failed" if message else "passed"
    return Outcome(case["id"], op, state, message or "")
