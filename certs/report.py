"""What goes wrong, said once: in a line of text, and as an Event of the cluster."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from socket import gethostname
from typing import Any

from certs.api import Api
from certs.errors import ApiServerError, CertsError

__all__ = ["Events", "Reporter"]

# A fault is looked at every few seconds. An Event lives for an hour by default, so an hourly one stays visible.
_AGAIN = timedelta(hours=1)
_CONTROLLER = "modelgate.dev/certs"
_NOTE = 1024  # Kubernetes' limit


@dataclass(frozen=True, slots=True)
class Events:
    """Events about one Secret, in its namespace; needs the right to create them, and no other."""

    api: Api
    namespace: str
    secret: str

    def warn(self, reason: str, note: str, now: datetime) -> None:
        """Raises ApiServerError."""
        self.api.create(f"/apis/events.k8s.io/v1/namespaces/{self.namespace}/events", self._event(reason, note, now))

    def _event(self, reason: str, note: str, now: datetime) -> dict[str, Any]:
        regarding = {"apiVersion": "v1", "kind": "Secret", "namespace": self.namespace, "name": self.secret}
        return {
            "apiVersion": "events.k8s.io/v1",
            "kind": "Event",
            "metadata": {"generateName": f"{self.secret[:200]}-", "namespace": self.namespace},
            "eventTime": f"{now:%FT%T.%fZ}",
            "reportingController": _CONTROLLER,
            "reportingInstance": gethostname()[:128],
            "action": "KeepCertificates",
            "reason": reason,
            "regarding": regarding,
            "note": note[:_NOTE],
            "type": "Warning",
        }


@dataclass
class Reporter:
    """Reports each fault when it appears, hourly while it lasts, and its end. Usage: ``tell(faults, now)``.

    ``error`` and ``info`` take a format and its value, as the methods of a logger do.
    """

    error: Callable[[str, object], None]
    info: Callable[[str, object], None]
    events: Events | None = None
    _said: dict[str, datetime] = field(default_factory=dict)

    def tell(self, faults: Sequence[CertsError], now: datetime) -> None:
        for text in set(self._said) - set(map(str, faults)):
            del self._said[text]
            self.info("over: %s", text)
        for fault in faults:
            said = self._said.get(str(fault))
            if said is None or now - said >= _AGAIN:
                self._said[str(fault)] = now
                self.error("%s", fault)
                self._record(fault, now)

    def _record(self, fault: CertsError, now: datetime) -> None:
        if self.events is None:
            return
        try:
            self.events.warn(fault.reason, str(fault), now)
        except ApiServerError as error:
            self.error("no Event was created: %s", error)
