"""What the API server holds, read again only when it may have changed: a watch of each object by its name says when.

A look reads either all followed objects anew, or none, in the order in which it asks for them. So a look that reads
none is like one of a process that was suspended after it had read: what it writes names the versions that it read, and
the API server refuses it if they are older than what is stored.
"""

from __future__ import annotations

import threading
import time
from typing import Any, Final

from certs.api import Api
from certs.errors import ApiServerError

_PRECAUTION: Final = 120.0
"""Seconds after which all is read without a change, too: for the time of the API server, and for lost rights."""
_CLOCK: Final = 5.0
"""Seconds by which the clock may move against the time that passes before it counts as set anew."""
_MOST_FAILURES: Final = 5
"""Seconds until a watch that failed begins again are doubled with each failure, to 32."""
_NOT_FOUND: Final = 404


class FollowingApi(Api):
    """An :class:`Api` that remembers what ``get`` read at the paths that it follows.

    Usage: ``begin()`` before each look. Without the right to watch, or while one of the watches is down, each look
    reads all.
    """

    def __init__(self) -> None:
        super().__init__()
        self._followed: dict[str, threading.Event] = {}  # set while the watch of the path is open
        self._memory: dict[str, dict[str, Any] | ApiServerError] = {}
        self._changed = threading.Event()
        self._until = self._offset = 0.0

    def follow(self, *paths: str) -> None:
        """Watch the objects of these paths from now on, in threads that end with the process."""
        for path in paths:
            self._followed[path] = threading.Event()
        for path in paths:
            threading.Thread(target=self._watch, args=(path,), name=f"watch {path}", daemon=True).start()

    def begin(self) -> None:
        """Forget what was read, unless nothing has happened since."""
        now = time.monotonic()
        offset = time.time() - now
        if (
            self._changed.is_set()
            or now >= self._until
            or abs(offset - self._offset) > _CLOCK
            or not all(opened.is_set() for opened in self._followed.values())
        ):
            self._changed.clear()  # before anything is read, so that no change is missed
            self._memory.clear()
            self._until, self._offset = now + _PRECAUTION, offset

    def get(self, path: str) -> dict[str, Any]:
        if path not in self._followed:
            return super().get(path)
        if path not in self._memory:
            self._memory[path] = self._read(path)
        answer = self._memory[path]
        if isinstance(answer, ApiServerError):
            raise answer
        return answer

    def _read(self, path: str) -> dict[str, Any] | ApiServerError:
        try:
            return super().get(path)
        except ApiServerError as error:
            if error.status != _NOT_FOUND:
                self._changed.set()
                raise
            return error

    def _call(self, method: str, path: str, *rest: Any, **named: Any) -> dict[str, Any]:
        if method != "GET":
            self._memory.clear()
            self._changed.set()
        return super()._call(method, path, *rest, **named)

    def _watch(self, path: str) -> None:
        """Note each change of an object, for ever. A watch that begins may have missed one."""
        failures = 0
        while True:
            try:
                for _ in self.changes(path):
                    self._changed.set()
                    self._followed[path].set()
                    failures = 0
            except ApiServerError:  # each look that reads all says what is wrong
                failures = min(failures + 1, _MOST_FAILURES)
            finally:
                self._followed[path].clear()
            time.sleep(2.0**failures if failures else 0)
