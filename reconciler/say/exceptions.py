"""Events about PolicyExceptions: a day before one ends, and when it has ended."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any, Final

from reconciler.projection import Happening
from reconciler.say.events import record
from reconciler.writer import Writer
from webhook.cluster import ApiError
from webhook.enforcement import EXCEPTION, PolicyObject

BEFORE: Final = 86_400.0
"""Seconds before the end: a working day to renew an exception, or to repair what it is about."""

AFTER: Final = 3_600.0
"""Seconds after the end, as long as an API server keeps an Event: a process that starts later repeats none."""


class Exceptions:
    """Writes each Event once."""

    def __init__(self, api: Writer) -> None:
        self._api = api
        self._written: set[tuple[str, str, float]] = set()

    def tell(self, objects: Iterable[dict[str, Any]], policies: Iterable[PolicyObject], now: float) -> None:
        """Write what is new about the policies of these objects."""
        due = {policy.name: policy for policy in policies if policy.until - BEFORE <= now < policy.until + AFTER}
        for obj in objects if due else ():
            policy = due.get(obj["metadata"]["name"]) if obj["kind"] == EXCEPTION else None
            if policy is not None:
                self._tell(obj, policy, now)

    def _tell(self, obj: dict[str, Any], policy: PolicyObject, now: float) -> None:
        end = datetime.fromtimestamp(policy.until, UTC)
        if now < policy.until:
            happening = Happening("Warning", "ExceptionEnds", f"ends at {end:%Y-%m-%dT%H:%M:%SZ}: {policy.reason}")
        else:
            text = f"has ended at {end:%Y-%m-%dT%H:%M:%SZ}: what it is about is refused or warned of again"
            happening = Happening("Normal", "ExceptionEnded", text)
        key = obj["metadata"].get("uid", ""), happening.reason, policy.until
        if key not in self._written:
            with suppress(ApiError):  # the API server could not answer: it is asked again at the next tick
                record(self._api, obj, happening, datetime.fromtimestamp(now, UTC))
                self._written.add(key)
