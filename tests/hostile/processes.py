"""What a tree of processes uses: memory, descriptors, CPU. Read from /proc, so Linux only."""

from __future__ import annotations

import contextlib
import os
import re
from pathlib import Path

MIB = 1024 * 1024
GONE = (FileNotFoundError, ProcessLookupError)


def children(pid: int) -> list[int]:
    """The processes that any thread of this one has started and not reaped."""
    found: list[int] = []
    with contextlib.suppress(*GONE):
        for task in Path(f"/proc/{pid}/task").iterdir():
            with contextlib.suppress(*GONE):
                found += map(int, (task / "children").read_text().split())
    return found


def tree(pid: int) -> list[int]:
    return [pid, *(each for child in children(pid) for each in tree(child))]


def pss(pid: int) -> float:
    """MiB of the tree: memory that is shared by n processes counts 1/n in each."""
    return sum(_kib(each, "Pss:") for each in tree(pid)) / 1024


def anonymous(pid: int) -> float:
    """MiB of the tree that no file backs. Whatever else runs on the machine, the same processes have the same."""
    return sum(_kib(each, "Pss_Anon:") for each in tree(pid)) / 1024


def _kib(pid: int, field: str) -> int:
    with contextlib.suppress(*GONE, PermissionError):
        for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
            if line.startswith(field):
                return int(line.split()[1])
    return 0


def rss(pid: int) -> float:
    """MiB of one process."""
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / MIB


def data(pid: int) -> int:
    """Bytes that one process may write to: its address space without what is only reserved."""
    kibibytes = re.search(r"VmData:\s+(\d+)", Path(f"/proc/{pid}/status").read_text())
    assert kibibytes is not None
    return 1024 * int(kibibytes[1])


def descriptors(pid: int) -> int:
    with contextlib.suppress(*GONE):
        return len(os.listdir(f"/proc/{pid}/fd"))  # noqa: PTH208 - only their number
    return 0


def zombies(pid: int) -> list[int]:
    return [child for child in children(pid) if state(child) == "Z"]


def state(pid: int) -> str:
    """One letter as ``ps`` prints it; "" for a process that is gone."""
    fields = _stat(pid)
    return fields[0] if fields else ""


def cpu(pid: int) -> float:
    """Seconds of CPU of a process and of its reaped children."""
    return sum(map(int, _stat(pid)[11:15])) / os.sysconf("SC_CLK_TCK")


def of_others() -> float:
    """Seconds of CPU that the machine has spent outside the tree of this process, since it was started."""
    busy = Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:]
    user, nice, system, _idle, _waiting, interrupts, soft = map(int, busy[:7])
    spent = (user + nice + system + interrupts + soft) / os.sysconf("SC_CLK_TCK")
    return spent - sum(map(cpu, tree(os.getpid())))


def _stat(pid: int) -> list[str]:
    with contextlib.suppress(*GONE):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return []


def cores() -> tuple[int, int]:
    """The core for the gate and the core for its callers; the same one on a machine that has no second."""
    allowed = sorted(os.sched_getaffinity(0))
    return allowed[0], allowed[-1]
