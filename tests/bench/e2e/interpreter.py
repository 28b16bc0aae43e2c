"""The interpreter that the Python webhooks are measured with: one that is built as that of the image is.

The image's is built with profile-guided and link-time optimisation, and so is Debian's. One that was built on the
machine, as pyenv does, usually is not, and takes more CPU for the same work. The peer in Go is compiled with all
optimisations, too.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from functools import cache
from pathlib import Path

from tests.bench.report import ROOT
from tests.oracle.build import CACHE

__all__ = ["about", "environment", "interpreter"]

LOCK = ROOT / "requirements" / "run.txt"
"""The packages of the image."""

_DISTRIBUTION = Path("/usr/bin/python3")
_SUITS = "import sys, venv; sys.exit(sys.version_info < (3, 11))"
_ABOUT = "import platform, ssl; print(f'{platform.python_version()}, {ssl.OPENSSL_VERSION}')"


def interpreter() -> Path:
    """A Python that has the packages of the image."""
    return environment("--require-hashes", "--only-binary", ":all:", "-r", str(LOCK)) / "bin" / "python"


@cache
def environment(*wanted: str) -> Path:
    """A virtual environment with what pip installs by these arguments; made once, outside the checkout."""
    base = _base()
    parts = (*wanted, _about(base), *(Path(each).read_text() for each in wanted if each.endswith(".txt")))
    folder = CACHE / f"bench-python-{hashlib.sha256(repr(parts).encode()).hexdigest()[:12]}"
    ready = folder / ".ready"
    if not ready.exists():
        subprocess.run([base, "-m", "venv", "--clear", "--without-pip", folder], check=True)
        pip = [sys.executable, "-m", "pip", "--python", str(folder / "bin" / "python"), "--disable-pip-version-check"]
        without_ours = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
        subprocess.run([*pip, "install", "-q", *wanted], check=True, env=without_ours)
        ready.touch()
    return folder


def about() -> str:
    """Its version, that of its OpenSSL, and whose it is."""
    return f"{_about(_base())}; the {'distribution' if _base() == _DISTRIBUTION else 'benchmark'}'s own"


@cache
def _base() -> Path:
    """The distribution's interpreter; the one that runs this, if there is none or it is too old."""
    suits = [str(_DISTRIBUTION), "-c", _SUITS]
    if _DISTRIBUTION.exists() and subprocess.run(suits, check=False, capture_output=True).returncode == 0:
        return _DISTRIBUTION
    return Path(sys.executable)


def _about(python: Path) -> str:
    return subprocess.run([python, "-c", _ABOUT], check=True, capture_output=True, text=True).stdout.strip()
