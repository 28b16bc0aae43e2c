"""Whether the file behind a Model's URL has changed since it was first seen, and what its GGUF header says.

The first look records the fingerprint. A later one that differs is SourceDrifted, whatever ``refreshPolicy`` says; the
recorded fingerprint stays, because the pods may still have that file. A new specification is a new file.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from reconciler.projection import Observed
from reconciler.projections.remote import Probe, Remote, Turns
from reconciler.say.conditions import Condition, find, merged, timestamp, utc_now
from webhook.cluster.view import ClusterView

DRIFTED: Final = "SourceDrifted"

RETRY: Final = 300.0
"""Seconds after which a server that did not answer is asked again."""

BUSY: Final = 10.0
"""Seconds after which a look is tried again that had to wait for others."""

REMEMBERED: Final = 10_000
"""Models whose server did not answer: more are forgotten, and asked again at once."""

_KEPT: Final = ("sourceETag", "sourceContentLength", "lastRevalidated", "size", "gguf")

_UNITS: Final = ("B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB")


@dataclass(frozen=True, slots=True)
class Found:
    """The members and conditions of a status, and the seconds until the next look."""

    members: dict[str, Any]
    conditions: list[dict[str, Any]]
    wait: float


@dataclass(slots=True)
class Drift:
    """Looks at the file of each Model once in an ``interval`` of seconds, when it is its turn."""

    remote: Remote
    interval: float
    turns: Turns = field(default_factory=lambda: Turns(1))
    _failed: dict[str, datetime] = field(default_factory=dict)

    def observe(self, model: dict[str, Any], _: ClusterView, now: datetime | None = None) -> Probe | None:
        """A look at the file, if it is time for one."""
        source, uid = str(model["spec"].get("source", "")), str(model["metadata"].get("uid", ""))
        moment = now or utc_now()
        if not source.lower().startswith(("http://", "https://")) or self._wait(model, moment) > 0:
            return None
        wants_header = model["spec"].get("format") == "gguf" and "gguf" not in _known(model)
        with self.turns.take(str(model["metadata"].get("namespace", ""))) as turn:
            if not turn:
                return None
            probe = self.remote(source, wants_header)
        if probe.error:
            if len(self._failed) >= REMEMBERED:
                self._failed.clear()
            self._failed[uid] = moment
        else:
            self._failed.pop(uid, None)
        return probe

    def found(self, model: dict[str, Any], observed: Observed) -> Found:
        """What the status says of the file."""
        known, probe = _known(model), observed.measured
        before = (model.get("status") or {}).get("conditions") or ()
        said = find(before, DRIFTED) if known else None
        if not isinstance(probe, Probe) or probe.error:
            least = 1.0 if isinstance(probe, Probe) else BUSY
            return Found(known, [said] if said else [], max(self._wait(model, observed.now), least))
        drifted = bool(known.get("sourceETag") or known.get("sourceContentLength")) and _differs(known, probe)
        source = model["spec"]["source"]
        if drifted:
            condition = Condition(
                DRIFTED, True, "UpstreamChanged", f'Upstream source "{source}" differs from the cached copy'
            )
        else:
            condition = Condition(DRIFTED, False, "InSync", "Cached model matches the upstream source")
        members = {**known, "lastRevalidated": timestamp(observed.now)}
        if not drifted:
            members |= {"sourceETag": probe.etag, "sourceContentLength": probe.length}
            members["gguf"] = probe.gguf or known.get("gguf")
            members["size"] = formatted(probe.length) if probe.length else known.get("size")
        written = merged(before, [condition], model["metadata"].get("generation", 0), observed.now)
        return Found({key: value for key, value in members.items() if value}, written, self.interval)

    def _wait(self, model: dict[str, Any], now: datetime) -> float:
        """Seconds until the next look."""
        failed = self._failed.get(str(model["metadata"].get("uid", "")))
        later = failed + timedelta(seconds=min(RETRY, self.interval)) if failed else now
        last = _time(_known(model).get("lastRevalidated"))
        due = last + timedelta(seconds=self.interval) if last else now
        return (max(due, later) - now).total_seconds()


def _known(model: dict[str, Any]) -> dict[str, Any]:
    """What the status says of the file of this specification; empty if it is about an older one."""
    status = model.get("status") or {}
    available = find(status.get("conditions") or (), "Available") or {}
    current = available.get("observedGeneration") == model["metadata"].get("generation", 0)
    return {key: status[key] for key in _KEPT if status.get(key)} if current else {}


def _differs(known: dict[str, Any], probe: Probe) -> bool:
    """By ETag if both have one, else by length; a length that one of them lacks says nothing."""
    if known.get("sourceETag") and probe.etag:
        return bool(known["sourceETag"] != probe.etag)
    return bool(known.get("sourceContentLength") and probe.length and known["sourceContentLength"] != probe.length)


def formatted(size: int) -> str:
    """A size as LLMKube writes it: ``512 B``, ``4.7 GiB``."""
    value, unit = float(size), 0
    while value >= 1024 and unit < len(_UNITS) - 1:
        value, unit = value / 1024, unit + 1
    return f"{size} B" if unit == 0 else f"{value:.1f} {_UNITS[unit]}"


def _time(text: Any) -> datetime | None:
    try:
        return datetime.fromisoformat(str(text)).astimezone(UTC) if text else None
    except ValueError:
        return None
