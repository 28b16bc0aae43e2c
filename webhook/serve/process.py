"""What this process may use and uses: memory, and file descriptors."""

from __future__ import annotations

import contextlib
import ctypes
import gc
import logging
import resource
from pathlib import Path
from typing import Final

log = logging.getLogger("modelgate")

DESCRIPTORS: Final = 1024
"""Descriptors that a server needs: 600 connections, 64 handshakes, its backlog and its files, with room to spare."""

FREED: Final = 4 * 1024 * 1024
"""Bytes that the allocator may keep for what comes next."""

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


class _Allocated(ctypes.Structure):
    """What the C library says of its heap (``struct mallinfo2``), in bytes; ``free`` is what nothing uses."""

    _names = ("arena", "free_chunks", "fast_chunks", "mapped", "mapped_bytes", "most", "fast", "used", "free", "top")
    _fields_ = tuple((name, ctypes.c_size_t) for name in _names)


class Memory:
    """Gives memory that is free again back to the kernel; only glibc has the functions for it.

    The C library keeps what was freed: a gate that has sent twelve large replies, or held a thousand connections, would
    stay at several times its size. Reference cycles of an error's traceback may hold a large body, too, and the
    collector, tuned for small requests, would keep them for hours.
    """

    def __init__(self) -> None:
        self._library = ctypes.CDLL(None)
        self._least = self._kept = 0
        gc.collect()
        self.trim()  # what loading the rules has left behind

    def trim(self) -> None:
        """Give memory back if :data:`FREED` bytes more are free, or if the process has grown by as many while so many
        are free; takes a few milliseconds. What was given back counts as free, also after its next use.
        """
        gc.collect(1)
        least = FREED if resident() > self._least + FREED else self._kept + FREED
        if self._free() > least:
            self._library.malloc_trim(0)
            self._least, self._kept = resident(), self._free()
        self._least, self._kept = min(self._least, resident()), min(self._kept, self._free())

    def _free(self) -> int:
        try:
            info = self._library.mallinfo2
        except AttributeError:
            return 0
        info.restype = _Allocated
        free: int = info().free
        return free


def raise_descriptor_limit() -> None:
    """Allow as many descriptors as the hard limit does, and warn if these are too few."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with contextlib.suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if 0 <= soft < DESCRIPTORS:
        log.warning("only %d file descriptors are allowed; raise the limit (ulimit -n) to %d", soft, DESCRIPTORS)
