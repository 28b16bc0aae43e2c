"""Two controllers must never fight: stop writing for an API whose status another one writes.

The API server notes in ``metadata.managedFields`` who wrote the status. ``trimmed`` keeps that part of it.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

from reconciler.resource import APIResource
from reconciler.say.conditions import timestamp
from reconciler.writer import FIELD_MANAGER
from webhook.cluster import light

__all__ = ["Guard", "trimmed", "writers"]


def trimmed(obj: dict[str, Any], resource: APIResource) -> dict[str, Any]:
    """An object without what is never read; of ``managedFields`` the writers of the status, with their times."""
    found = [
        {key: entry.get(key, "") for key in ("manager", "time")}
        for entry in obj["metadata"].get("managedFields") or ()
        if entry.get("subresource") == "status"
    ]
    reduced = light(obj, resource)
    return {**reduced, "metadata": {**reduced["metadata"], "managedFields": found}} if found else reduced


def writers(obj: dict[str, Any]) -> dict[str, str]:
    """The managers that have written the status, each with the time of its last write."""
    found: dict[str, str] = {}
    for each in obj["metadata"].get("managedFields") or ():
        found[each["manager"]] = max(each["time"], found.get(each["manager"], ""))
    return found


class Guard:
    """The APIs for which writing has stopped: their status is not written again before a restart."""

    def __init__(self, started: datetime) -> None:
        self._started = timestamp(started)
        self.held: dict[str, str] = {}
        """API → the manager that writes its status."""

    def check(self, api: str, obj: dict[str, Any]) -> str:
        """Hold the API back if another manager has written the status last; the reason if that is new, else empty."""
        times = writers(obj)
        ours = times.pop(FIELD_MANAGER, self._started)
        last = max(times, key=times.__getitem__, default="")
        return self.hold(api, obj, last) if last and times[last] > ours and api not in self.held else ""

    def hold(self, api: str, obj: dict[str, Any], writer: str = "another manager") -> str:
        """Hold the API back; returns the reason."""
        self.held[api] = writer
        return (
            f"{writer} writes the status of {obj['kind']} objects, so the reconciler does not write that of API {api}"
        )
