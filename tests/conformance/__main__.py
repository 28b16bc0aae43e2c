"""``python -m tests.conformance [FILES…] [--show N]``: the recorded answers of real code against our engines."""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from pathlib import Path

from tests.conformance.runner import Outcome, Unreadable, load_ops, load_skips, run_file
from tests.conformance.tables import all_tables, is_table, name_of, read, table
from tests.shared import SHARED

COLUMNS = ("passed", "failed", "skipped", "missing")
_SHOWN = 3


def main(argv: list[str] | None = None) -> int:
    """Run tables (all by default; ``defaulting`` or a path names one) and print a table. 1 on any failure, 2 if a file
    is not a table.
    """
    parser = argparse.ArgumentParser(prog="python -m tests.conformance", description=main.__doc__)
    parser.add_argument("files", nargs="*", metavar="FILES")
    text = f"print the first N failures of each file ({_SHOWN} by default), and what is skipped"
    parser.add_argument("--show", type=int, metavar="N", help=text)
    parser.add_argument("--op", help="only cases of this operation")
    options = parser.parse_args(argv)
    ops, skips = load_ops(), load_skips()
    total: Counter[str] = Counter()
    unreadable: list[str] = []
    print(f"{'file / operation':44}" + "".join(f"{column:>9}" for column in COLUMNS))
    for path in _paths(options.files):
        try:
            outcomes = run_file(path, ops, skips, options.op)
        except Unreadable as error:
            unreadable.append(str(error))
            continue
        total.update(_print_file(name_of(path), outcomes, options.show))
    _print_row("total", total)
    print(f"{total['passed']} passed, {total['failed'] + total['missing']} failed, {total['skipped']} skipped")
    for error in unreadable:
        print(f"conformance: {error}", file=sys.stderr)
    if unreadable:
        return 2
    return 1 if total["failed"] or total["missing"] or not total["passed"] else 0


def _paths(names: list[str]) -> list[Path]:
    if not names:
        return [*all_tables(), *_shared()]
    return [Path(name) if name.endswith((".json", ".gz")) else table(name) for name in names]


def _shared() -> list[Path]:
    """The tables of pods, of objects, of fit, of reading, and of LLMKube's operator, which are not published."""
    folders = ("corpora/pods", "corpora/objects", "corpora/fit", "corpora-upstream/llmkube")
    found = [path for folder in folders for path in sorted(SHARED.glob(f"{folder}/*.json"))]
    there = [path for path in (*found, SHARED / "corpora" / "yaml.json") if path.exists() and is_table(read(path))]
    if {path.parent.name for path in there} < {"pods", "objects", "fit", "llmkube", "corpora"}:
        print(f"{'pods, objects, fit, llmkube, yaml':44} not all run: {SHARED} lacks tables; set MODELGATE_SHARED")
    return there


def _print_file(name: str, outcomes: list[Outcome], show: int | None) -> Counter[str]:
    counts = Counter(outcome.state for outcome in outcomes)
    _print_row(name, counts)
    by_op: dict[str, Counter[str]] = {}
    for outcome in outcomes:
        by_op.setdefault(outcome.op, Counter())[outcome.state] += 1
    if len(by_op) > 1:
        for op, row in sorted(by_op.items()):
            _print_row(f"  {op}", row)
    if show:
        _print_skipped(outcomes)
    for outcome in [o for o in outcomes if o.state == "failed"][: _SHOWN if show is None else show]:
        print(f"    FAILED {outcome.op} {outcome.id}\n      {outcome.message}")
    return counts


def _print_skipped(outcomes: list[Outcome]) -> None:
    reasons: dict[str, list[str]] = {}
    for outcome in [o for o in outcomes if o.state == "skipped"]:
        reasons.setdefault(outcome.message, []).append(outcome.id)
    for reason, ids in reasons.items():
        print(f"    SKIPPED {len(ids)}: {reason}: {', '.join(ids)}")


def _print_row(name: str, counts: Counter[str]) -> None:
    print(f"{name:44}" + "".join(f"{counts[column] or '-':>9}" for column in COLUMNS))


sys.exit(main())
