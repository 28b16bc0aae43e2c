"""One review, from body to reply: the engine with the catalog, the deadline and the counting around it."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Final, Literal

from webhook import engine, review
from webhook.catalog import Catalog
from webhook.cluster import ClusterView, MemoryView
from webhook.decision import Decision
from webhook.engine import Options
from webhook.errors import DeadlineExceeded, NotReady, RequestError, Unavailable
from webhook.request import Request
from webhook.serve.metrics import Metrics

__all__ = ["Call", "Gate"]

Call = Literal["mutate", "validate"]

log = logging.getLogger("modelgate")

RESERVE: Final = 0.1
"""Seconds kept back from the caller's deadline for the answer to travel."""

_OUTCOMES = ((RequestError, "malformed"), (Unavailable, "unavailable"))


@dataclass(slots=True)
class Gate:
    """What the server answers from.

    ``catalog`` is None until it is loaded; it is replaced as a whole. ``refused`` says what was
    wrong with a newer one, while the last good one stays in use.
    """

    catalog: Catalog | None = None
    view: ClusterView = field(default_factory=MemoryView)
    options: Options = field(default_factory=Options)
    metrics: Metrics = field(default_factory=Metrics)
    draining: bool = False
    refused: str = ""
    clock: Callable[[], float] = time.monotonic

    def use(self, catalog: Catalog) -> None:
        """Answer from this catalog from now on."""
        self.catalog, self.refused = catalog, ""
        self.metrics.catalog.clear()
        self.metrics.catalog.labels(catalog.digest).set(1)

    def unready(self) -> list[str]:
        """Why the gate must not be asked yet; empty when it may."""
        reasons = [] if self.catalog is not None else ["the catalog of kinds and rules is not loaded"]
        return [*reasons, "stopping: other replicas answer now"] if self.draining else reasons

    def answer(self, call: Call, body: bytes, timeout: float | None) -> bytes:
        """The reply to one AdmissionReview.

        Args:
            call: which webhook was called.
            body: the review as it came.
            timeout: seconds that the caller waits, from its ``?timeout=``; None for no limit.

        Raises:
            RequestError, Unavailable, Fault: as the exception tree says.
        """
        started = self.clock()
        kind = operation = ""
        try:
            version, request = review.decode(body)
            catalog = self._ready()
            kind = request.kind.kind if catalog.find(request.kind) else "other"
            operation = request.operation
            options = self.options
            if timeout is not None:
                options = replace(options, checkpoint=self._deadline(started + timeout - RESERVE, timeout))
            decision = self._decide(call, request, catalog, options)
        except Exception as error:
            self._count(call, kind, operation, _outcome_of(error), started)
            raise
        self._note(call, kind, request, decision, started)
        return review.encode(call, version, request, decision)

    def _ready(self) -> Catalog:
        if self.catalog is None:
            raise NotReady("the catalog of kinds and rules is not loaded yet")
        return self.catalog

    def _decide(self, call: Call, request: Request, catalog: Catalog, options: Options) -> Decision:
        decide = engine.mutate if call == "mutate" else engine.validate
        return decide(request, catalog, self.view, options)

    def _deadline(self, until: float, timeout: float) -> Callable[[str], None]:
        def checkpoint(step: str) -> None:
            if self.clock() > until:
                raise DeadlineExceeded(f"no time left before {step}: the caller waits {timeout:g}s")

        return checkpoint

    def _note(self, call: Call, kind: str, request: Request, decision: Decision, started: float) -> None:
        outcome = "untouched" if kind == "other" else "allowed" if decision.allowed else "denied"
        self._count(call, kind, request.operation, outcome, started)
        for cause in decision.causes:
            self.metrics.rules.labels(cause.code or "schema", "deny").inc()
        for warning in decision.warnings:
            self.metrics.rules.labels(warning.code or "schema", "warn").inc()
        if not decision.allowed:
            name = f"{request.namespace}/{request.name}" if request.namespace else request.name
            log.info("denied %s %s %s: %s", request.operation, kind, name, ", ".join(_codes(decision)))

    def _count(self, call: Call, kind: str, operation: str, outcome: str, started: float) -> None:
        self.metrics.requests.labels(call, kind, operation, outcome).inc()
        self.metrics.seconds.labels(call).observe(self.clock() - started)


def _outcome_of(error: Exception) -> str:
    return next((name for kind, name in _OUTCOMES if isinstance(error, kind)), "fault")


def _codes(decision: Decision) -> list[str]:
    """What was wrong, without the user's values: those may be secrets."""
    return [f"{cause.field} {cause.code or cause.reason}" for cause in decision.causes]
