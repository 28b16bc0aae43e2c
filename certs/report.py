"""What goes wrong and what is changed, said once: in a line of text, and as an Event of the cluster."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import pairwise
from socket import gethostname
from typing import Final

from certs.api import Api
from certs.errors import ApiServerError, CertsError

# A fault is looked at every few seconds. An Event lives for an hour by default, so an hourly one stays visible.
_AGAIN = timedelta(hours=1)
_LASTING = timedelta(minutes=2)  # longer than a pod takes to end that has lost its rights
_CONTROLLER = "modelgate.dev/certs"
_NOTE = 1024  # Kubernetes' limit
_ADMISSION = "admissionregistration.k8s.io/v1"
_KINDS: Final = {
    "configmaps": ("v1", "ConfigMap"),
    "mutatingwebhookconfigurations": (_ADMISSION, "MutatingWebhookConfiguration"),
    "secrets": ("v1", "Secret"),
    "serviceaccounts": ("v1", "ServiceAccount"),
    "validatingwebhookconfigurations": (_ADMISSION, "ValidatingWebhookConfiguration"),
}


@dataclass(frozen=True, slots=True)
class Note:
    """Something that was done: a sentence for the log and, with a ``reason``, an Event about the object of ``path``."""

    text: str
    reason: str = ""
    path: str = ""

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True, slots=True)
class Events:
    """Events in one namespace; needs the right to create them there, and no other.

    An Event is about the object of a REST path, or about the pod: ``pod`` and ``uid``, else the name of the host.
    Events about objects without a namespace are beside the others, so that one command shows all.
    """

    api: Api
    namespace: str
    pod: str = ""
    uid: str = ""

    def create(self, level: str, reason: str, path: str, note: str, now: datetime) -> None:
        """``level`` is Normal or Warning. Raises ApiServerError."""
        regarding = _object(path) or self._pod()
        event = {
            "apiVersion": "events.k8s.io/v1",
            "kind": "Event",
            "metadata": {"generateName": f"{regarding['name'][:200]}-", "namespace": self.namespace},
            "eventTime": f"{now:%FT%T.%fZ}",
            "reportingController": _CONTROLLER,
            "reportingInstance": gethostname()[:128],
            "action": "KeepCertificates",
            "reason": reason,
            "regarding": {**regarding, "namespace": self.namespace},
            "note": note[:_NOTE],
            "type": level,
        }
        self.api.create(f"/apis/events.k8s.io/v1/namespaces/{self.namespace}/events", event)

    def _pod(self) -> dict[str, str]:
        named = {"apiVersion": "v1", "kind": "Pod", "name": self.pod or gethostname()}
        return named | ({"uid": self.uid} if self.uid else {})


@dataclass
class Reporter:
    """Reports each fault when it appears, hourly while it lasts, and its end. Usage: ``tell(faults, now)``.

    ``error`` and ``info`` take a format and its value, as the methods of a logger do.
    """

    error: Callable[[str, object], None]
    info: Callable[[str, object], None]
    events: Events | None = None
    _seen: dict[str, datetime] = field(default_factory=dict)  # when each fault was seen first
    _logged: dict[str, datetime] = field(default_factory=dict)
    _recorded: dict[str, datetime] = field(default_factory=dict)

    def tell(self, faults: Sequence[CertsError], now: datetime) -> None:
        for text in set(self._seen) - set(map(str, faults)):
            for times in (self._seen, self._logged, self._recorded):
                times.pop(text, None)
            self.info("over: %s", text)
        for fault in faults:
            first = self._seen.setdefault(str(fault), now)
            if _is_due(self._logged, fault, now):
                self.error("%s", fault)
            lasts = not fault.may_pass or now - first >= _LASTING
            if lasts and _is_due(self._recorded, fault, now):
                self._record("Warning", fault.reason, fault.path, str(fault), now)

    def note(self, note: Note, now: datetime) -> None:
        """Something that was done."""
        self.info("%s", note)
        if note.reason:
            self._record("Normal", note.reason, note.path, note.text, now)

    def _record(self, level: str, reason: str, path: str, text: str, now: datetime) -> None:
        if self.events is None:
            return
        try:
            self.events.create(level, reason, path, text, now)
        except ApiServerError as error:
            self.error("no Event was created: %s", error)


def _is_due(times: dict[str, datetime], fault: CertsError, now: datetime) -> bool:
    """Whether a fault is to be told again; notes that it is told now."""
    last = times.get(str(fault))
    if last is not None and now - last < _AGAIN:
        return False
    times[str(fault)] = now
    return True


def _object(path: str) -> dict[str, str]:
    """The object of a REST path; {} for a collection, and for a kind that this package does not know."""
    parts = path.split("/")
    for resource, name in pairwise(parts):
        if resource in _KINDS:
            version, kind = _KINDS[resource]
            return {"apiVersion": version, "kind": kind, "name": name}
    return {}
