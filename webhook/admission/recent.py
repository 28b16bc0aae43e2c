"""The stamps that this process has written of late: the second call of a request need not compute its stamp again.

It only saves work. Another replica may get the second call, and a forked child keeps what it writes to itself. The
stamp is then computed again, with the same result.
"""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from typing import Any, Final

from webhook.admission.request import Request
from webhook.admission.stamp import ANNOTATION

__all__ = ["RecentStamps"]

LIMIT: Final = 1024
"""Stamps kept: the API server makes the second call within milliseconds, and a gate answers 2,000 calls a second."""


class RecentStamps:
    """Pairs of a request's uid and a stamp. The stamp's hash ties it to one specification."""

    def __init__(self) -> None:
        self._known: OrderedDict[bytes, None] = OrderedDict()

    def add(self, request: Request, mutated: dict[str, Any] | None) -> None:
        """Note the stamp in the mutated object of a request."""
        key = _key(request, mutated)
        if key is not None:
            self._known[key] = None
            if len(self._known) > LIMIT:
                self._known.popitem(last=False)

    def __contains__(self, request: Request) -> bool:
        """Whether the stamp in the request's object was written for this request."""
        return _key(request, request.object) in self._known


def _key(request: Request, obj: dict[str, Any] | None) -> bytes | None:
    try:
        text = (obj or {})["metadata"]["annotations"][ANNOTATION].encode()
    except (AttributeError, KeyError, TypeError, UnicodeEncodeError):
        return None
    who = repr((request.uid, request.kind, request.namespace, request.name)).encode(errors="replace")
    return hashlib.sha256(len(who).to_bytes(8) + who + text).digest() if request.uid else None
