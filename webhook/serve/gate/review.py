"""One review: its deadline, its rounds of reading, its child process if it is large, and what is counted and logged."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable
from functools import partial
from typing import Final

from webhook.admission import one_line
from webhook.admission.errors import DeadlineExceeded, ModelgateError, Unavailable
from webhook.cluster import ClusterAnswer, ClusterQuestion
from webhook.serve.forked import Children
from webhook.serve.gate.judgement import Judgement, judge, portable
from webhook.serve.gate.pace import OverrunError
from webhook.serve.gate.state import Call, State
from webhook.serve.http.answers import peer
from webhook.serve.http.limited import Limited
from webhook.serve.metrics import Metrics
from webhook.serve.noted import Journal
from webhook.serve.turns import Caller, user_of

traces = Limited(logging.getLogger("modelgate"), most=10)

RESERVE: Final = 0.1
"""Seconds of the caller's deadline reserved for sending the answer."""

PATIENCE: Final = 5.0
"""Seconds that a caller waits if it states no timeout: the default timeout in the chart."""

ROUNDS: Final = 16
"""Evaluations per request: each reads what the one before asked for. A service refers to a runtime, that to a model,
and so on; a policy may ask the authorizer several questions in turn. Real chains are much shorter."""


class Review:
    """The judgement of one body by one state.

    ``patience`` is how long its caller waits, None: :data:`PATIENCE`. One that ``is_long`` is not begun here.
    """

    def __init__(
        self, by: State, call: Call, body: bytes, patience: float | None, clock: Callable[[], float], *, is_long: bool
    ) -> None:
        self._by, self._call, self._body, self._clock = by, call, body, clock
        self._waits = PATIENCE if patience is None else patience
        self.started = clock()
        self._until = self.started + self._waits - RESERVE
        self._is_long = is_long
        self._known: dict[ClusterQuestion, ClusterAnswer] = {}

    async def judged(self, children: Children) -> Judgement:
        """The judgement after all that it asked for was read; a large body is judged in one of ``children``."""
        now = self.started
        for _ in range(ROUNDS):
            found = await self._round(children, now)
            if not found.unread:
                return found
            try:
                await self._read(found.unread)
            except Unavailable as error:
                return Judgement.failed(error)
            now = self._clock()
        return Judgement.failed(Unavailable(f"each of {ROUNDS} reads of the API server led to another"))

    async def _round(self, children: Children, now: float) -> Judgement:
        """The judgement of a small body is made here and now, that of a large or lengthy one in a child."""
        if not self._is_long:
            self._by.pace.begin(now)
            found = judge(self._by, self._call, self._body, self._known, self._paced, at_once=True)
            if not isinstance(found.error, OverrunError):
                return found
            self._is_long = True
        # A span of a child would be lost, and its exporter's lock may be held by a thread that the child does not have.
        job = partial(judge, self._by._replace(stage=None), self._call, self._body, self._known, self._checkpoint)
        try:
            judged: Judgement = await children.run(lambda: portable(job()), self._until, self._caller())
        except ModelgateError as error:
            return Judgement.failed(error)
        return judged

    def _caller(self) -> Caller:
        """Whose share of the children the review takes."""
        return Caller(peer(), user_of(self._body))

    async def _read(self, questions: Iterable[ClusterQuestion]) -> None:
        """Read the answers in sequence, in a thread: there are few, and each takes a millisecond.

        Raises:
            Unavailable: the API server does not answer, or not in time.
        """
        assert self._by.live_view is not None
        view = self._by.live_view.view()
        for question in questions:
            left = self._until - self._clock()
            try:
                self._known[question] = await asyncio.wait_for(asyncio.to_thread(view.read, question, left), left)
            except TimeoutError:
                raise DeadlineExceeded(self._late(f"to read {question}")) from None

    def _paced(self, step: str) -> None:
        """The checkpoint of what is judged here."""
        self._by.pace.look(self._checkpoint(step), step)

    def _checkpoint(self, step: str) -> float:
        now = self._clock()
        if now > self._until:
            raise DeadlineExceeded(self._late(f"before {step}"))
        return now

    def _late(self, step: str) -> str:
        return f"no time left {step}: the caller waits {self._waits:g}s"


def record(metrics: Metrics, journal: Journal, by: State, call: Call, found: Judgement, seconds: float) -> None:
    """Count and log a judgement, and remember the stamp that was written."""
    metrics.requests.add((call, found.kind, found.operation, found.outcome))
    metrics.seconds.add(call, seconds)
    if found.findings:
        metrics.count_findings(found.findings, found.namespace)
        metrics.exceptions.add(*found.exceptions)
    if found.noted is not None:
        journal.note(found.noted)
    if found.trace:
        traces.line(logging.ERROR, "trace", "%s", one_line(found.trace))
    if call == "mutate" and found.made is not None:
        request, decision = found.made
        by.recent.add(request, decision.object)  # if the state was replaced meanwhile, nothing reads it
