"""Keeps the leaf of one replica, the store and the webhook configurations in step: one look, every few seconds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

from certs import publish, rotation
from certs.api import Api
from certs.errors import AuthorityError, CertsError, ClockError, StoreError
from certs.issue import Leaf, beside, renew
from certs.lifetimes import Lifetimes
from certs.names import Names
from certs.publish import Configuration, Live
from certs.report import Note
from certs.rotation import Seen
from certs.state import Signer, State
from certs.store import Store, Stored

# One to make a CA, one to publish it, one to read it back and sign; the others are for races with other replicas.
_PASSES = 8


@dataclass(frozen=True, slots=True)
class Look:
    """What one look found and did.

    Attributes:
        state: the CAs as they are stored now; None where another replica was quicker.
        leaf: the leaf that is served from now on.
        lives: the webhook configurations as they were read.
        news: what was done.
        more: there is something left that can be done at once.
        faults: what could not be done; the rest has been done.
    """

    state: State | None
    leaf: Leaf | None
    lives: tuple[Live, ...]
    news: tuple[Note, ...] = ()
    more: bool = False
    faults: tuple[CertsError, ...] = ()

    @property
    def absent(self) -> list[Configuration]:
        """The configurations that do not exist, or are empty."""
        return [each.configuration for each in self.lives if not each.webhooks and not each.error]

    @property
    def complete(self) -> bool:
        """Whether a server can start: it has a leaf of a CA that every configuration has been read back with."""
        if self.state is None or self.leaf is None or self.faults:
            return False
        issuer, bundle = self.leaf.issuer, self.state.bundle
        return issuer in self.state.trusted and all(each.version and each.carries(bundle) for each in self.lives)


@dataclass(frozen=True)
class Keeper:
    """Everything that one replica does about certificates. Usage: ``keeper.look()``, again and again.

    The order within a look is what makes it safe beside other replicas: configurations are read before the store, the
    store is written before anything is published, and a configuration is changed only if it is as it was read.
    """

    directory: Path
    names: Names
    store: Store
    clock: Callable[[], datetime]
    configurations: Sequence[Configuration] = ()
    api: Api | None = None
    lifetimes: Lifetimes = Lifetimes()  # noqa: RUF009 (frozen)

    def look(self) -> Look:
        """Do all that can be done now.

        Raises:
            CertsError: the store cannot be used, or the directory of the leaf.
        """
        news: tuple[Note, ...] = ()
        for _ in range(_PASSES):
            found = self._pass()
            news += found.news
            if not found.more:
                break
        return replace(found, news=news)

    def _pass(self) -> Look:
        leaf = Leaf.read(self.directory)
        lives = self._read()
        seen = Seen(leaf, tuple(each.trusted for each in lives if each.webhooks), not any(each.error for each in lives))
        stored = self.store.read()
        now = self.clock()
        before = self._state(stored, seen, now)
        state = rotation.advance(before, seen, now, self.lifetimes)
        files = state.files(stored.files if stored else None)
        news = _changes(before, state, self.store, new=stored is None, published=bool(lives))
        if stored is None or files != stored.files:
            if not self.store.write(files, stored):
                return Look(None, leaf, lives, more=True)
        else:
            news = ()
        issued = self._issue(state, leaf, now)
        published, faults = self._publish(state.bundle, lives)
        news = (*news, *map(Note, (*issued, *published)))
        return Look(state, Leaf.read(self.directory) if issued else leaf, lives, news, bool(news), faults)

    def _read(self) -> tuple[Live, ...]:
        return tuple(publish.read(each, self.api) for each in self.configurations if self.api)

    def _state(self, stored: Stored | None, seen: Seen, now: datetime) -> State:
        if stored is None:
            return rotation.begin(seen, now, self.lifetimes)
        try:
            state, unaccounted = State.parse(stored.files, now)
        except ClockError as error:
            raise ClockError(f"{self.store}: {error}", self.store.path) from error
        except AuthorityError as error:
            raise StoreError(
                f"{self.store}: {error}. Correct or delete it. After a deletion, a new CA is made, and the one "
                "before stays trusted until its leaves are dead.",
                self.store.path,
            ) from error
        if unaccounted:
            return rotation.adopt(state, [*unaccounted, *seen.trusted], now, self.lifetimes)
        return state

    def _issue(self, state: State, leaf: Leaf | None, now: datetime) -> tuple[str, ...]:
        authority = replace(state.signer.authority, bundle=state.bundle)
        if rotation.may_sign(state, leaf, now, self.lifetimes):
            reason = renew(self.directory, leaf, authority, self.names, now, self.lifetimes)
            return (f"issued for {self.names} ({reason}), by {authority}, of {self.store}",) if reason else ()
        if leaf is not None:
            beside(self.directory, leaf, state.bundle)
        return ()

    def _publish(self, bundle: bytes, lives: tuple[Live, ...]) -> tuple[list[str], tuple[CertsError, ...]]:
        done: list[str] = []
        faults: list[CertsError] = [each.error for each in lives if each.error]
        for live in lives:
            if self.api is None or not live.webhooks or live.carries(bundle):
                continue
            try:
                took = publish.publish(bundle, live, self.api)
                done.append(f"published to {live.configuration}" if took else f"{live.configuration} has just changed")
            except CertsError as error:
                faults.append(error)
        return done, tuple(faults)


def _changes(before: State, after: State, store: Store, *, new: bool, published: bool) -> tuple[Note, ...]:
    """The steps of a rotation between two states. Those that change what is trusted are Events, too."""
    found = [f"made {after.signer.authority}, in {store}"] if new else []
    if after.coming and before.coming is None:
        found.append(f"made {after.coming.authority}, to sign next")
    if after.signer.certificate != before.signer.certificate:
        found.append(f"{after.signer.authority} signs from now on")
    kept = {each.certificate for each in after.retired}
    found += [
        f"{each.certificate.subject.rfc4514_string()} is no longer trusted: its last leaf is dead"
        for each in before.retired
        if each.certificate not in kept
    ]
    confirmed = [f"{each.authority} has been read back everywhere" for each in _confirmed(before, after)]
    notes = [Note(each, "AuthorityChanged", store.path) for each in found]
    notes += map(Note, confirmed if published else [])
    return tuple(notes) or (Note("stored the state of the CAs"),)


def _confirmed(before: State, after: State) -> list[Signer]:
    waiting = {each.certificate for each in (before.signer, before.coming) if each and not each.confirmed}
    return [each for each in (after.signer, after.coming) if each and each.confirmed and each.certificate in waiting]
