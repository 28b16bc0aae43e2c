"""``make bench``: measure, print the tables as Markdown, and write them as JSON with every sample.

python -m tests.bench [PART …] [--json FILE] [--publish] [--quick]

Parts: stages, pods, ome, cel, schema, server, starts, scaling, reconciler; all by default. The machine should do
nothing else. ``--publish`` writes the section of docs/performance.md. The reconciler needs ``make assets``. Programs of
this folder that have options of their own are run by their names: ``python -m tests.bench.services``.
"""

from __future__ import annotations

import argparse
import importlib
from pathlib import Path

from tests.bench.bars import IN_PROCESS, beside
from tests.bench.report import PAGE, Table, document, machine, markdown, published
from webhook.ground.frames import with_room

PARTS = ("stages", "pods", "ome", "cel", "schema", "server", "starts", "scaling", "reconciler")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description="Measure; print Markdown.")
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"what to measure: {', '.join(PARTS)}; default all")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write every sample there")
    parser.add_argument("--publish", action="store_true", help=f"write the section of {PAGE.name}")
    parser.add_argument("--quick", action="store_true", help="a few calls, to see that everything runs")
    options = parser.parse_args()
    if unknown := set(options.parts) - set(PARTS):
        parser.error(f"no such part: {', '.join(sorted(unknown))}; parts are {', '.join(PARTS)}")
    if options.publish and (options.parts or options.quick):
        parser.error("--publish needs all parts, in full")
    where, found = machine(), list[Table]()
    for name in options.parts or PARTS:
        measured = importlib.import_module(f"tests.bench.{name}").tables(quick=options.quick)
        print("\n".join(each.markdown() for each in measured), flush=True)
        found += measured
    found.insert(0, bars := beside(IN_PROCESS, found))
    print(bars.markdown(), flush=True)
    if options.json:
        options.json.write_text(document(where, found))
    if options.publish:
        PAGE.write_text(published(PAGE.read_text(), "bench", markdown(where, found)))


if __name__ == "__main__":
    with_room(main)  # as the command does
