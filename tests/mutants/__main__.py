"""``python -m tests.mutants [ROOM…] [--sample N] [--seed S]``: which mistakes would the tests of a room notice?

A table of mutants by room, and each that survives without an explanation in ``explained.yaml``. The exit code is 1 if
there is one. ``rooms.yaml`` says what a room is.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections import Counter
from pathlib import Path

import yaml

from tests.mutants.mutate import Mutant, mutants
from tests.mutants.run import KILLED, run

HERE = Path(__file__).parent
ROOMS = yaml.safe_load((HERE / "rooms.yaml").read_text())


def main() -> int:
    parser = argparse.ArgumentParser(prog="tests.mutants", description=__doc__)
    parser.add_argument("rooms", nargs="*", metavar="ROOM", help=f"of {', '.join(ROOMS)}")
    parser.add_argument("--sample", type=int, default=0, metavar="N", help="only N mutants of each room, by chance")
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--only", default="", metavar="TEXT", help="only mutants with this text in their name")
    parser.add_argument("--jobs", type=int, default=2, metavar="N", help="N mutants at a time (2)")
    given = parser.parse_args()
    print(f"seed {given.seed}")
    left = [one for room in given.rooms or ROOMS for one in survivors(room, given)]
    return 1 if left else 0


def survivors(room: str, given: argparse.Namespace) -> list[Mutant]:
    """The mutants of a room that are neither killed nor explained; a line about each, and one about the room."""
    explained = yaml.safe_load((HERE / "explained.yaml").read_text()) or {}
    found = [mutant for pattern in ROOMS[room]["modules"] for path in _modules(pattern) for mutant in mutants(path)]
    found = [mutant for mutant in found if given.only in mutant.name]
    if 0 < given.sample < len(found):
        found = random.Random(given.seed).sample(found, given.sample)
    verdicts: Counter[str] = Counter()
    left: list[Mutant] = []
    lines: list[str] = []

    def tell(mutant: Mutant, verdict: str) -> None:
        if verdict != KILLED and mutant.name in explained:
            verdict = "explained"
        elif verdict != KILLED:
            left.append(mutant)
            lines.append(f"  {mutant.path}:{mutant.line}: {verdict}: {mutant.name.partition(':')[2]}")
        verdicts[verdict] += 1

    if problem := run(found, ROOMS[room]["tests"], tell, given.jobs):
        print(f"{room}: {problem}")
        sys.exit(2)
    print(*lines, sep="\n")
    good = verdicts[KILLED] + verdicts["explained"]
    counts = ", ".join(f"{count} {verdict}" for verdict, count in verdicts.most_common())
    print(f"{room}: {len(found)} mutants, {counts}: {100 * good / max(len(found), 1):.1f} %", flush=True)
    return left


def _modules(pattern: str) -> list[Path]:
    return [path for path in sorted(Path().glob(pattern)) if path.name != "__init__.py"]


if __name__ == "__main__":
    sys.exit(main())
