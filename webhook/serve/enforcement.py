"""Follow the Enforcements and PolicyExceptions of the cluster, and the time, by which they begin and end."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import threading
import time
from collections.abc import AsyncIterator, Callable
from typing import Final

from webhook.admission.errors import NotReady
from webhook.cluster import FollowedPolicies, Reader, join
from webhook.enforcement import contradictions, remarks_on
from webhook.engine import vocabulary
from webhook.serve.gate import Gate

log = logging.getLogger("modelgate")

TOGETHER: Final = 0.2
"""Seconds to wait for further changes: policies are often applied together, and each set is an index of its own."""

LOOK: Final = 30.0
"""Seconds between two looks without a change: the clock may be set anew meanwhile."""

SOON: Final = 0.2
"""The same before the first list is complete."""

RETRY: Final = 5.0
"""Seconds between two attempts to connect, as those of the view."""

GRACE: Final = 5.0
"""Seconds for the threads to end; they are daemons."""

PART: Final = "enforcement"


class EnforcedPolicies:
    """Tells a gate how strict it is. ``connect`` raises NotReady if it is not possible yet.

    The gate is not ready before all policies are listed, or known not to be there: it would refuse what is excepted. If
    it may not read them, it judges by its profile and says so. One that cannot be read keeps its last good state.
    ``heard`` are the seconds since the last event of a watch of the definitions.
    """

    def __init__(
        self,
        gate: Gate,
        connect: Callable[[], Reader],
        heard: Callable[[], float],
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._gate = gate
        self._connect = connect
        self._heard = heard
        self._clock = clock
        self._followed: FollowedPolicies | None = None
        self._trouble = "Enforcements and PolicyExceptions are not read yet"
        self._logged: set[str] = set()
        self._due = threading.Event()
        self._stop = threading.Event()

    def unready(self) -> list[str]:
        """Why it is not known how strict to be; empty after the first look."""
        return [self._trouble] if self._trouble else []

    def appeared(self, definition: str) -> None:
        """A definition of this name was added or changed."""
        if self._followed is not None:
            self._followed.appeared(definition)
            self._due.set()

    @contextlib.asynccontextmanager
    async def following(self) -> AsyncIterator[None]:
        """Follow them while the context lasts."""
        keeper = threading.Thread(target=self._keep, name="enforcement", daemon=True)
        keeper.start()
        try:
            yield
        finally:
            await asyncio.to_thread(self._end, keeper)

    def _keep(self) -> None:
        while not self._stop.is_set() and self._followed is None:
            try:
                self._followed = FollowedPolicies(self._connect(), self._due.set, self._heard)
            except NotReady as error:
                self._trouble = str(error)
                self._stop.wait(RETRY)
        while self._followed is not None and not self._stop.is_set():
            wait = LOOK
            try:
                wait = self.look(self._followed)
            except Exception:  # one unexpected error must not be the last look
                log.exception("a look at Enforcements and PolicyExceptions has failed")
            self._due.wait(wait)
            self._stop.wait(TOGETHER)
            self._due.clear()  # before the look, so that no change is missed

    def look(self, followed: FollowedPolicies) -> float:
        """Tell the gate what is in force now; returns the seconds until the next look without a change."""
        followed.start()
        if why := followed.unready():
            self._trouble = self._trouble and f"Enforcements and PolicyExceptions are not read yet: {why}"
            return SOON
        now = self._clock()
        degrees = followed.degrees(now)
        self._gate.enforce(degrees)
        self._trouble = ""
        self._tell(followed, now)
        return min(LOOK, max(0.0, degrees.turn - now))

    def _tell(self, followed: FollowedPolicies, now: float) -> None:
        """Say what cannot be read, and what is odd, each once."""
        if trouble := "; ".join(filter(None, [followed.denied(), followed.memory.trouble])):
            if trouble not in self._gate.readiness.refused:
                log.error("%s", trouble)
                self._gate.report("EnforcementRefused", trouble)
            self._gate.refuse(PART, trouble)
        else:
            self._gate.accept(PART)
        self._gate.metrics.policies_refused.set(len(followed.memory.problems))
        catalog = self._gate.state.catalog
        if catalog is None:
            return
        words = vocabulary(catalog)
        odd = {str(remark) for policy in followed.memory.policies for remark in remarks_on(policy, words, now)}
        odd |= {str(remark) for remark in contradictions(followed.memory.policies)}
        self._gate.metrics.policies_odd.set(len(odd))
        for text in sorted(odd - self._logged):
            log.warning("%s", text)
            self._gate.report("EnforcementOdd", text)
        self._logged = odd

    def _end(self, keeper: threading.Thread) -> None:
        self._stop.set()
        self._due.set()
        if self._followed is not None:
            self._followed.stop(GRACE)
        join([keeper], GRACE)
