"""``make tables K8S=1.37.2``: answer the cases of the conformance tables anew, with the code of a Kubernetes release.

Each case that the oracle can be asked is asked; where the answer differs from the one in the table, it is printed and
written. ``--check`` writes nothing. Lists of errors are compared as sets: Go's maps have no order.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections import Counter
from typing import Any

from tests.conformance.tables import TABLES, Document, name_of, read, write
from tests.e2e.machine import Unavailable
from tests.fuzz.oracle import Oracle
from tests.oracle.build import oracle, pinned
from tests.oracle.questions import QUESTIONS, Answer, Case

COLUMNS = ("same", "differs", "not asked")
UNORDERED = {
    *("errors", "cel", "openapi", "embedded", "listtype", "structuralErrors"),
    *("warnings", "unknown", "unknownFields", "pruned"),
}
UNSTEADY = {"actual-cost-depends-on-map-order", "cost-differs-in-this-cel-go"}
TRIES = 20
_TYPE_NAME = re.compile(r"selfType\d+")


def main(argv: list[str] | None = None) -> int:
    """Answer tables (all by default) with one release, and rewrite what differs; 1 if something differs."""
    parser = argparse.ArgumentParser(prog="python -m tests.oracle.tables", description=main.__doc__)
    parser.add_argument("kubernetes", nargs="?", default=pinned(), help=f"a release, {pinned()} by default")
    parser.add_argument("--check", action="store_true", help="write nothing")
    parser.add_argument("--only", metavar="TABLE", action="append", help="only this table")
    parser.add_argument("--show", type=int, default=20, metavar="N", help="print N differences of each table")
    options = parser.parse_args(argv)
    try:
        program = oracle(options.kubernetes)
    except Unavailable as reason:
        sys.exit(f"oracle: {reason}")
    total: Counter[str] = Counter()
    print(f"{'table':28}" + "".join(f"{column:>11}" for column in COLUMNS))
    with Oracle(program=program) as asked:
        for path in sorted(TABLES.glob("*.json.gz")):
            if options.only and name_of(path) not in options.only:
                continue
            document = read(path)
            counts = answer_all(document, asked, options.show)
            total.update(counts)
            _print_row(name_of(path), counts)
            if counts["differs"] and not options.check:
                write(path, document)
    _print_row("total", total)
    return 1 if total["differs"] else 0


def answer_all(document: Document, asked: Oracle, show: int) -> Counter[str]:
    """Write the answers into the document; how many are as they were."""
    counts: Counter[str] = Counter()
    for case in document["cases"]:
        state, lines = answer(case, asked)
        counts[state] += 1
        if lines and counts["differs"] <= show:
            print("\n  ".join([f"{case['op']} {case['id']}", *lines]))
    return counts


def answer(case: Case, asked: Oracle) -> tuple[str, list[str]]:
    """Ask one case and write its answer into it; the state, and a line for each member that differs.

    It is asked again where it differs: some answers depend on the order of a Go map.
    """
    question = QUESTIONS.get(case["op"])
    request = question and question.ask(case)
    if question is None or request is None:
        return "not asked", []
    recorded = case.setdefault(question.place(case), {})
    for _ in range(TRIES):
        (said,) = asked.ask([request])
        try:
            told = question.tell(said)
        except (KeyError, StopIteration):
            return "differs", [f"no answer: {_short(said)}"]
        different = _different(told, recorded, case)
        if not different:
            return "same", []
    lines = [f"{key}: {_short(recorded.get(key))} → {_short(told[key])}" for key in different]
    recorded.update({key: told[key] for key in different})
    return "differs", lines


def _different(told: Answer, recorded: Answer, case: Case) -> list[str]:
    sparse = _sparse if case["op"].startswith("map-") else lambda value: value
    said, known = ({key: comparable(key, sparse(value)) for key, value in each.items()} for each in (told, recorded))
    absent = comparable("", None)
    compared = sorted(_compared(told, recorded, case))
    return [key for key in compared if said[key] != known.get(key, [] if key in UNORDERED else absent)]


def _compared(told: Answer, recorded: Answer, case: Case) -> set[str]:
    """The members to compare: of upstream's tables what was recorded, and no cost that is flagged."""
    optional = set() if "generated" in case.get("flags", ()) else {"warnings", "obj"}
    ignored = ({"cost", "maxCardinality"} | optional) - recorded.keys()
    if UNSTEADY & set(case.get("flags", ())):
        ignored.add("cost")
    return told.keys() - ignored


def _sparse(value: Any) -> Any:
    """An object without what is empty: tests in Go have types, whose zero values are in the recorded answer."""
    if isinstance(value, dict):
        kept = {key: _sparse(item) for key, item in value.items() if key not in {"apiVersion", "kind"}}
        return {key: item for key, item in kept.items() if item not in (None, {}, [])}
    return [_sparse(item) for item in value] if isinstance(value, list) else value


def comparable(key: str, value: Any) -> Any:
    """A value with what may differ from run to run taken out: the order of errors, the names of anonymous types."""
    if key == "rules":
        return [{k: comparable(k, v) for k, v in rule.items()} for rule in value or ()]
    if key in UNORDERED:
        return sorted({comparable("", _told(error)) for error in value or ()})
    text = json.dumps(value, sort_keys=True, ensure_ascii=False)
    return _TYPE_NAME.sub("selfType#", text)


def _told(error: Any) -> Any:
    """An error by its type and text, which says the rest."""
    return [error.get("type"), error.get("message") or error.get("error")] if isinstance(error, dict) else error


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) < 400 else text[:400] + "…"


def _print_row(name: str, counts: Counter[str]) -> None:
    print(f"{name:28}" + "".join(f"{counts[column] or '-':>11}" for column in COLUMNS))


if __name__ == "__main__":
    sys.exit(main())
