"""Set the version everywhere: ``python -m tools.release.version 0.3.0``. The package's is the authority."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[2]
PLACES: Final = {
    "pyproject.toml": r'(?m)^version = "([^"]+)"$',
    "chart/Chart.yaml": r"(?m)^(?:version|appVersion): (\S+)$",
    "chart-crds/Chart.yaml": r"(?m)^(?:version|appVersion): (\S+)$",
}
"""File → a pattern whose group is the version."""


def main(arguments: list[str]) -> int:
    if len(arguments) != 1 or not re.fullmatch(r"\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?", arguments[0]):
        print("version: give one version, such as 0.3.0", file=sys.stderr)
        return 64
    for name, pattern in PLACES.items():
        path = ROOT / name
        path.write_text(re.sub(pattern, lambda found: found[0].replace(found[1], arguments[0]), path.read_text()))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
