"""A control group with a memory limit for one gate, where this machine lets us make one (v1 or v2)."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.e2e.cgroups import ROOT
from tests.hostile.processes import MIB

LIMIT = 512 * MIB
"""What the chart allows the gate."""


@dataclass(frozen=True)
class MemoryGroup:
    """A group that exists. ``mount`` is where a process inside a container would find it."""

    path: Path
    mount: Path
    peak_file: str

    def command(self, command: list[str]) -> list[str]:
        """The command in this group, and with the group mounted as in a container, so that it reads its own limit."""
        script = 'echo $$ > "$0/cgroup.procs" && mount --bind "$0" "$1" && shift && exec "$@"'
        return ["unshare", "--mount", "sh", "-c", script, str(self.path), str(self.mount), *command]

    def peak(self) -> float:
        """MiB at the most since ``forget``."""
        return int((self.path / self.peak_file).read_text()) / MIB

    def forget(self) -> None:
        """Begin the peak anew; a v2 kernel before 6.12 cannot, and keeps the highest."""
        with contextlib.suppress(OSError):
            (self.path / self.peak_file).write_text("0")


@contextlib.contextmanager
def memory_group(limit: int = LIMIT) -> Iterator[MemoryGroup | None]:
    """A group for the time of the context; None where none can be made."""
    group = _made(limit)
    try:
        yield group
    finally:
        if group is not None:
            _remove(group.path)


def _made(limit: int) -> MemoryGroup | None:
    is_v2 = (ROOT / "cgroup.controllers").exists()
    mount = ROOT if is_v2 else ROOT / "memory"
    path = mount / f"modelgate-hostile-{os.getpid()}"
    if shutil.which("unshare") is None:
        return None
    try:
        path.mkdir()
        (path / ("memory.max" if is_v2 else "memory.limit_in_bytes")).write_text(str(limit))
    except OSError:
        _remove(path)
        return None
    group = MemoryGroup(path, mount, "memory.peak" if is_v2 else "memory.max_usage_in_bytes")
    if subprocess.run(group.command(["true"]), check=False, capture_output=True).returncode:
        _remove(path)
        return None
    return group


def _remove(path: Path) -> None:
    for _ in range(100):
        try:
            path.rmdir()
        except FileNotFoundError:
            return
        except OSError:  # its last process still ends
            time.sleep(0.1)
        else:
            return
