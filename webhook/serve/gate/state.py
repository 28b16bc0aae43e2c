"""The state of a gate, which is replaced as a whole: what reviews are judged by; and why a gate is not ready."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, TypedDict, Unpack

from webhook.admission import Request
from webhook.admission.errors import NotReady
from webhook.admission.recent import RecentStamps
from webhook.catalog import Catalog, Deviation, definition_names, with_installed
from webhook.cluster import ClusterView, RequestView
from webhook.engine import Native, Options
from webhook.serve.gate.pace import OverrunError, Pace
from webhook.serve.liveview import ViewRunner
from webhook.serve.tls import Trust

if TYPE_CHECKING:
    from webhook.engine.context import Offline
    from webhook.engine.policyset import PolicySet

Call = Literal["mutate", "validate"]
_CALLS: Final[tuple[Call, ...]] = ("mutate", "validate")

Stage = Callable[[str], AbstractContextManager[object]]
"""Opens a span around a stage of a review."""

InstalledDocuments = Callable[[], Iterable[Mapping[str, Any]]]
"""Gives the CustomResourceDefinitions that are installed."""

CONCERNED: Final = 1_000
"""Resources that are remembered: a large cluster serves about as many."""


AFFORDED: Final = 30_000
"""Cost units of a policy at a stretch, where the event loop may begin to decide a review: about 10 ms, at 0.3 µs for
the interpreter's unit. How long the policies take together is seen by the clock."""


class NativePolicies(NamedTuple):
    """A set of admission policies over a catalog, and the objects that lie beside them."""

    catalog: Catalog
    policies: PolicySet
    files: Offline
    concerned: dict[tuple[Any, ...], int | None]
    """What :meth:`affords` has answered, by resource."""

    @classmethod
    def of(cls, catalog: Catalog, policies: PolicySet) -> NativePolicies:
        """Prepare a set; what takes long is done here, and not by a review."""
        for each in (policies.policies.validators, policies.policies.mutators):
            each.stretches(AFFORDED)
        return cls(catalog, policies, policies.over(catalog), {})

    def affords(self, call: Call, request: Request) -> int | None:
        """The bytes of the largest review for which the policies about its resource can be interrupted soon enough.

        None if no policy is about it: most are not, and cost it nothing.
        """
        kind, known = request.kind, self.concerned
        about = call, kind.group, kind.version, request.resource, request.resource_api, request.subresource
        if about in known:
            return known[about]
        if len(known) >= CONCERNED:
            known.clear()
        policies, mutating = self.policies.policies, call == "mutate"
        found = known[about] = policies.affordable(request, self.files, AFFORDED, mutating=mutating)
        return found

    def concerns(self, request: Request) -> bool:
        """Whether a policy is about the resource of a request, in one of the calls."""
        return any(self.affords(call, request) is not None for call in _CALLS)

    def allow(self, call: Call, request: Request, body: bytes, pace: Pace) -> None:
        """Let the policies begin with a request, which came as this body, while other reviews wait.

        Raises:
            OverrunError: they may take long at a stretch.
        """
        afforded = self.affords(call, request)
        if afforded is None:
            return
        if self.policies.policies.weight(body) > afforded:
            raise OverrunError("admission policies")
        pace.hurry()

    def within(self, reading: RequestView | None) -> Native:
        """The policies for one request; ``reading`` is the request's view of the cluster, if there is one."""
        return Native(self.policies.policies, self.files if reading is None else self.files.live(reading))


class Parts(TypedDict, total=False):
    """The parts of a state that can be replaced; the others are made from them."""

    loaded: Catalog | None
    definitions: InstalledDocuments
    installed: frozenset[str] | None
    absent: frozenset[str]
    policies: PolicySet | None
    view: ClusterView
    live_view: ViewRunner | None
    options: Options
    waiting: frozenset[str]
    stage: Stage | None
    recent: RecentStamps


class State(NamedTuple):
    """Everything that a review is judged by; each review reads it once.

    ``loaded`` is None until a catalog is loaded; ``catalog`` is it by the ``definitions`` that are installed, without
    those that are ``absent``, and ``deviations`` say how these differ. ``installed`` are the names of definitions whose
    kinds are compiled before a review needs them; None: all kinds are. Other objects come from ``view`` or, if it is
    set, from ``live_view``. Without the parts that are ``waiting``, no review is answered. ``recent`` are the stamps
    written by this state and no other. ``pace`` is the checkpoint of its ``options``.
    """

    view: ClusterView
    recent: RecentStamps
    options: Options
    pace: Pace
    loaded: Catalog | None = None
    definitions: InstalledDocuments = tuple
    installed: frozenset[str] | None = frozenset()
    absent: frozenset[str] = frozenset()
    policies: PolicySet | None = None
    live_view: ViewRunner | None = None
    waiting: frozenset[str] = frozenset()
    stage: Stage | None = None
    catalog: Catalog | None = None
    deviations: tuple[Deviation, ...] = ()
    native: NativePolicies | None = None

    def replaced(self, **parts: Unpack[Parts]) -> State:
        """The state with these parts instead; what is made from them is made here, not by a review."""
        recent = parts.get("recent", self.recent.anew())  # the others were written by what is replaced
        new = self._replace(**parts)
        new = new._replace(recent=recent, options=replace(new.options, written=recent.take, checkpoint=new.pace))
        if parts.keys() & {"loaded", "definitions", "installed"}:
            new = _installed(new)
        return new._replace(native=_native(new))

    def ready(self) -> Catalog:
        """The catalog.

        Raises:
            NotReady: it, or a set of policies that it is to be used with, is not loaded yet.
        """
        if self.catalog is None:
            raise NotReady("the catalog of kinds and rules is not loaded yet")
        if self.waiting:
            raise NotReady(f"the {' and '.join(sorted(self.waiting))} are not loaded yet")
        return self.catalog

    def shared_digest(self) -> str:
        """What clusters of one stage have in common: rules, packs, releases that are set, profile, admission policies,
        Enforcements and PolicyExceptions in force. Not other settings, installed definitions and namespaces.
        """
        rules = self.loaded.rules if self.loaded is not None else ""
        native = self.policies.digest if self.policies is not None else ""
        degrees = self.options.degrees.shared_digest if self.options.degrees is not None else ""
        parts = rules, str(self.options.profile), native, degrees
        return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]

    def definition_names(self) -> tuple[frozenset[str], frozenset[str]]:
        """The names of the definitions of the loaded catalog's kinds, and of others that tell releases apart."""
        return definition_names(self.loaded) if self.loaded is not None else (frozenset(), frozenset())


def _installed(state: State) -> State:
    """The state with the catalog by the definitions that are installed, and how these deviate from it."""
    if state.loaded is None:
        return state._replace(catalog=None, deviations=())
    catalog, deviations = with_installed(state.loaded, state.definitions(), absent=state.absent)
    return state._replace(catalog=catalog.compiled(state.installed), deviations=deviations)


def _native(state: State) -> NativePolicies | None:
    """The admission policies over the catalog, prepared once for each pair."""
    catalog, policies, known = state.catalog, state.policies, state.native
    if not policies or catalog is None:
        return None
    if known is None or known.catalog is not catalog or known.policies is not policies:
        return NativePolicies.of(catalog, policies)
    return known


Need = Callable[[], list[str]]
"""Says why a part is not ready; empty if it is."""


class Readiness:
    """Why a gate is not ready, and the faults that it answers with nevertheless.

    A refused part is a newer one that is not used: the last good one stays in use. ``needs`` are further parts that
    must be ready. ``draining`` is set when the server begins to stop.
    """

    def __init__(self, needs: Iterable[Need] = ()) -> None:
        self.needs = list(needs)
        self.trust: Trust | None = None
        self.draining = False
        self._refused: dict[str, str] = {}

    def refuse(self, part: str, why: str) -> None:
        """Record that a newer part is not used."""
        self._refused[part] = why

    def accept(self, part: str) -> None:
        """Record that the newest part is used."""
        self._refused.pop(part, None)

    @property
    def refused(self) -> str:
        """The faults of newer parts; empty if there are none."""
        return "; ".join(self._refused.values())

    def unready(self, state: State) -> list[str]:
        """Why a gate of this state is not ready; empty if it is."""
        reasons = self._missing(state)
        reasons += [reason for need in self.needs for reason in need()]
        if self.trust is not None:
            reasons += self.trust.unready()
        if state.live_view is not None:
            reasons += state.live_view.unready()
        return [*reasons, "stopping: other replicas answer now"] if self.draining else reasons

    def _missing(self, state: State) -> list[str]:
        """Which rules or policies are not loaded, and why."""
        if not state.waiting:
            return [] if state.catalog is not None else ["the catalog of kinds and rules is not loaded"]
        return [self._refused.get(part, f"the {part} are not loaded") for part in sorted(state.waiting)]
