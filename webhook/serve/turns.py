"""Whose turn it is: one job at a time, first that of the caller that has used the least time lately.

A caller that asks without a pause waits behind the others, however many jobs it sends and whatever their size. Of two
callers that have used as much, the one that has waited longer comes first.
"""

from __future__ import annotations

import asyncio
import itertools
import re
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, NamedTuple

from webhook.admission.errors import DeadlineExceeded, Unavailable

WAITING: Final = 32
"""Jobs that may wait for their turn."""

HALF_LIFE: Final = 10.0
"""Seconds after which half of the time that a caller has used is forgotten: twice the default timeout of the chart."""

CALLERS: Final = 1_000
"""Peers and users whose time is remembered: if there are more, the half that has used the most."""

_USER: Final = re.compile(rb'"userInfo"\s{0,8}:\s{0,8}\{\s{0,8}"username"\s{0,8}:\s{0,8}"((?:[^"\\]|\\.){0,512})')
_HEAD: Final = 8 * 1024
"""Bytes of a review before its object, where the API server writes the user."""


class Caller(NamedTuple):
    """Who asks: the address of the peer, and the user whose request it asks about.

    A peer has one share, which its users divide: it may be an API server, which has checked them, or a pod that has
    made them up.
    """

    peer: str
    user: str


UNNAMED: Final = Caller("", "")


def user_of(body: bytes) -> str:
    """The user of a review, read from its first bytes; "" where the review is not written as the API server does.

    The service accounts of a namespace are one user: who may create one may create many.
    """
    found = _USER.search(body, 0, _HEAD)
    name = found[1].decode(errors="replace") if found else ""
    return name.rpartition(":")[0] if name.startswith("system:serviceaccount:") else name


@dataclass(eq=False, slots=True)
class _Waiting:
    caller: Caller
    number: int
    turn: asyncio.Future[None]


class Turns:
    """The order of jobs that run one at a time. ``clock`` gives seconds."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._running: Caller | None = None
        self._since = 0.0
        self._waiting: list[_Waiting] = []
        self._used: dict[str | Caller, tuple[float, float]] = {}  # seconds, and when they were true
        self._order = itertools.count()

    async def wait(self, caller: Caller, until: float) -> None:
        """Return when it is the caller's turn; it must call :meth:`end` then. ``until`` is a time of the clock.

        Raises:
            DeadlineExceeded: the time has come first.
            Unavailable: too many wait, and none has more that wait than this caller.
        """
        if self._running is None:
            self._begin(caller)
            return
        waiting = _Waiting(caller, next(self._order), asyncio.get_running_loop().create_future())
        self._waiting.append(waiting)
        if len(self._waiting) > WAITING:
            self._most_crowded().turn.set_exception(Unavailable("too many large reviews are waiting"))
        try:
            await asyncio.wait_for(waiting.turn, max(until - self._clock(), 0))
        except TimeoutError:
            self._give_up(waiting)
            raise DeadlineExceeded("no time left: other large reviews came first") from None
        except asyncio.CancelledError:
            self._give_up(waiting)
            raise
        finally:
            if waiting in self._waiting:
                self._waiting.remove(waiting)

    def end(self) -> None:
        """End the turn, and begin the next one."""
        running, self._running = self._running, None
        assert running is not None
        now = self._clock()
        for key in (running.peer, running):
            self._used[key] = self._spent(key, now) + now - self._since, now
        if len(self._used) > CALLERS:
            most = sorted(self._used, key=lambda key: self._spent(key, now))[-CALLERS // 2 :]
            self._used = {key: self._used[key] for key in most}
        left = [each for each in self._waiting if not each.turn.done()]
        if left:
            chosen = min(left, key=lambda each: (*self._share(each.caller, now), each.number))
            self._waiting.remove(chosen)
            self._begin(chosen.caller)
            chosen.turn.set_result(None)

    def _give_up(self, waiting: _Waiting) -> None:
        """End a turn that came just when its caller left."""
        turn = waiting.turn
        if turn.done() and not turn.cancelled() and turn.exception() is None:
            self.end()

    def is_wanted(self) -> bool:
        """Whether a caller waits that has used less time than the one whose turn it is."""
        if self._running is None:
            return False
        now, mine = self._clock(), self._running
        share = self._share(mine, now)
        return any(self._share(each.caller, now) < share for each in self._waiting if each.caller != mine)

    def _begin(self, caller: Caller) -> None:
        self._running, self._since = caller, self._clock()

    def _most_crowded(self) -> _Waiting:
        """The newest job of the user with the most jobs, of the peer with the most jobs."""
        left = [each for each in self._waiting if not each.turn.done()]
        peers, callers = Counter(each.caller.peer for each in left), Counter(each.caller for each in left)
        return max(left, key=lambda each: (peers[each.caller.peer], callers[each.caller], each.number))

    def _share(self, caller: Caller, now: float) -> tuple[float, float]:
        """The seconds that the peer, and the caller, have used lately."""
        return self._spent(caller.peer, now), self._spent(caller, now)

    def _spent(self, key: str | Caller, now: float) -> float:
        seconds, at = self._used.get(key, (0.0, now))
        running = self._running
        more = now - self._since if running is not None and key in (running, running.peer) else 0.0
        return float(seconds * 0.5 ** ((now - at) / HALF_LIFE)) + more
