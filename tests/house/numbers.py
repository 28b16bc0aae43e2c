"""The numbers that may only fall, in ``numbers.yaml``: measure → room → the most places that it may have."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import yaml

from tests.house.measures import MEASURES, Measure
from tests.house.tree import House

FILE = Path(__file__).with_name("numbers.yaml")
SLACK = 0.03
"""The part by which a number may be higher than the measure: a commit may remove lines without lowering it at once, but
what was reached must not be filled again. Small numbers have no slack.
"""

LOWER = "python -m tests.house --lower"
HEAD = f"""\
# What each room may have, by measure. `{LOWER}` writes lower numbers, and lines of new rooms.
# To raise a number, write it here, and say why in the commit. `python -m tests.house MEASURE [ROOM]` lists the places.
"""

Numbers = Mapping[str, Mapping[str, int]]


def read(file: Path = FILE) -> Numbers:
    return yaml.safe_load(file.read_text()) if file.exists() else {}


def too_high(measure: Measure, house: House, numbers: Numbers) -> Iterator[str]:
    """A sentence for each room that has more than its number."""
    allowed = numbers.get(measure.name, {})
    for room, count in measure.numbers(house).items():
        if count > allowed.get(room, 0):
            yield (
                f"{room}: {count} {measure.counts}; at most {allowed.get(room, 0)} are allowed. {measure.instead} "
                f"`python -m tests.house {measure.name} {room}` lists them. "
                f"Lower it, or raise the number in {FILE.name} with a reason in the commit"
            )


def stale(measure: Measure, house: House, numbers: Numbers) -> Iterator[str]:
    """A sentence for each number that is higher than it has to be."""
    counts = measure.numbers(house)
    for room, number in numbers.get(measure.name, {}).items():
        if number - counts.get(room, 0) > SLACK * number:
            yield f"{room}: {counts.get(room, 0)} {measure.counts}, and {number} are allowed: run `{LOWER}`"


def lowered(house: House, numbers: Numbers) -> dict[str, dict[str, int]]:
    """The numbers with the lower ones of the house. A measure or a room that is new gets its number; none is raised."""
    lower = {}
    for measure in MEASURES:
        before, now = numbers.get(measure.name), measure.numbers(house)
        if before is None:
            lower[measure.name] = now
            continue
        new = {room: now[room] for room in now.keys() - before.keys() if measure.name == "lines"}
        kept = {room: min(number, now[room]) for room, number in before.items() if room in now}
        lower[measure.name] = dict(sorted((kept | new).items()))
    return lower


def write(numbers: Numbers, file: Path = FILE) -> None:
    file.write_text(HEAD + yaml.safe_dump(dict(numbers), sort_keys=False))
