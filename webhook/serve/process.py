"""What this process may use and uses: memory, and file descriptors."""

from __future__ import annotations

import contextlib
import ctypes
import gc
import logging
import resource
from pathlib import Path
from typing import Final

__all__ = ["memory_limit", "raise_descriptor_limit", "resident", "return_memory", "virtual"]

log = logging.getLogger("modelgate")

DESCRIPTORS: Final = 1024
"""Descriptors that a server needs: 500 connections, 64 handshakes, its backlog and its files, with room to spare."""

_CGROUPS: Final = (Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"))


def memory_limit() -> int:
    """Bytes that the process's cgroup may use; 0 without a limit."""
    for path in _CGROUPS:
        with contextlib.suppress(OSError, ValueError):
            limit = int(path.read_text())
            return limit if limit < 2**60 else 0
    return 0


def resident() -> int:
    """Bytes of this process in memory."""
    return _pages(1) * resource.getpagesize()


def virtual() -> int:
    """Bytes of this process's address space, which RLIMIT_AS limits."""
    return _pages(0) * resource.getpagesize()


def _pages(index: int) -> int:
    return int(Path("/proc/self/statm").read_bytes().split()[index])


def return_memory() -> None:
    """Give free memory back to the kernel; takes a few milliseconds, and is for the moment after a large request.

    The C library keeps what was freed: a gate that has sent twelve large replies would stay at six times its size.
    Only glibc has ``malloc_trim``. Reference cycles of an error's traceback may hold a large body, too, and the
    collector, tuned for small requests, would keep them for hours.
    """
    gc.collect()
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)


def raise_descriptor_limit() -> None:
    """Allow as many descriptors as the hard limit does, and warn if these are too few."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with contextlib.suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if 0 <= soft < DESCRIPTORS:
        log.warning("only %d file descriptors are allowed; raise the limit (ulimit -n) to %d", soft, DESCRIPTORS)
