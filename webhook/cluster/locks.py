"""The lock of what is in memory of the cluster. A thread that forks holds it, so that a child never finds it taken.

A child has one thread, a copy of the one that forked. A lock that another thread held at that moment is never released
in the child. Large reviews are decided in children, and read the view, which informer threads write all the time.
"""

from __future__ import annotations

import os
import threading
from typing import Final

__all__ = ["MEMORY"]

MEMORY: Final = threading.Lock()
"""One lock for all stores and recent answers: it is held only for dictionary operations, so threads rarely wait."""

os.register_at_fork(before=MEMORY.acquire, after_in_parent=MEMORY.release, after_in_child=MEMORY.release)
