"""`python -m tools.site`: build the site into ``build/site``."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tools.site.pages import ROOT, assemble

BUILD = ROOT / "build" / "site"


def main(target: Path = BUILD) -> int:
    """Assemble the pages, and build them; a warning, such as a dead link, is an error."""
    assemble(target)
    command = [sys.executable, "-m", "zensical", "build", "--strict", "--clean", "-f", str(target / "mkdocs.yml")]
    done = subprocess.run(command, check=False, cwd=target)  # noqa: S603 - the pinned generator
    if not done.returncode:
        print(f"open {target / 'html' / 'index.html'}")
    return done.returncode


if __name__ == "__main__":
    sys.exit(main())
