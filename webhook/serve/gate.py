"""One review, from body to reply: the engine with its catalog, a deadline, metrics and the log."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from webhook.admission.errors import DeadlineExceeded, ModelgateError, NotReady, Unavailable
from webhook.admission.plain import one_line
from webhook.admission.recent import RecentStamps
from webhook.cluster import ClusterView, MemoryView
from webhook.cluster.readthrough import ClusterAnswer, ClusterQuestion
from webhook.engine import Options
from webhook.engine.catalog import Catalog
from webhook.engine.installed import Deviation, with_installed
from webhook.serve.forked import Children
from webhook.serve.http.immediate import Answer
from webhook.serve.judgement import Call, Judgement, Prepared, Snapshot, Stage, is_large, judge, portable
from webhook.serve.liveview import ViewRunner
from webhook.serve.metrics import Metrics
from webhook.serve.noted import note
from webhook.serve.trust import Trust

if TYPE_CHECKING:  # loading the language of admission policies takes 80 ms at start
    from webhook.engine.policyset import PolicySet

__all__ = ["Gate"]

log = logging.getLogger("modelgate")

RESERVE: Final = 0.1
"""Seconds of the caller's deadline reserved for sending the answer."""

PATIENCE: Final = 5.0
"""Seconds that a caller waits if it states no timeout: the default timeout in the chart."""

SHORTEST: Final = 1.0
"""Seconds: the shortest timeout that a webhook can have."""

ROUNDS: Final = 16
"""Evaluations per request: each reads what the one before asked for. A service refers to a runtime, that to a model,
and so on; a policy may ask the authorizer several questions in turn. Real chains are much shorter."""


_TAKING: Final = threading.Lock()
"""Held while a part of a gate is replaced, or its state is taken: a thread that loads rules does the first."""


@dataclass(slots=True)
class Gate:
    """Everything that the server answers from.

    ``catalog`` is None until it is loaded. Catalog and admission ``policies`` are replaced as a whole. ``refused``
    describes the faults of newer ones, while the last good ones stay in use. Other objects come from ``view`` or, if it
    is set, from ``live_view``.
    """

    catalog: Catalog | None = None
    view: ClusterView = field(default_factory=MemoryView)
    trust: Trust | None = None
    live_view: ViewRunner | None = None
    options: Options = field(default_factory=Options)
    metrics: Metrics = field(default_factory=Metrics)
    draining: bool = False
    policies: PolicySet | None = None
    clock: Callable[[], float] = time.monotonic
    stage: Stage | None = None
    """Opens a span around a stage of a review."""
    needs: list[Callable[[], list[str]]] = field(default_factory=list)
    """Further parts that must be ready; each says why it is not."""
    report: Callable[[str, str], None] = lambda _reason, _note: None
    """Tells the cluster of a fault: a reason in Kubernetes' spelling, and a sentence. Must not block."""
    without: frozenset[str] = frozenset()
    """Groups of APIs that this installation does not cover."""
    deviations: tuple[Deviation, ...] = ()
    """How the installed definitions differ from those of the loaded catalog."""
    _loaded: Catalog | None = None
    _definitions: Callable[[], Iterable[Mapping[str, Any]]] = tuple
    _swapping: threading.Lock = field(default_factory=threading.Lock)
    _refused: dict[str, str] = field(default_factory=dict)
    _waiting: frozenset[str] = frozenset()
    _native: Prepared | None = None
    _recent: RecentStamps = field(default_factory=RecentStamps)
    _children: Children = field(init=False)
    _taken: Snapshot | None = None
    """The state that reviews are judged by, until a part of it is replaced."""

    def __post_init__(self) -> None:
        self._children = Children(lambda outcome: self.metrics.large.labels(outcome).inc())

    def __setattr__(self, name: str, value: Any) -> None:
        with _TAKING:
            object.__setattr__(self, name, value)
            object.__setattr__(self, "_taken", None)

    def use(self, catalog: Catalog) -> None:
        """Use this catalog from now on, by the definitions that are installed."""
        with self._swapping:
            self._loaded = catalog.without(self.without)
            self._swap()

    def use_definitions(self, definitions: Callable[[], Iterable[Mapping[str, Any]]]) -> None:
        """Judge by these CustomResourceDefinitions from now on, where they differ from the catalog's."""
        with self._swapping:
            self._definitions = definitions
            self._swap()

    def prepare_screens(self) -> None:
        """Make what judges objects of the kinds in use faster. It takes a while: call it in a thread."""
        if self.catalog is not None:
            self.catalog.prepare_screens()

    def undecided(self) -> Iterable[tuple[str, int]]:
        """How many objects of each kind the function of all rules could not decide."""
        if (catalog := self.catalog) is None:
            return ()
        kinds = [known for known in catalog.kinds.values() if known.policy.validations]
        return [(known.gvk.kind, catalog.prepared(known).undecided) for known in kinds]

    def missed_stamps(self) -> int:
        """How many stamps of objects this process did not remember."""
        return self._recent.missed

    def definition_names(self) -> list[str]:
        """The names of the definitions of the loaded catalog's kinds."""
        loaded = self._loaded or self.catalog
        return sorted({f"{known.plural}.{gvk.group}" for gvk, known in loaded.kinds.items()} if loaded else ())

    def _swap(self) -> None:
        """Make the catalog from the loaded one and the installed definitions, and take it by one assignment."""
        loaded = self._loaded or self.catalog
        if loaded is None:
            return
        self._loaded = loaded
        catalog, deviations = with_installed(loaded, self._definitions())
        known, self.deviations = set(map(str, self.deviations)), deviations
        if catalog is not self.catalog:
            log.info("catalog %s: %d kinds", catalog.digest, len(catalog.kinds))
        self.catalog = catalog
        self.metrics.catalog.clear()
        self.metrics.catalog.labels(catalog.digest).set(1)
        self.metrics.definitions.clear()
        for each in deviations:
            self.metrics.definitions.labels(str(each.kind)).set(len(each.aside))
            if str(each) not in known:
                log.log(logging.WARNING if each.is_notable else logging.INFO, "%s", each)

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
            self._waiting |= {part}

    def accept(self, part: str) -> None:
        """Record that the newest part is used."""
        self._refused.pop(part, None)
        if part in self._waiting:
            self._waiting -= {part}

    @property
    def refused(self) -> str:
        """The faults of newer parts; empty if there are none."""
        return "; ".join(self._refused.values())

    def unready(self) -> list[str]:
        """Why the server is not ready; empty if it is."""
        reasons = self._missing()
        reasons += [reason for need in self.needs for reason in need()]
        if self.trust is not None:
            reasons += self.trust.unready()
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
            patience: seconds that the caller waits, from its ``?timeout=``; None: :data:`PATIENCE`.

        Raises:
            RequestError, Unavailable, Fault: as the exception tree says.
        """
        started = self.clock()
        waits = PATIENCE if patience is None else patience
        known: dict[ClusterQuestion, ClusterAnswer] = {}
        for _ in range(ROUNDS):
            by = self._taken or self._snapshot()
            found = await self._judged(by, call, body, known, started, waits)
            if not found.unread:
                break
            try:
                await self._read(found.unread, started, waits, known)
            except Unavailable as error:
                found = Judgement.failed(error)
                break
        else:
            found = Judgement.failed(Unavailable(f"each of {ROUNDS} reads of the API server led to another"))
        self._finish(by, call, found, self.clock() - started)
        if found.error is not None:
            raise found.error
        return found.reply

    def reply_now(self, call: Call, body: bytes, patience: float | None) -> Answer | None:
        """As :meth:`reply`, but None, without effects, for whatever would wait, fork or fail.

        A small body takes milliseconds, so a usual deadline is not looked at. What is left to do counts and logs the
        reply.
        """
        if (patience is not None and patience < SHORTEST) or is_large(body):
            return None
        started, by = self.clock(), self._taken or self._snapshot()
        found = judge(by, call, body, {}, None)
        if found.unread or found.error is not None:
            return None
        return found.reply, partial(self._finish, by, call, found, self.clock() - started)

    async def _judged(
        self,
        by: Snapshot,
        call: Call,
        body: bytes,
        known: Mapping[ClusterQuestion, ClusterAnswer],
        started: float,
        waits: float,
    ) -> Judgement:
        """The judgement of a small body is made here and now, that of a large one in a child."""
        checkpoint = self._deadline(started, waits)
        if not is_large(body):
            return judge(by, call, body, known, checkpoint)
        # A span of a child would be lost, and its exporter's lock may be held by a thread that the child does not have.
        job = partial(judge, by._replace(stage=None), call, body, known, checkpoint)
        try:
            found: Judgement = await self._children.run(lambda: portable(job()), len(body), started + waits - RESERVE)
        except ModelgateError as error:
            return Judgement.failed(error)
        return found

    def _snapshot(self) -> Snapshot:
        with _TAKING:
            self._recent.clear()  # these stamps were written by what has been replaced
            taken = Snapshot(
                self.catalog,
                self.view,
                self.live_view,
                replace(self.options, written=self._recent.take),
                self._policies_over(self.catalog),
                self._recent,
                tuple(sorted(self._waiting)),
                self.stage,
            )
            object.__setattr__(self, "_taken", taken)
        return taken

    def _finish(self, by: Snapshot, call: Call, found: Judgement, seconds: float) -> None:
        """Count and log a judgement, and remember the stamp that was written."""
        self.metrics.requests.add((call, found.kind, found.operation, found.outcome))
        self.metrics.seconds.add(call, seconds)
        if found.findings:
            self.metrics.rules.add(*found.findings)
        if found.noted is not None:
            note(found.noted)
        if found.trace:
            log.error("%s", one_line(found.trace))
        if call == "mutate" and found.made is not None and by is self._taken:
            request, decision = found.made
            by.recent.add(request, decision.object)

    async def _read(
        self,
        questions: Iterable[ClusterQuestion],
        started: float,
        waits: float,
        known: dict[ClusterQuestion, ClusterAnswer],
    ) -> None:
        """Read the answers in sequence: there are few, and each takes a millisecond.

        Raises:
            Unavailable: the API server does not answer, or not in time.
        """
        assert self.live_view is not None
        view = self.live_view.view()
        for question in questions:
            left = started + waits - RESERVE - self.clock()
            try:
                known[question] = await asyncio.wait_for(asyncio.to_thread(view.read, question, left), left)
            except TimeoutError:
                raise DeadlineExceeded(f"no time left to read {question}: the caller waits {waits:g}s") from None

    def _policies_over(self, catalog: Catalog | None) -> Prepared | None:
        """The admission policies over a catalog, prepared once for each pair."""
        policies, known = self.policies, self._native
        if not policies or catalog is None:
            return None
        if known is None or known.catalog is not catalog or known.policies is not policies:
            known = Prepared(catalog, policies, policies.over(catalog), {})
            object.__setattr__(self, "_native", known)
        return known

    def _deadline(self, started: float, waits: float) -> Callable[[str], None]:
        def checkpoint(step: str) -> None:
            if self.clock() > started + waits - RESERVE:
                raise DeadlineExceeded(f"no time left before {step}: the caller waits {waits:g}s")

        return checkpoint
