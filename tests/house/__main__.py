"""``python -m tests.house``: what the house has, and what it may have.

With a MEASURE, list its places. With ``--lower``, write lower numbers.
"""

from __future__ import annotations

import argparse
import sys

from tests.house import numbers
from tests.house.measures import MEASURES
from tests.house.tree import House
from tests.test_faces import ROOT


def main() -> int:
    """0, or 1 if a room has more than its number."""
    parser = argparse.ArgumentParser(prog="python -m tests.house", description=__doc__)
    parser.add_argument("measure", nargs="?", choices=[measure.name for measure in MEASURES], help="list its places")
    parser.add_argument("room", nargs="?", help="only those of this room, such as webhook.engine")
    parser.add_argument("--lower", action="store_true", help=f"write lower numbers into {numbers.FILE.name}")
    options = parser.parse_args()
    house, allowed = House(ROOT), numbers.read()
    if options.measure:
        (measure,) = (measure for measure in MEASURES if measure.name == options.measure)
        for room, places in measure.of(house).items():
            if options.room in (None, room):
                print(*places, sep="\n")
        return 0
    if options.lower:
        allowed = numbers.lowered(house, allowed)
        numbers.write(allowed)
    refused = 0
    for measure in MEASURES:
        count, number = sum(measure.numbers(house).values()), sum(allowed.get(measure.name, {}).values())
        print(f"{measure.name:20} {count:6} of {number:6}  {measure.counts}")
        for text in numbers.too_high(measure, house, allowed):
            refused += 1
            print(f"    {text}")
    return int(refused > 0)


if __name__ == "__main__":
    sys.exit(main())
