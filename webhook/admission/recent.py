"""The stamps that this process has written of late: the second call of a request need not compute its stamp again.

It only saves work. Another replica may get the second call, and a forked child keeps what it writes to itself. The
stamp is then computed again, with the same result.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Any, Final

from webhook.admission.request import Request
from webhook.admission.stamp import ANNOTATION

__all__ = ["RecentStamps"]

LIMIT: Final = 512
"""Stamps kept: the API server makes the second call within milliseconds, and a gate answers 4,000 calls a second."""

LENGTH: Final = 4096
"""Characters of the texts that are kept of one request: a stamp has a few hundred. A longer one is computed again."""


class RecentStamps:
    """Stamps by the uid of their request. A stamp has the hash of one specification; it counts for one object only."""

    def __init__(self) -> None:
        self._known: OrderedDict[str, tuple[object, ...]] = OrderedDict()

    def add(self, request: Request, mutated: dict[str, Any] | None) -> None:
        """Note the stamp in the mutated object of a request."""
        text = _stamp(mutated)
        if text.__class__ is str and request.uid:
            about = (request.name, request.namespace, text, *request.kind)
            if sum(map(len, about)) + len(request.uid) <= LENGTH:
                self._known[request.uid] = about
                if len(self._known) > LIMIT:
                    self._known.popitem(last=False)

    def __contains__(self, request: Request) -> bool:
        """Whether the stamp in the request's object was written for this request."""
        about = self._known.get(request.uid)
        return about is not None and about == (
            request.name,
            request.namespace,
            _stamp(request.object),
            *request.kind,
        )


def _stamp(obj: dict[str, Any] | None) -> Any:
    """The annotation, None if there is none."""
    try:
        return (obj or {})["metadata"]["annotations"][ANNOTATION]
    except (KeyError, TypeError):
        return None
