"""``python -m tests.mutants [ROOM…] [--sample N] [--seed S]``: which mistakes would the tests of a room notice?

A table of mutants by room, and each that survives without an explanation in ``explained.yaml``. The exit code is 1 if
there is one. ``rooms.yaml`` says what a room is.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import yaml

from tests.mutants.mutate import Mutant, mutants
from tests.mutants.publish import PAGE, Figures, publish
from tests.mutants.run import KILLED, run
from tests.mutants.templates import template_mutants

HERE = Path(__file__).parent
ROOMS = yaml.safe_load((HERE / "rooms.yaml").read_text())
EXPLAINED = "explained"


def main() -> int:
    parser = argparse.ArgumentParser(prog="tests.mutants", description=__doc__)
    parser.add_argument("rooms", nargs="*", metavar="ROOM", help=f"of {', '.join(ROOMS)}")
    parser.add_argument("--sample", type=int, default=0, metavar="N", help="only N mutants of each room, by chance")
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--only", default="", metavar="TEXT", help="only mutants with this text in their name")
    parser.add_argument("--jobs", type=int, default=2, metavar="N", help="N mutants at a time (2)")
    parser.add_argument(
        "--kept", type=Path, metavar="FILE", help="add each verdict to a file; what it says is killed is not tried anew"
    )
    parser.add_argument("--publish", action="store_true", help=f"write the rows into {PAGE.name}")
    given = parser.parse_args()
    print(f"seed {given.seed}")
    left = [one for room in given.rooms or ROOMS for one in survivors(room, given)]
    return 1 if left else 0


def survivors(room: str, given: argparse.Namespace) -> list[Mutant]:
    """The mutants of a room that are neither killed nor explained; a line about each, and one about the room."""
    explained = yaml.safe_load((HERE / "explained.yaml").read_text()) or {}
    every = [mutant for mutant in _mutants(room) if given.only in mutant.name]
    chosen = random.Random(given.seed).sample(every, given.sample) if 0 < given.sample < len(every) else every
    verdicts: Counter[str] = Counter()
    left: list[Mutant] = []
    lines: list[str] = []

    def tell(mutant: Mutant, verdict: str) -> None:
        if verdict != KILLED and mutant.name in explained:
            verdict = EXPLAINED
        elif verdict != KILLED:
            left.append(mutant)
            lines.append(f"  {mutant.path}:{mutant.line}: {verdict}: {mutant.name.partition(':')[2]}")
        verdicts[verdict] += 1

    def note(mutant: Mutant, verdict: str) -> None:
        if given.kept:
            with given.kept.open("a") as file:
                file.write(json.dumps([mutant.name, verdict]) + "\n")

    killed = _killed(given.kept)
    for mutant in chosen:
        if mutant.name in killed:
            tell(mutant, KILLED)
    if problem := run([one for one in chosen if one.name not in killed], ROOMS[room]["tests"], tell, given.jobs, note):
        print(f"{room}: {problem}")
        sys.exit(2)
    print(*lines, sep="\n")
    counts = ", ".join(f"{count} {verdict}" for verdict, count in verdicts.most_common())
    figures = Figures(room, len(every), len(chosen), verdicts[KILLED], verdicts[EXPLAINED])
    print(f"{room}: {len(chosen)} mutants, {counts}: {figures.share:.1f} %", flush=True)
    if given.publish:
        publish(figures, ROOMS[room]["about"], given.seed)
    return left


def _killed(kept: Path | None) -> set[str]:
    """The names of the mutants that a file says are killed."""
    lines = kept.read_text().splitlines() if kept and kept.exists() else []
    return {name for name, verdict in map(json.loads, lines) if verdict == KILLED}


def _mutants(room: str) -> Iterator[Mutant]:
    for pattern in ROOMS[room]["modules"]:
        for path in sorted(Path().glob(pattern)):
            if path.name != "__init__.py":
                yield from mutants(path) if path.suffix == ".py" else template_mutants(path)


if __name__ == "__main__":
    sys.exit(main())
