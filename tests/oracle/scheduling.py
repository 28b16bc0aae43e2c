"""kube-scheduler's own code as a program: the text about a pod that no node can run.

``python -m tests.oracle.scheduling`` builds it from ``scheduler/main.go``, once, into the cache of the oracle, and
prints where it is. It needs Go.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from pathlib import Path

from tests.e2e.assets import KUBERNETES, locked
from tests.e2e.machine import Unavailable
from tests.e2e.recipes import go, kubernetes_module
from tests.oracle.build import CACHE

SOURCE = Path(__file__).with_name("scheduler") / "main.go"


def _target() -> Path:
    digest = hashlib.sha256(SOURCE.read_bytes()).hexdigest()[:12]
    return CACHE / f"scheduler-{KUBERNETES}-{digest}"


def find_scheduler() -> Path | None:
    """The program, if it is already built."""
    path = _target() / "scheduler"
    return path if os.access(path, os.X_OK) else None


def scheduler() -> Path:
    """The program, built where it is absent. Raises Unavailable without Go."""
    if found := find_scheduler():
        return found
    if not shutil.which("go"):
        raise Unavailable("needs Go to build kube-scheduler's code")
    target = _target()
    with locked(target):
        sources = target / "src"
        kubernetes_module(sources)
        (sources / "scheduler").mkdir(parents=True, exist_ok=True)
        shutil.copy(SOURCE, sources / "scheduler")
        go("build", "-ldflags=-s -w", "-o", str(target / "scheduler"), "./scheduler", folder=sources)
    return target / "scheduler"


if __name__ == "__main__":
    print(scheduler())
