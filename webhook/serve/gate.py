"""One review, from body to reply: the engine with its catalog, a deadline, metrics and the log."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import re
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

from webhook import engine
from webhook.admission import review
from webhook.admission.decision import Cause, Decision
from webhook.admission.errors import DeadlineExceeded, NotReady, RequestError, Unavailable
from webhook.admission.request import Request
from webhook.cluster import ClusterView, MemoryView
from webhook.cluster.readthrough import ClusterAnswer, ClusterQuestion, RequestView
from webhook.engine import Options
from webhook.engine.catalog import Catalog
from webhook.engine.native import Native
from webhook.serve.liveview import ViewRunner
from webhook.serve.metrics import Metrics
from webhook.serve.noted import ANNOTATION, decision_id, note

if TYPE_CHECKING:  # loading the language of admission policies takes 80 ms at start
    from webhook.engine.context import Offline
    from webhook.engine.policyset import PolicySet

__all__ = ["Call", "Gate", "one_line"]

Call = Literal["mutate", "validate"]

log = logging.getLogger("modelgate")

RESERVE: Final = 0.1
"""Seconds of the caller's deadline reserved for sending the answer."""

READ_SECONDS: Final = 5.0
"""Seconds for reads from the API server if the caller states no timeout: the default timeout in the chart."""

ROUNDS: Final = 16
"""Evaluations per request: each reads what the one before asked for. A service refers to a runtime, that to a model,
and so on; a policy may ask the authorizer several questions in turn. Real chains are much shorter."""

_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")
_OUTCOMES = ((RequestError, "malformed"), (Unavailable, "unavailable"))


_NO_SPAN: Final = contextlib.nullcontext()


def _untraced(_stage: str) -> AbstractContextManager[object]:
    return _NO_SPAN


class _Unread(Exception):
    """The result is incomplete: the answers to these questions have to be read first."""

    def __init__(self, questions: Iterable[ClusterQuestion]) -> None:
        super().__init__()
        self.questions = tuple(questions)


class _Native(NamedTuple):
    """A set of admission policies over a catalog, and the objects that lie beside them."""

    catalog: Catalog
    policies: PolicySet
    files: Offline

    def within(self, reading: RequestView | None) -> Native:
        """The policies for one request; ``reading`` is the request's view of the cluster, if there is one."""
        return Native(self.policies.policies, self.files if reading is None else self.files.live(reading))


@dataclass(slots=True)
class Gate:
    """Everything that the server answers from.

    ``catalog`` is None until it is loaded. Catalog and admission ``policies`` are replaced as a whole. ``refused``
    describes the faults of newer ones, while the last good ones stay in use. Other objects come from ``view`` or, if it
    is set, from ``live_view``.
    """

    catalog: Catalog | None = None
    view: ClusterView = field(default_factory=MemoryView)
    live_view: ViewRunner | None = None
    options: Options = field(default_factory=Options)
    metrics: Metrics = field(default_factory=Metrics)
    draining: bool = False
    policies: PolicySet | None = None
    clock: Callable[[], float] = time.monotonic
    stage: Callable[[str], AbstractContextManager[object]] = _untraced
    """Opens a span around a stage of a review."""
    needs: list[Callable[[], list[str]]] = field(default_factory=list)
    """Further parts that must be ready; each says why it is not."""
    _refused: dict[str, str] = field(default_factory=dict)
    _waiting: set[str] = field(default_factory=set)
    _native: _Native | None = None

    def use(self, catalog: Catalog) -> None:
        """Use this catalog from now on."""
        self.catalog = catalog
        self.metrics.catalog.clear()
        self.metrics.catalog.labels(catalog.digest).set(1)
        log.info("catalog %s: %d kinds", catalog.digest, len(catalog.kinds))

    def use_policies(self, policies: PolicySet) -> None:
        """Evaluate these admission policies, too, from now on; a catalog must be loaded."""
        if self.catalog is None:
            raise NotReady("admission policies need the catalog of kinds and rules, which is not loaded")
        self.policies = policies
        self.metrics.policies.clear()
        self.metrics.policies.labels(policies.digest).set(1)
        validators, mutators = policies.policies.validators, policies.policies.mutators
        log.info("admission policies %s: %d validating, %d mutating", policies.digest, len(validators), len(mutators))
        for remark in policies.remarks(self.catalog):
            log.warning("%s", " ".join(str(remark).split()))

    def refuse(self, part: str, why: str, *, first: bool = False) -> None:
        """Record that a newer part is not used; if it is the ``first`` one, nothing is answered without it."""
        self._refused[part] = why
        if first:
            self._waiting.add(part)

    def accept(self, part: str) -> None:
        """Record that the newest part is used."""
        self._refused.pop(part, None)
        self._waiting.discard(part)

    @property
    def refused(self) -> str:
        """The faults of newer parts; empty if there are none."""
        return "; ".join(self._refused.values())

    def unready(self) -> list[str]:
        """Why the server is not ready; empty if it is."""
        reasons = self._missing()
        reasons += [reason for need in self.needs for reason in need()]
        if self.live_view is not None:
            reasons += self.live_view.unready()
        return [*reasons, "stopping: other replicas answer now"] if self.draining else reasons

    def _missing(self) -> list[str]:
        """Which rules or policies are not loaded, and why."""
        if not self._waiting:
            return [] if self.catalog is not None else ["the catalog of kinds and rules is not loaded"]
        return [self._refused.get(part, f"the {part} are not loaded") for part in sorted(self._waiting)]

    async def reply(self, call: Call, body: bytes, patience: float | None) -> bytes:
        """The reply to one AdmissionReview; objects that are not in memory are read in a thread.

        Args:
            call: which webhook was called.
            body: the review as received.
            patience: seconds that the caller waits, from its ``?timeout=``; None for no limit.

        Raises:
            RequestError, Unavailable, Fault: as the exception tree says.
        """
        started = self.clock()
        known: dict[ClusterQuestion, ClusterAnswer] = {}
        for _ in range(ROUNDS):
            try:
                return self._answer(call, body, patience, started, known)
            except _Unread as missing:
                try:
                    await self._read(missing.questions, patience, started, known)
                except Unavailable:
                    self._count(call, "", "", "unavailable", started)
                    raise
        self._count(call, "", "", "unavailable", started)
        raise Unavailable(f"each of {ROUNDS} reads of the API server led to another")

    def _answer(
        self,
        call: Call,
        body: bytes,
        patience: float | None,
        started: float,
        known: Mapping[ClusterQuestion, ClusterAnswer],
    ) -> bytes:
        kind = operation = ""
        try:
            with self.stage("decode"):
                version, request = review.decode(body)
            catalog = self._ready()
            kind = request.kind.kind if catalog.find(request.kind) else "other"
            operation = request.operation
            options = self.options
            if patience is not None:
                options = replace(options, checkpoint=self._deadline(started, patience))
            with self.stage("decide"):
                decision = self._decide(call, request, catalog, options, known)
        except _Unread:
            raise
        except Exception as error:
            self._count(call, kind, operation, _outcome_of(error), started)
            raise
        decision = self._note(call, kind, request, decision, started)
        with self.stage("encode"):
            return review.encode(call, version, request, decision)

    async def _read(
        self,
        questions: Iterable[ClusterQuestion],
        patience: float | None,
        started: float,
        known: dict[ClusterQuestion, ClusterAnswer],
    ) -> None:
        """Read the answers in sequence: there are few, and each takes a millisecond.

        Raises:
            Unavailable: the API server does not answer, or not in time.
        """
        assert self.live_view is not None
        view = self.live_view.view()
        for question in questions:
            left = READ_SECONDS if patience is None else started + patience - RESERVE - self.clock()
            try:
                known[question] = await asyncio.wait_for(asyncio.to_thread(view.read, question, left), left)
            except TimeoutError:
                raise DeadlineExceeded(
                    f"no time left to read {question}: the caller waits {patience or READ_SECONDS:g}s"
                ) from None

    def _ready(self) -> Catalog:
        if self.catalog is None:
            raise NotReady("the catalog of kinds and rules is not loaded yet")
        if self._waiting:
            raise NotReady(f"the {' and '.join(sorted(self._waiting))} are not loaded yet")
        return self.catalog

    def _decide(
        self,
        call: Call,
        request: Request,
        catalog: Catalog,
        options: Options,
        known: Mapping[ClusterQuestion, ClusterAnswer],
    ) -> Decision:
        decide = engine.mutate if call == "mutate" else engine.validate
        native = self._policies_over(catalog)
        if self.live_view is None or (native is None and catalog.find(request.kind) is None):
            if native is not None:
                options = replace(options, native=native.within(None))
            return decide(request, catalog, self.view, options)
        reading = RequestView(self.live_view.view(), known)
        if native is not None:
            options = replace(options, native=native.within(reading))
        decision = decide(request, catalog, reading, options)
        if reading.unlisted:
            kinds = ", ".join(f"{kind.group}/{kind.kind}" for kind in reading.unlisted)
            raise NotReady(f"{kinds} is not listed yet")
        if reading.unread:
            raise _Unread(reading.unread)
        return decision

    def _policies_over(self, catalog: Catalog) -> _Native | None:
        """The admission policies over a catalog, prepared once for each pair."""
        policies = self.policies
        if not policies:
            return None
        known = self._native
        if known is None or known.catalog is not catalog or known.policies is not policies:
            known = self._native = _Native(catalog, policies, policies.over(catalog))
        return known

    def _deadline(self, started: float, patience: float) -> Callable[[str], None]:
        def checkpoint(step: str) -> None:
            if self.clock() > started + patience - RESERVE:
                raise DeadlineExceeded(f"no time left before {step}: the caller waits {patience:g}s")

        return checkpoint

    def _note(self, call: Call, kind: str, request: Request, decision: Decision, started: float) -> Decision:
        """Count and log a decision; the returned one has its id as an audit annotation, if it was decided by rules."""
        outcome = "allowed" if decision.allowed else "denied"
        if kind == "other" and not self.policies:
            outcome = "untouched"
        self._count(call, kind, request.operation, outcome, started)
        for cause in decision.causes:
            self.metrics.rules.labels(cause.label, "deny").inc()
        for warning in decision.warnings:
            self.metrics.rules.labels(warning.label, "warn").inc()
        if outcome == "untouched" and decision.allowed:
            return decision
        identity = decision_id(request, self.catalog.digest if self.catalog else "")
        name = f"{request.namespace}/{request.name}" if request.namespace else request.name
        note(call, request, decision, map(one_line, _codes(decision)), identity, one_line(name))
        return replace(decision, audit={**decision.audit, ANNOTATION: identity})

    def _count(self, call: Call, kind: str, operation: str, outcome: str, started: float) -> None:
        self.metrics.requests.labels(call, kind, operation, outcome).inc()
        self.metrics.seconds.labels(call).observe(self.clock() - started)


def one_line(text: str) -> str:
    """Escape control characters, so that user-supplied names cannot forge log lines."""
    return _CONTROL.sub(lambda found: f"\\x{ord(found[0]):02x}", text)


def _outcome_of(error: Exception) -> str:
    return next((name for kind, name in _OUTCOMES if isinstance(error, kind)), "fault")


def _codes(decision: Decision) -> list[str]:
    """The causes without the user's values, which may be secret."""
    return list(map(_code, decision.causes))


def _code(cause: Cause) -> str:
    return f"policy {cause.refusal.policy}" if cause.refusal else f"{cause.field} {cause.code or cause.reason}"
