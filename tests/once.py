"""What the workers of pytest-xdist share: the first one makes it, the others wait."""

import fcntl
from collections.abc import Callable
from pathlib import Path

import pytest

__all__ = ["made_once"]


def made_once(factory: pytest.TempPathFactory, name: str, make: Callable[[Path], object]) -> Path:
    """A folder of this run of the tests, filled by ``make`` in one process only.

    If it fails there, the next process tries again, in a folder of its own.
    """
    base = factory.getbasetemp()
    root = base.parent if base.name.startswith("popen-") else base  # a worker's folder lies in that of the run
    done = root / f"{name}.done"
    with (root / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not done.exists():
            folder = factory.mktemp(name)
            make(folder)
            done.write_text(str(folder))
    return Path(done.read_text())
