"""How one CA follows another, without a moment in which a client refuses a leaf that is served.

Three phases, and what ends each::

    publish   a new CA is in the bundle beside the one that signs    every configuration has been read back with it
    wait      API servers take up the configurations                 ``uptake`` has passed: the new CA signs
    retire    the old CA stays in the bundle                         its last leaf is dead: it leaves the bundle

Pure: no clock, no store. Each function makes a state from a state; the caller stores it before anything is published
that follows from it. A crash between two steps loses nothing, because the next look starts from what is stored.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime

from cryptography import x509

from certs import pem
from certs.authority import Authority
from certs.issue import Leaf
from certs.lifetimes import Lifetimes
from certs.state import Retired, Signer, State


@dataclass(frozen=True, slots=True)
class Seen:
    """What one replica sees: the leaf that it serves, and the bundle of each webhook configuration.

    Attributes:
        leaf: None before the first one.
        published: the certificates in each webhook configuration that exists.
        complete: False where a configuration could not be read.
    """

    leaf: Leaf | None
    published: tuple[pem.Certificates, ...]
    complete: bool = True

    @property
    def trusted(self) -> pem.Certificates:
        """Every CA that some client trusts now, as far as this replica can tell."""
        beside = self.leaf.trusted if self.leaf else ()
        return pem.unique([*beside, *(each for bundle in self.published for each in bundle)])

    @property
    def blank(self) -> bool:
        """Whether every configuration is new, without any CA; clients trust what an older one had, or none."""
        return self.complete and bool(self.published) and not any(self.published)

    def confirms(self, authority: x509.Certificate) -> bool | None:
        """Whether every configuration trusts this CA; None where some could not be read and the others do."""
        if not all(authority in bundle for bundle in self.published):
            return False
        return True if self.complete else None


def begin(seen: Seen, now: datetime, lifetimes: Lifetimes) -> State:
    """The first state of an empty store. What clients trust already, they go on trusting: the store may be deleted."""
    return adopt(State(Signer(Authority.create(now, lifetimes))), seen.trusted, now, lifetimes)


def adopt(state: State, others: Iterable[x509.Certificate], now: datetime, lifetimes: Lifetimes) -> State:
    """Keep CAs trusted that may have signed leaves until now, for the life of such a leaf."""
    until = now + lifetimes.retired
    added = [
        Retired(each, min(until, each.not_valid_after_utc))
        for each in pem.alive(pem.unique(others), now)
        if each not in state.trusted
    ]
    return replace(state, retired=(*state.retired, *added))


def advance(state: State, seen: Seen, now: datetime, lifetimes: Lifetimes) -> State:
    """Every step that is due; the same state where none is."""
    state = _forget(state, now)
    state = _hold(state, seen.leaf, now)
    state = replace(state, signer=_marked(state.signer, seen, now))
    if state.coming is None:
        return replace(state, coming=_successor(state.signer.authority, now, lifetimes))
    coming = _marked(state.coming, seen, now)
    if coming.confirmed is None or now < coming.confirmed + lifetimes.uptake:
        return replace(state, coming=coming)
    return _promote(replace(state, coming=coming), now, lifetimes)


def may_sign(state: State, leaf: Leaf | None, now: datetime, lifetimes: Lifetimes) -> bool:
    """Whether a leaf of the signing CA may be served: each client trusts it, or trusts the leaf before it as much."""
    if state.signer.authority.expired(now):
        return False
    if leaf is not None and pem.signed(leaf.certificate, state.signer.certificate):
        return True
    confirmed = state.signer.confirmed
    # Where no other CA is trusted, no other leaf is served: waiting would only delay the first start.
    return confirmed is not None and (not state.retired or now >= confirmed + lifetimes.uptake)


def phase(state: State, now: datetime, lifetimes: Lifetimes) -> str:
    """In a word, for status and metrics: publish, wait, retire or steady."""
    newest = state.coming or state.signer
    if newest.confirmed is None:
        return "publish"
    if state.coming or (state.retired and now < newest.confirmed + lifetimes.uptake):
        return "wait"
    return "retire" if state.retired else "steady"


def _forget(state: State, now: datetime) -> State:
    return replace(state, retired=tuple(each for each in state.retired if now < each.until))


def _hold(state: State, leaf: Leaf | None, now: datetime) -> State:
    """Trust the CA of the leaf that is served for as long as that leaf lives."""
    issuer = leaf.issuer if leaf else None
    if leaf is None or issuer is None or leaf.ends <= now:
        return state
    signers = (state.signer, state.coming) if state.coming else (state.signer,)
    if any(issuer == each.certificate for each in signers):
        return state
    if any(issuer == each.certificate and leaf.ends <= each.until for each in state.retired):
        return state
    others = tuple(each for each in state.retired if each.certificate != issuer)
    return replace(state, retired=(*others, Retired(issuer, leaf.ends)))


def _marked(signer: Signer, seen: Seen, now: datetime) -> Signer:
    """Confirmed when every configuration has been read back with it; no longer so when one has lost it.

    Configurations that are new, as after a reinstallation, have lost nothing: who still knows those before trusts it.
    """
    match seen.confirms(signer.certificate):
        case True:
            return replace(signer, confirmed=signer.confirmed or now)
        case False if not seen.blank:
            return replace(signer, confirmed=None)
    return signer


def _successor(authority: Authority, now: datetime, lifetimes: Lifetimes) -> Signer | None:
    certificate = authority.certificate
    if authority.own:
        before = lifetimes.ca_renewed_before
    else:
        # Its owner renews it; cert-manager does with a third left. At a sixth, the owner is late.
        before = (certificate.not_valid_after_utc - certificate.not_valid_before_utc) / 6
    if now < certificate.not_valid_after_utc - before:
        return None
    return Signer(Authority.create(now, lifetimes))


def _promote(state: State, now: datetime, lifetimes: Lifetimes) -> State:
    assert state.coming is not None
    old = state.signer.certificate
    promoted = replace(state, signer=state.coming, coming=None)
    return adopt(promoted, [old], now, lifetimes)
