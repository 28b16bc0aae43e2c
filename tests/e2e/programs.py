"""Modelgate's programs as an image has them: modules and policies are compiled once, and each start only reads them."""

from __future__ import annotations

import compileall
import shutil
import subprocess
import sys
from pathlib import Path

from tests.shared import ROOT
from tools.wheel import FOLDERS

SHIP = "from webhook.catalog import ship; ship()"
START = "import sys; from webhook.cli import main; sys.exit(main())"

SCRIPT = "start.py"

_entry = ["-m", "webhook"]


def modelgate(*arguments: str) -> list[str]:
    """The command line, from this checkout."""
    return [sys.executable, *_entry, *arguments]


def compile_into(folder: Path) -> None:
    """Copy what the wheel has into a folder, and compile there what is not compiled. Raises CalledProcessError."""
    for name in FOLDERS:
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    compileall.compile_dir(folder, quiet=1)
    subprocess.run([sys.executable, "-c", SHIP], cwd=folder, check=True)
    (folder / SCRIPT).write_text(f"{START}\n")


def start_from(folder: Path) -> None:
    """Start the programs of this folder from now on: Python searches the folder of a script for modules first."""
    _entry[:] = [str(folder / SCRIPT)]
