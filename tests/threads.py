"""Threads that work beside a test."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator

__all__ = ["beside"]


@contextlib.contextmanager
def beside(stop: threading.Event, work: Callable[[int], object], count: int) -> Iterator[None]:
    """So many threads work, each with its number, until they see ``stop``, which the end of the context sets."""
    threads = [threading.Thread(target=work, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        stop.set()
        for thread in threads:
            thread.join()
