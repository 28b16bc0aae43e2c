"""The stamps that this process has written of late: the second call of a request need not compute its stamp again.

It only saves work. Another replica may get the second call, a third call is rare, and a forked child keeps what it
writes to itself. The stamp is then computed again, with the same result.
"""

from __future__ import annotations

from typing import Any, Final

from webhook.admission.decision import Request
from webhook.admission.stamp import ANNOTATION

__all__ = ["RecentStamps"]

LIMIT: Final = 512
"""Stamps that wait for the second call: an API server makes it within milliseconds, unless it refuses the request."""

SIZE: Final = 16 * 1024
"""Bytes of the largest review to remember: all labels and annotations that are kept take 8 MiB at most."""


class _Misses:
    """How many stamps were asked for in vain, but those of large reviews: a stamp of another replica is one."""

    count = 0


class RecentStamps:
    """Stamps by what both calls of a request have in common. Its uid is not: the API server makes one for each call."""

    def __init__(self, misses: _Misses | None = None) -> None:
        self._stamps: dict[tuple[str, str, str], tuple[Any, ...]] = {}
        self._misses = misses or _Misses()

    @property
    def missed(self) -> int:
        """Stamps not found, since the first of these stamps' predecessors (large reviews are not counted)."""
        return self._misses.count

    def anew(self) -> RecentStamps:
        """No stamps, for those who write by other rules; the misses of both are counted together."""
        return RecentStamps(self._misses)

    def add(self, request: Request, mutated: dict[str, Any] | None) -> None:
        """Note the stamp in the mutated object of a request."""
        if not 0 < request.size <= SIZE:
            return
        stamps = self._stamps
        try:
            key, about = _about(request, mutated)
            stamps[key] = about
        except (KeyError, TypeError, AttributeError):  # without a stamp, or no usual object
            return
        if len(stamps) > LIMIT:
            del stamps[next(iter(stamps))]

    def clear(self) -> None:
        """Forget all."""
        self._stamps.clear()

    def take(self, request: Request) -> bool:
        """Whether the stamp in the request's object was written for this request; it is forgotten then."""
        try:
            key, about = _about(request, request.object)
            if self._stamps.get(key) == about:
                del self._stamps[key]  # its memory, which is in the caches, is for the next request
                return True
        except (KeyError, TypeError, AttributeError, RecursionError):
            return False
        if 0 < request.size <= SIZE:
            self._misses.count += 1
        return False


def _about(request: Request, obj: Any) -> tuple[tuple[str, str, str], tuple[Any, ...]]:
    """A stamp, which has the hash of the specification, for which name; and who sent which metadata, and what was
    stored.

    Raises:
        KeyError, TypeError, AttributeError: no stamp, or not the metadata that an API server sends.
    """
    metadata, old = obj["metadata"], request.old_object
    annotations = metadata["annotations"]
    return (annotations[ANNOTATION], request.namespace, request.name), (
        request.kind,
        request.operation,
        request.dry_run,
        request.user,
        None if old is None else old["metadata"]["resourceVersion"],
        annotations,
        metadata.get("labels"),
    )
