"""``make hostile``: what hostile callers can do to a gate with one core and 512 MiB, measured against bars."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

from tests.hostile import (
    admitted,
    bars,
    bodies,
    children,
    costs,
    freshness,
    isolation,
    large,
    memory,
    normal,
    small,
    victims,
)
from tests.shared import ROOT

PAGE = ROOT / "docs" / "reliability.md"
PARTS = ("costs", "small", "pairs", "admitted", "children", "freshness", "memory", "isolation", "large", "normal")


def main(argv: list[str] | None = None) -> int:
    """Run the parts, print the table; 1 where a bar is not met."""
    options = _parser().parse_args(argv)
    report = bars.Report()
    for name, part in _parts(options).items():
        if name in options.parts:
            part(report)
    print(f"{len(report.rows)} figures, {len(report.missed)} over their bars, {len(report.skipped)} parts skipped")
    if options.json:
        report.write(options.json)
    if options.publish:
        bars.publish(report, PAGE, whole=not options.kinds)
    return 1 if report.missed else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.hostile", description=__doc__)
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=PARTS)
    parser.add_argument("--kinds", nargs="+", choices=[*bodies.kinds()], default=())
    parser.add_argument("--seconds", type=float, default=10, help="of each attack of the part isolation")
    parser.add_argument("--tries", type=int, default=6, help="of a round of the part isolation that others disturb")
    parser.add_argument(
        "--search", type=float, default=120, help="seconds of search per kind of the parts small and pairs"
    )
    parser.add_argument("--short", action="store_true", help="a tenth of everything")
    parser.add_argument("--against", type=Path, help="another checkout, to compare the normal path with")
    parser.add_argument("--write", action="store_true", help="keep the worst objects found in worst.yaml")
    parser.add_argument("--json", type=Path, help="write the figures to a file")
    parser.add_argument("--publish", action="store_true", help=f"write the table into {PAGE.name}")
    return parser


def _parts(options: argparse.Namespace) -> dict[str, Callable[[bars.Report], None]]:
    share = 10 if options.short else 1
    tenth = memory.Sizes()
    sizes = memory.Sizes(*(max(2, getattr(tenth, name) // share) for name in memory.Sizes.__dataclass_fields__))
    return {
        "costs": costs.run,
        "small": partial(small.run, options=small.Options(options.search / share, options.kinds, options.write)),
        "pairs": partial(victims.run, seconds=options.search / share, names=options.kinds),
        "admitted": partial(admitted.run, names=options.kinds),
        "children": children.run,
        "freshness": freshness.run,
        "memory": partial(memory.run, sizes=sizes),
        "isolation": partial(isolation.run, seconds=options.seconds / share, names=options.kinds, tries=options.tries),
        "large": partial(large.run, seconds=options.seconds / share),
        "normal": partial(_normal, against=options.against),
    }


def _normal(report: bars.Report, against: Path | None) -> None:
    if against is None:
        report.skip(normal.PART, "give another checkout with --against")
    else:
        normal.run(report, against)


if __name__ == "__main__":
    sys.exit(main())
