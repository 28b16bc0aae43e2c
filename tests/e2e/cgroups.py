"""A branch of the control-group tree for one node: its kubelet removes every pod's group it does not know of."""

from __future__ import annotations

from pathlib import Path

from tests.e2e.processes import wait_until

ROOT = Path("/sys/fs/cgroup")

# A group has the share of CPU of one process, however many are in it: on a busy machine no pod would start in time.
SHARES = {"cpu.weight": 100, "cpu.shares": 1024}
PROCESSES = 8


def hierarchies() -> list[Path]:
    """The root of the one tree (v2), or of each controller's (v1)."""
    if (ROOT / "cgroup.controllers").exists():
        return [ROOT]
    # Controllers that are mounted together are links to one folder.
    return [path for path in ROOT.iterdir() if (path / "cgroup.procs").exists() and not path.is_symlink()]


def make_branch(name: str) -> None:
    for root in hierarchies():
        branch = root / name
        branch.mkdir()
        for file, usual in SHARES.items():
            if (branch / file).exists():
                (branch / file).write_text(str(PROCESSES * usual))
        if root.name == "cpuset":  # a v1 cpuset starts empty, and nothing can run in an empty one
            for setting in ("cpuset.cpus", "cpuset.mems"):
                (branch / setting).write_text((root / setting).read_text())


def remove_branch(name: str) -> None:
    """Remove the groups below ``name``, once their processes, which were killed, are gone."""
    for root in hierarchies():
        branch = root / name
        if branch.exists():
            wait_until(lambda branch=branch: removed(branch), f"the processes of {branch} to end", seconds=10)


def removed(branch: Path) -> bool:
    groups = [path for path in branch.rglob("*") if path.is_dir()]
    try:
        for group in (*sorted(groups, reverse=True), branch):
            group.rmdir()
    except OSError:  # busy: something in it still ends
        return False
    return True
