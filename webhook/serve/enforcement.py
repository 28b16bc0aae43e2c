"""Follow the Enforcements and PolicyExceptions of the cluster, and the time, by which they begin and end."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Final

from webhook.admission.errors import NotReady
from webhook.cluster import FollowedPolicies, Reader
from webhook.enforcement import contradictions, remarks_on
from webhook.engine import vocabulary
from webhook.serve.gate import Gate
from webhook.serve.polling import GRACE, Lookout

log = logging.getLogger("modelgate")

TOGETHER: Final = 0.2
"""Seconds to wait for further changes: policies are often applied together, and each set is an index of its own."""

LOOK: Final = 30.0
"""Seconds between two looks without a change: the clock may be set anew meanwhile."""

SOON: Final = 0.2
"""The same before the first list is complete."""

RETRY: Final = 5.0
"""Seconds between two attempts to connect, as those of the view."""

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
        self._lookout = Lookout("enforcement", "Enforcements and PolicyExceptions", self._next, TOGETHER)

    def unready(self) -> list[str]:
        """Why it is not known how strict to be; empty after the first look."""
        return [self._trouble] if self._trouble else []

    def appeared(self, definition: str) -> None:
        """A definition of this name was added or changed."""
        if self._followed is not None:
            self._followed.appeared(definition)
            self._lookout.due.set()

    def following(self) -> AbstractAsyncContextManager[None]:
        """Follow them while the context lasts."""
        return self._lookout.running(self._stop)

    def _next(self) -> float:
        """Connect, if that is not done, and look."""
        if self._followed is None:
            try:
                self._followed = FollowedPolicies(self._connect(), self._lookout.due.set, self._heard)
            except NotReady as error:
                self._trouble = str(error)
                return RETRY
        return self.look(self._followed)

    def look(self, followed: FollowedPolicies) -> float:
        """Tell the gate what is in force now; returns the seconds until the next look without a change."""
        followed.start()
        if why := followed.unready():
            self._trouble = self._trouble and f"Enforcements and PolicyExceptions are not read yet: {why}"
            return SOON
        now = self._clock()
        degrees = followed.degrees(now)
        self._gate.enforce(degrees)
        self._tell(followed)
        self._trouble = ""
        self._remark(followed, now)
        return min(LOOK, max(0.0, degrees.turn - now))

    def _tell(self, followed: FollowedPolicies) -> None:
        """Say what cannot be read: a gate that is ready has said it."""
        if trouble := "; ".join(filter(None, [followed.denied(), followed.memory.trouble])):
            if trouble not in self._gate.readiness.refused:
                log.error("%s", trouble)
                self._gate.report("EnforcementRefused", trouble)
            self._gate.refuse(PART, trouble)
        else:
            self._gate.accept(PART)

    def _remark(self, followed: FollowedPolicies, now: float) -> None:
        """Count what cannot be read, and say what is odd, once."""
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

    def _stop(self) -> None:
        if self._followed is not None:
            self._followed.stop(GRACE)
