"""Exponential backoff, and joining threads with a deadline."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterable

__all__ = ["backoff", "join"]

log = logging.getLogger("modelgate")


def backoff(failures: int, first: float, most: float) -> float:
    """Seconds until the next attempt: ``first``, doubled with each failure, at most ``most``."""
    return min(first * float(1 << min(failures, 32)), most)  # 2^32 times any interval exceeds every limit


def join(threads: Iterable[threading.Thread], seconds: float) -> None:
    """Wait for all threads to end, and log those that do not."""
    end = time.monotonic() + seconds
    for thread in threads:
        thread.join(max(0.0, end - time.monotonic()))
        if thread.is_alive():
            log.warning("%s did not end within %.0f s", thread.name, seconds)
