"""A gate: it answers reviews by its state, which is replaced as a whole, and says whether it is ready."""

from __future__ import annotations

import logging
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Collection, Iterable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Final, Unpack

from webhook.admission.errors import NotReady
from webhook.admission.recent import RecentStamps
from webhook.catalog import Catalog
from webhook.cluster import MemoryView
from webhook.enforcement import ENFORCEMENT, EXCEPTION, Degrees
from webhook.engine import Options
from webhook.serve.forked import Children
from webhook.serve.gate.judgement import Judgement, is_large, judge
from webhook.serve.gate.pace import OverrunError, Pace
from webhook.serve.gate.review import Review, record
from webhook.serve.gate.state import Call, InstalledDocuments, Need, Parts, Readiness, State
from webhook.serve.gate.uncovered import Uncovered
from webhook.serve.http.immediate import Answer
from webhook.serve.metrics import Metrics
from webhook.serve.noted import Journal

if TYPE_CHECKING:  # loading the language of admission policies takes 80 ms at start
    from webhook.engine.policyset import PolicySet

log = logging.getLogger("modelgate")

SHORTEST: Final = 1.0
"""Seconds: the shortest timeout that a webhook can have."""

LENGTHY: Final = 64
"""Bodies remembered that :meth:`Gate.reply_now` has given up: each goes to a child next, and is not begun again."""


class Gate:
    """Answers reviews by its ``state``, which only :meth:`renew` assigns.

    Args:
        catalog: None until one is loaded.
        clock: seconds, for deadlines and durations.
        needs: further parts that must be ready.
        without: groups of APIs that this installation does not cover.
        metrics: where reviews are counted.
        journal: where decisions are logged.
        fleet: the stage of the cluster among others, and the artefact that it is to use.
        parts: further parts of the state.
    """

    def __init__(
        self,
        catalog: Catalog | None = None,
        *,
        clock: Callable[[], float] = time.monotonic,
        needs: Iterable[Need] = (),
        without: Collection[str] = frozenset(),
        metrics: Metrics | None = None,
        journal: Journal | None = None,
        fleet: tuple[str, str] = ("", ""),
        **parts: Unpack[Parts],
    ) -> None:
        state = State(MemoryView(), RecentStamps(), Options(), Pace(clock))
        self.state = state.replaced(**parts).replaced(loaded=catalog)
        self.readiness = Readiness(needs)
        self.metrics = metrics or Metrics()
        self._journal = journal or Journal()
        self.uncovered = Uncovered(self.metrics.uncovered)
        self.without = frozenset(without)
        self.clock = clock
        self.fleet = fleet
        self.report: Callable[[str, str], None] = lambda _reason, _note: None
        """Tells the cluster of a fault: a reason in Kubernetes' spelling, and a sentence. Must not block."""
        self._renewing = threading.Lock()
        self._lengthy: deque[bytes] = deque(maxlen=LENGTHY)
        self._shared_digest = ""
        self._children = Children(lambda outcome: self.metrics.large.labels(outcome).inc())

    def renew(
        self, change: Callable[[State], State], tell: Callable[[State, State], None] = lambda _old, _new: None
    ) -> None:
        """Replace the state by what ``change`` makes of it, and ``tell`` the old and the new one.

        Threads that load rules and definitions call it, so one change is made after the other. A review has read the
        old state or reads the new one.
        """
        with self._renewing:
            old = self.state
            self.state = new = change(old)
            tell(old, new)
            self._tell_fleet(new.shared_digest())

    def replace(self, **parts: Unpack[Parts]) -> None:
        """Judge by these parts of the state from now on."""
        self.renew(lambda state: state.replaced(**parts))

    def use(self, catalog: Catalog) -> None:
        """Use this catalog from now on, by the definitions that are installed."""
        loaded = catalog.without(self.without)
        self.renew(lambda state: state.replaced(loaded=loaded), self._tell_catalog)

    def use_definitions(
        self, definitions: InstalledDocuments, installed: frozenset[str] | None, absent: frozenset[str]
    ) -> None:
        """Judge by these CustomResourceDefinitions from now on, where they differ from the catalog's.

        ``installed`` are their names, None if these are not known, and ``absent`` the names of further ones that are
        not installed.
        """
        change = partial(State.replaced, definitions=definitions, installed=installed, absent=absent)
        self.renew(change, self._tell_catalog)

    def enforce(self, degrees: Degrees) -> None:
        """Judge by these Enforcements and PolicyExceptions from now on."""
        current = self.state.options.degrees
        if degrees.digest != current.digest if current else degrees:
            self.renew(
                lambda state: state.replaced(options=replace(state.options, degrees=degrees)), self._tell_degrees
            )

    def use_policies(self, policies: PolicySet) -> None:
        """Evaluate these admission policies, too, from now on; a catalog must be loaded."""
        if self.state.catalog is None:
            raise NotReady("admission policies need the catalog of kinds and rules, which is not loaded")
        self.renew(lambda state: state.replaced(policies=policies), self._tell_policies)

    def prepare_screens(self) -> bool:
        """Make what judges objects of one kind faster; False if none is due. It takes a while: call it in a thread."""
        catalog = self.state.catalog
        return catalog is not None and catalog.prepare_screens()

    def refuse(self, part: str, why: str, *, first: bool = False) -> None:
        """Record that a newer part is not used; if it is the ``first`` one, nothing is answered without it."""
        self.readiness.refuse(part, why)
        if first:
            self.renew(lambda state: state.replaced(waiting=state.waiting | {part}))

    def accept(self, part: str) -> None:
        """Record that the newest part is used."""
        self.readiness.accept(part)
        if part in self.state.waiting:
            self.renew(lambda state: state.replaced(waiting=state.waiting - {part}))

    def unready(self) -> list[str]:
        """Why the server is not ready; empty if it is."""
        return self.readiness.unready(self.state)

    async def reply(self, call: Call, body: bytes, patience: float | None) -> bytes:
        """The reply to one AdmissionReview. Objects that are not in memory are read in a thread; a review that is
        large or takes long is judged in a child process.

        Args:
            call: which webhook was called.
            body: the review as received.
            patience: seconds that the caller waits, from its ``?timeout=``; None: a usual time.

        Raises:
            RequestError, Unavailable, Fault: as the exception tree says.
        """
        by = self.state
        is_long = is_large(body) or body in self._lengthy
        review = Review(by, call, body, patience, self.clock, is_long=is_long)
        found = await review.judged(self._children)
        self._record(by, call, found, self.clock() - review.started)
        if found.error is not None:
            raise found.error
        return found.reply

    def reply_now(self, call: Call, body: bytes, patience: float | None) -> Answer | None:
        """As :meth:`reply`, but None, without answer and counts, for whatever would wait, fork or fail.

        Its time is shorter than any usual deadline (:mod:`webhook.serve.gate.pace`). What is left to do counts and logs
        the reply.
        """
        if (patience is not None and patience < SHORTEST) or is_large(body):
            return None
        started, by = self.clock(), self.state
        by.pace.begin(started)
        found = judge(by, call, body, {}, None, at_once=True)
        if isinstance(found.error, OverrunError):
            self._lengthy.append(body)
        if found.unread or found.error is not None:
            return None
        return found.reply, partial(self._record, by, call, found, self.clock() - started)

    def _record(self, by: State, call: Call, found: Judgement, seconds: float) -> None:
        """Count and log a judgement."""
        record(self.metrics, self._journal, by, call, found, seconds)
        if found.uncovered is not None and by.catalog is not None and by.catalog is self.state.catalog:
            self.uncovered.add(found.uncovered, by.catalog)

    def _tell_uncovered(self, catalog: Catalog) -> None:
        """Begin anew with the versions that the catalog has no rules for."""
        self.uncovered.clear()
        for gvk in catalog.without_rules():
            self.uncovered.add(gvk, catalog)

    def _tell_fleet(self, digest: str) -> None:
        """Show what the cluster has in common with others. Most changes leave it: a scrape must never miss it."""
        if digest != self._shared_digest:
            self.metrics.fleet.clear()
            self.metrics.fleet.labels(digest, *self.fleet).set(1)
            self._shared_digest = digest

    def _tell_catalog(self, old: State, new: State) -> None:
        """Log and count a catalog, and how the definitions that are installed differ from it."""
        if new.catalog is None:
            return
        if new.catalog is not old.catalog:
            log.info("catalog %s: %d kinds", new.catalog.digest, len(new.catalog.kinds))
        self._tell_uncovered(new.catalog)
        self.metrics.catalog.clear()
        packs = " ".join(f"{api}:{digest}" for api, digest in new.catalog.added.items())
        self.metrics.catalog.labels(new.catalog.digest, packs).set(1)
        self.metrics.definitions.clear()
        self.metrics.aside.clear()
        known = set(map(str, old.deviations))
        for each in new.deviations:
            self.metrics.definitions.labels(str(each.kind)).inc(len(each.aside))
            for code in each.aside:
                self.metrics.aside.labels(str(each.kind), code).set(1)
            if str(each) not in known:
                log.log(logging.WARNING if each.is_notable else logging.INFO, "%s", each)
                if each.release:
                    self.report("ReleaseUnknown", str(each))
        self._tell_releases(old, new.catalog)

    def _tell_releases(self, old: State, catalog: Catalog) -> None:
        """Log and count the releases of operators, where they are known."""
        before = old.catalog.releases() if old.catalog is not None else {}
        self.metrics.releases.clear()
        for api, each in catalog.releases().items():
            if each.operator:
                self.metrics.releases.labels(api, each.name, each.by).set(1)
            if each != before.get(api) and api in catalog.in_force:
                log.info("the rules of %s are those of %s (%s)", api, each, each.by)

    def _tell_degrees(self, _old: State, new: State) -> None:
        """Log and count the Enforcements and PolicyExceptions in force."""
        degrees = new.options.degrees
        assert degrees is not None
        counts = Counter({ENFORCEMENT: 0, EXCEPTION: 0})
        counts.update(policy.kind for policy in degrees.policies)
        for kind, count in counts.items():
            self.metrics.enforced.labels(kind).set(count)
        self.metrics.enforcement.clear()
        self.metrics.enforcement.labels(degrees.digest).set(1)
        numbers = ", ".join(f"{count} {kind}" for kind, count in counts.items())
        log.info("enforcement %s: %s, %d strict namespaces", degrees.digest, numbers, len(degrees.strict))

    def _tell_policies(self, _old: State, new: State) -> None:
        """Log and count a set of admission policies."""
        policies, catalog = new.policies, new.catalog
        assert policies is not None
        assert catalog is not None
        self._tell_uncovered(catalog)
        self.metrics.policies.clear()
        self.metrics.policies.labels(policies.digest).set(1)
        validators, mutators = policies.policies.validators, policies.policies.mutators
        log.info("admission policies %s: %d validating, %d mutating", policies.digest, len(validators), len(mutators))
        for remark in policies.remarks(catalog):
            log.warning("%s", " ".join(str(remark).split()))
