"""The judgement of one review: pure, so that it can be made in another process, and a value that can be sent back."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Mapping
from operator import attrgetter
from typing import Any, Final, NamedTuple

from webhook import engine
from webhook.admission import Decision, GroupVersionKind, Request, review
from webhook.admission.errors import Fault, ModelgateError, NotReady, RequestError, TooLarge, Unavailable
from webhook.catalog import Catalog
from webhook.cluster import ClusterAnswer, ClusterQuestion, RequestView
from webhook.engine import EXEMPT, Options
from webhook.ground import OTHER
from webhook.serve.gate.state import Call, Stage, State
from webhook.serve.noted import ANNOTATION, Noted, decision_id, is_noted, noted

SMALL_BYTES: Final = 4 * 1024
"""A body up to this size is small without counting: 4,096 bytes cannot hold much work."""

LARGE_BYTES: Final = 64 * 1024
PADDED_BYTES: Final = 4 * LARGE_BYTES
LARGE_TOKENS: Final = 2_000
"""A body over 64 KiB, or with more than 2,000 of ``,`` ``[`` ``{``, is large. Of 662 objects from documentation and
charts, one is. The worst body below both takes about 20 ms. Blanks take no time, so up to 256 KiB they do not count."""

_BLANKS: Final = (b" ", b"\n", b"\r", b"\t")

REPLY_LIMIT: Final = 8 * 1024 * 1024
"""Bytes of a reply: a patch that replaces an object of 3 MiB, as base64, with its verdict."""

_OUTCOMES = ((RequestError, "malformed"), (Unavailable, "unavailable"))

_PARTS: Final = attrgetter(*Options.__match_args__)
"""All parts of the options, in order. A copy by them takes a fifth of the time of ``dataclasses.replace``."""


class Judgement(NamedTuple):
    """A reply, or the questions to answer first, or an error; and what to count and log. It can be pickled.

    ``findings`` are pairs of a rule code and what comes of it (``deny``, ``warn``, ``audit`` or ``except``), in an
    object of this ``namespace``; ``exceptions`` are the names of the PolicyExceptions that were used. ``noted`` is the
    decision for the log, None if it is not logged, or for a kind that nothing covers. ``trace`` is the traceback of an
    unexpected error in another process. ``uncovered`` is the kind, if no rule and no admission policy is about it.
    ``made`` is what the reply was made of, in this process only.
    """

    kind: str
    operation: str
    outcome: str = ""
    reply: bytes = b""
    unread: tuple[ClusterQuestion, ...] = ()
    findings: tuple[tuple[str, str], ...] = ()
    exceptions: tuple[tuple[str], ...] = ()
    namespace: str = ""
    noted: Noted | None = None
    error: Exception | None = None
    trace: str = ""
    uncovered: GroupVersionKind | None = None
    made: tuple[Request, Decision] | None = None

    @classmethod
    def failed(cls, error: Exception, kind: str = "", operation: str = "") -> Judgement:
        """A judgement that ended with an error."""
        outcome = next((name for each, name in _OUTCOMES if isinstance(error, each)), "fault")
        return cls(kind, operation, outcome, error=error)


def is_large(body: bytes) -> bool:
    """Whether the judgement of a body may take long; told from its bytes, in microseconds, before it is parsed."""
    size = len(body)
    if size <= SMALL_BYTES:
        return False
    if size > LARGE_BYTES and (size > PADDED_BYTES or size - sum(map(body.count, _BLANKS)) > LARGE_BYTES):
        return True
    return sum(map(body.count, (b",", b"[", b"{"))) > LARGE_TOKENS


def judge(
    by: State,
    call: Call,
    body: bytes,
    known: Mapping[ClusterQuestion, ClusterAnswer],
    checkpoint: Callable[[str], object] | None,
    *,
    at_once: bool = False,
) -> Judgement:
    """The judgement of one AdmissionReview; ``known`` are the answers that were read for it already.

    ``checkpoint`` is called before each step; None is that of the state, its pace. ``at_once``: other reviews wait
    meanwhile, so the judgement ends with :class:`OverrunError` if the admission policies may take long.
    """
    kind = operation = ""
    decode, decided, encode = (review.decode, _decided, review.encode) if by.stage is None else _traced(by.stage)
    try:
        version, request = decode(body)
        catalog = by.ready()
        kind = OTHER if catalog.find(request.kind) is None else request.kind.kind
        operation = request.operation
        if at_once and by.native is not None:
            by.native.allow(call, request, body, by.pace)
        decision, unread = decided(by, catalog, call, kind, request, known, checkpoint)
        if unread:
            return Judgement(kind, operation, unread=unread)
        verdict = "denied" if decision.causes else "allowed"
        is_covered = kind != OTHER or (by.native is not None and by.native.concerns(request))
        outcome = verdict if is_covered else "untouched"
        line, audit = None, decision.audit
        if outcome == verdict or decision.causes:
            identity = decision_id(request, catalog.digest)
            if is_noted(verdict):
                line = noted(call, request, verdict, decision.causes, identity)
            audit = {**audit, ANNOTATION: identity}
        reply = encode(call, version, request, decision, audit)
        if len(reply) > REPLY_LIMIT:
            raise TooLarge(f"the reply of {len(reply)} bytes is over the limit of {REPLY_LIMIT} bytes")  # noqa: TRY301
    except Exception as error:  # noqa: BLE001 - the caller of the gate gets it
        return Judgement.failed(error, kind, operation)
    findings: tuple[tuple[str, str], ...] = ()
    exceptions: tuple[tuple[str], ...] = ()
    if decision.causes or decision.warnings or decision.muted:
        findings = _findings(decision)
        exceptions = tuple((by,) for _, action, by in decision.muted if action == EXEMPT)
    uncovered, made = None if is_covered or request.subresource else request.kind, (request, decision)
    about = findings, exceptions, request.namespace, line
    return Judgement(kind, operation, outcome, reply, (), *about, uncovered=uncovered, made=made)


def _traced(stage: Stage) -> tuple[Any, Any, Any]:
    """The steps of a review, each in a span of its own."""

    def within(name: str, step: Callable[..., Any]) -> Callable[..., Any]:
        def spanned(*arguments: Any) -> Any:
            with stage(name):
                return step(*arguments)

        return spanned

    return within("decode", review.decode), within("decide", _decided), within("encode", review.encode)


def portable(found: Judgement) -> Judgement:
    """A judgement for another process: an unexpected error becomes a fault, because it may not survive pickling.

    Raises:
        MemoryError: the judgement ended with it.
    """
    error, found = found.error, found._replace(made=None)
    if isinstance(error, MemoryError):
        raise error
    if error is None or isinstance(error, ModelgateError):
        return found
    fault = Fault(f"{type(error).__name__} in a large review: see the log of the gate")
    return found._replace(error=fault, trace="".join(traceback.format_exception(error)))


def _decided(
    by: State,
    catalog: Catalog,
    call: Call,
    kind: str,
    request: Request,
    known: Mapping[ClusterQuestion, ClusterAnswer],
    checkpoint: Callable[[str], object] | None,
) -> tuple[Decision, tuple[ClusterQuestion, ...]]:
    """The decision, and the questions that have to be answered before it counts."""
    decide = engine.mutate if call == "mutate" else engine.validate
    reading = None
    native = by.native if by.native is not None and by.native.affords(call, request) is not None else None
    if by.live_view is not None and (native is not None or kind != OTHER):
        reading = RequestView(by.live_view.view(), known)
    options = by.options
    if native is not None or checkpoint is not None:
        options = Options(*_PARTS(options))
        if native is not None:
            options.native = native.within(reading)
        if checkpoint is not None:
            options.checkpoint = checkpoint
    if reading is None:
        return decide(request, catalog, by.view, options), ()
    decision = decide(request, catalog, reading, options)
    if reading.unlisted:
        kinds = ", ".join(f"{kind.group}/{kind.kind}" for kind in reading.unlisted)
        raise NotReady(f"{kinds} is not listed yet")
    return decision, tuple(reading.unread)


def _findings(decision: Decision) -> tuple[tuple[str, str], ...]:
    denied = [(label, "deny") for cause in decision.causes for label in cause.labels]
    warned = [(warning.label, "warn") for warning in decision.warnings]
    return (*denied, *warned, *[(finding.label, action) for finding, action, _ in decision.muted])
