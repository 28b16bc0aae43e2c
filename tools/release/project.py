"""The version and the commit of a release, and the places that must agree on them."""

from __future__ import annotations

import re
import subprocess
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import yaml

ROOT: Final = Path(__file__).parents[2]

_RELEASED: Final = re.compile(r"^## (\d+\.\d+\.\d+)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Commit:
    """``revision`` is its hash, ``time`` when it was made, in seconds since 1970; ``changes`` are uncommitted files."""

    revision: str
    time: int
    changes: tuple[str, ...]


def version() -> str:
    """The version, as pyproject.toml has it: the one place where it is written by hand."""
    return str(tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"])


def charts(root: Path = ROOT) -> list[Path]:
    """The folders of all charts."""
    return sorted(path.parent for path in root.glob("chart*/Chart.yaml"))


def disagreements() -> Iterator[str]:
    """What has another version than pyproject.toml, or is not described yet."""
    wanted = version()
    for chart in charts():
        described = yaml.safe_load((chart / "Chart.yaml").read_text())
        for field in ("version", "appVersion"):
            if described.get(field) != wanted:
                yield f"{chart.name}/Chart.yaml: {field} is {described.get(field)}, but pyproject.toml has {wanted}"
    released = _RELEASED.findall((ROOT / "CHANGELOG.md").read_text())
    if wanted not in released:
        yield f"CHANGELOG.md: there is no section {wanted}"


def commit() -> Commit:
    """What is checked out."""
    revision, time = git("log", "-1", "--format=%H %ct").split()
    return Commit(revision, int(time), tuple(git("status", "--porcelain").splitlines()))


def git(*arguments: str) -> str:
    """What git prints, without the last line break."""
    done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=True)
    return done.stdout.rstrip("\n")
