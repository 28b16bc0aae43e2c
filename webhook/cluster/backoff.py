"""How long threads wait: for the next try, and for each other's end."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterable

__all__ = ["backoff", "join"]

log = logging.getLogger("modelgate")


def backoff(failures: int, first: float, most: float) -> float:
    """Seconds before the next try after so many failures: ``first`` before any, then doubled, ``most`` at most."""
    return min(first * float(1 << min(failures, 32)), most)  # 2^32 times anything is over every limit


def join(threads: Iterable[threading.Thread], seconds: float) -> None:
    """Wait for all to end, and say of those that have not that they did not."""
    end = time.monotonic() + seconds
    for thread in threads:
        thread.join(max(0.0, end - time.monotonic()))
        if thread.is_alive():
            log.warning("%s did not end within %.0f s", thread.name, seconds)
