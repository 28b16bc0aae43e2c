"""Elect one leader by a Lease (coordination.k8s.io/v1), as Kubernetes' controllers do.

The client library's election cannot be stopped, trusts the clocks of other machines, and keeps its record in an
annotation or in local time. This one uses only its own clock and the changes that it sees (client-go,
tools/leaderelection).
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from reconciler.resource import LEASES
from reconciler.say.conditions import utc_now
from reconciler.writer import Writer
from webhook.cluster import ApiError, Key, Reflector

CALL_TIMEOUT = 2.5

MOST_TRANSITIONS = (1 << 31) - 1
"""The API server refuses a larger number (int32)."""

log = logging.getLogger(__name__)


@dataclass(slots=True)
class Lease:
    """A claim to lead under a name.

    Times are in seconds, with client-go's defaults. Another process may take a lease that has not changed for
    ``duration``. The leader renews every ``renewal``, tries again every ``period`` if that fails, and gives up if it
    could not renew for ``deadline``. An attempt is two calls, or three if another program has changed the lease,
    so ``api`` should time out after :data:`CALL_TIMEOUT`: the last attempt of a leader (begun before 10 s) then ends
    before another process may take over (at 15 s). One that waits follows the lease by a watch.
    """

    api: Writer
    namespace: str
    name: str
    identity: str
    duration: float = 15.0
    deadline: float = 10.0
    renewal: float = 5.0
    period: float = 2.0
    clock: Callable[[], float] = time.monotonic
    now: Callable[[], datetime] = utc_now
    _seen: tuple[str, float] = field(default=("", 0.0), init=False)  # resourceVersion, and when it was first seen
    _renewed: float = field(default=0.0, init=False)
    """Start of the last successful attempt: other processes count from later."""
    _taken: bool = field(default=False, init=False)
    """Another process was seen to hold the lease: it works already, however it came by it."""
    _held: dict[str, Any] | None = field(default=None, init=False)
    """The lease as this process wrote it last."""
    _watched: dict[str, Any] | None = field(default=None, init=False)
    """The lease as the watch has brought it; None if there is none."""

    def acquire(self, stop: threading.Event) -> bool:
        """Wait until this process leads; False if ``stop`` is set before."""
        reflector = Reflector(self.api, LEASES, self._changed, self._deleted, self.namespace, name=self.name)
        watch = threading.Thread(target=reflector.run, name="lease", daemon=True)
        try:
            while not stop.is_set():
                if self._may_be_free(reflector) and self.attempt():
                    log.info("leading as %s by lease %s/%s", self.identity, self.namespace, self.name)
                    return True
                if not watch.ident:
                    watch.start()
                stop.wait(self.period)
            return False
        finally:
            reflector.stop()

    def _may_be_free(self, reflector: Reflector) -> bool:
        """Whether an attempt may succeed, as far as the watch shows; without one, always."""
        lease = self._watched
        return not reflector.listed.is_set() or bool(reflector.trouble) or lease is None or self._expired(lease)

    def _changed(self, _: Key, lease: dict[str, Any]) -> None:
        self._watched = lease

    def _deleted(self, _: Key) -> None:
        self._watched = None

    def hold(self, stop: threading.Event) -> bool:
        """Renew until ``stop`` is set (True) or the lease is lost (False); then all work must end at once."""
        renewed = True
        while not stop.wait(self.renewal if renewed else self.period):
            renewed = self.attempt()
            if not renewed and (self._taken or self.clock() + self.period - self._renewed >= self.deadline):
                log.error("lease %s/%s is lost", self.namespace, self.name)
                return False
        return True

    def attempt(self) -> bool:
        """Take or renew the lease, if it is free, expired or held by this process."""
        began = self.clock()
        try:
            if self._held is not None and self._renew(self._held):
                self._renewed = began
                return True
            lease = self._watched = self.api.get(LEASES, self.namespace, self.name)
            self._taken = lease is not None and not self._ours(lease) and _holder(lease) != ""
            if lease is not None and not (self._ours(lease) or self._expired(lease)):
                return False
            write = self.api.create if lease is None else self.api.replace
            self._held = write(LEASES, self._claimed(lease or self._fresh()))
        except ApiError as error:
            if error.status != 409:  # another process was faster
                log.warning("lease %s/%s: %s", self.namespace, self.name, error)
            return False
        self._renewed = began
        return True

    def _renew(self, held: dict[str, Any]) -> bool:
        """Write the lease that this process wrote last; False if it has changed since, and is to be read."""
        self._held = None
        try:
            self._held = self.api.replace(LEASES, self._claimed(held))
        except ApiError as error:
            if error.status not in {404, 409}:
                raise
        return self._held is not None

    def release(self) -> None:
        """Let another process lead at once instead of after ``duration``."""
        try:
            lease = self.api.get(LEASES, self.namespace, self.name)
            if lease is not None and self._ours(lease):
                self.api.replace(LEASES, {**lease, "spec": {**lease["spec"], "holderIdentity": ""}})
        except ApiError as error:
            log.warning("lease %s/%s is not released: %s", self.namespace, self.name, error)

    def _ours(self, lease: dict[str, Any]) -> bool:
        return _holder(lease) == self.identity

    def _expired(self, lease: dict[str, Any]) -> bool:
        version = lease["metadata"]["resourceVersion"]
        if version != self._seen[0]:
            self._seen = (version, self.clock())
        return not _holder(lease) or self.clock() - self._seen[1] >= self.duration

    def _fresh(self) -> dict[str, Any]:
        metadata = {"name": self.name, "namespace": self.namespace}
        return {"apiVersion": LEASES.api_version, "kind": LEASES.kind, "metadata": metadata}

    def _claimed(self, lease: dict[str, Any]) -> dict[str, Any]:
        """The lease, taken or renewed."""
        spec, now = lease.get("spec"), self.now().strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        if not self._ours(lease):
            transitions = 0 if spec is None else min(spec.get("leaseTransitions", 0) + 1, MOST_TRANSITIONS)
            claim = {"holderIdentity": self.identity, "leaseDurationSeconds": int(self.duration), "acquireTime": now}
            spec = {**claim, "leaseTransitions": transitions}
        return {**lease, "spec": {**(spec or {}), "renewTime": now}}


def _holder(lease: dict[str, Any]) -> str:
    return str((lease.get("spec") or {}).get("holderIdentity") or "")
