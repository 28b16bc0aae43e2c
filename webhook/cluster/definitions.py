"""The CustomResourceDefinitions of some kinds, as a cluster has them installed."""

from __future__ import annotations

import logging
import math
import threading
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import Any, Final

import orjson

from webhook.cluster.api import METADATA_ONLY, ApiError, Reader
from webhook.cluster.reflector import Reflector
from webhook.cluster.view import APIResource, Key

log = logging.getLogger("modelgate")

DEFINITIONS: Final = APIResource(
    "apiextensions.k8s.io", "v1", "customresourcedefinitions", "CustomResourceDefinition", False
)

READ_SECONDS: Final = 10.0
"""For one request of a definition, which has up to two megabytes."""

AGAIN: Final = 1.0
"""Seconds to the next attempt after one that failed."""

REFUSED_AGAIN: Final = 10.0
"""Seconds to the next attempt where a right is missing: no watch tells that it was given."""

WATCHED_AGAIN: Final = 600.0
"""Seconds to the next look in any case: the watch should not miss a change."""

_PATH: Final = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/"

Seen = tuple[str, int]
"""UID and generation: the generation counts the changes of the specification."""


class Definitions:
    """Reads the definitions again when they change. ``names`` are ``<plural>.<group>``; ``absent`` are the further
    ones that are not installed, and ``forbidden`` the needed ones that may not be read, each with the refusal.

    They are kept as JSON text: the definition of a kind with pods in it has a megabyte, and ten as Python objects.
    """

    def __init__(self, api: Reader) -> None:
        self._api = api
        self._held: dict[str, tuple[Seen, bytes]] = {}
        self.absent: frozenset[str] = frozenset()
        self.forbidden: Mapping[str, ApiError] = {}

    def refresh(self, names: Iterable[str], timeout: float, further: Iterable[str] = ()) -> bool:
        """Look for changes; True if a definition was added, changed or removed. ``timeout`` in seconds per request.

        Nothing is known of a ``further`` one that may not be read.

        Raises:
            ApiError: the API server refuses all, or does not answer; nothing is changed then.
        """
        held: dict[str, tuple[Seen, bytes]] = {}
        absent, forbidden = set[str](), dict[str, ApiError]()
        needed_names = frozenset(names)
        for name in (*sorted(needed_names), *further):
            needed = name in needed_names
            try:
                found = self._read(name, timeout)
            except ApiError as error:
                if not error.denied:
                    raise
                forbidden |= {name: error} if needed else {}
                continue
            if found is not None:
                held[name] = found
            elif not needed:
                absent.add(name)
        if forbidden and forbidden.keys() == needed_names:
            raise next(iter(forbidden.values()))
        changed = held != self._held or absent != self.absent or forbidden.keys() != self.forbidden.keys()
        self._held, self.absent, self.forbidden = held, frozenset(absent), forbidden
        return changed

    @property
    def trouble(self) -> str:
        """Which definitions may not be read, and why; empty if all may be."""
        names, errors = ", ".join(self.forbidden), [*self.forbidden.values()]
        return f"the installed definitions of {names} cannot be read: {errors[0]}" if errors else ""

    @property
    def installed(self) -> frozenset[str]:
        """The names of the definitions that are installed, or may be."""
        return frozenset((*self._held, *self.forbidden))

    def documents(self) -> Iterator[dict[str, Any]]:
        """The definitions that are installed."""
        for _, text in self._held.values():
            yield orjson.loads(text)

    def _read(self, name: str, timeout: float) -> tuple[Seen, bytes] | None:
        summary = self._api.document(_PATH + name, timeout, METADATA_ONLY.format(""))
        if summary is None:
            return None
        held = self._held.get(name)
        if held is not None and held[0] == _seen(summary):
            return held
        document = self._api.document(_PATH + name, timeout)
        return None if document is None else (_seen(document), orjson.dumps({"spec": document["spec"]}))


class FollowedDefinitions:
    """Definitions that a watch of their metadata follows. ``appeared`` is told the name of each one that changes.

    Without the right to read some of them, their kinds are judged by Modelgate's own, until the right is given.
    """

    def __init__(
        self,
        api: Reader,
        names: Collection[str],
        further: Collection[str],
        appeared: Callable[[str], None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._names = frozenset(names)
        self._further = frozenset(further)
        self._appeared = appeared
        self._clock = clock
        self._definitions = Definitions(api)
        self._reflector = Reflector(api, DEFINITIONS, self._changed, self._changed, clock=clock, metadata_only=True)
        self._due = threading.Event()
        self._next = -math.inf
        self._looked = self._failed = False
        self.trouble = ""
        """Which definitions cannot be read, and why; empty if all are known."""

    def run(self) -> None:
        """Follow them until :meth:`stop`."""
        self._reflector.run()

    def stop(self) -> None:
        self._reflector.stop()

    def silence(self) -> float:
        """Seconds since the last event of the watch; infinite before the first list."""
        silence = self._reflector.silence()
        return math.inf if silence is None else silence

    @property
    def absent(self) -> frozenset[str]:
        """The names of those that were not installed at the last look."""
        return self._definitions.absent

    def unready(self) -> list[str]:
        """Why the definitions are not known, or may have changed since; not for want of a right."""
        if self._failed:
            return [self.trouble]
        return [] if self._looked else ["the installed definitions are not read yet"]

    def look(self) -> list[dict[str, Any]] | None:
        """The definitions, if any of them has changed since the last look. Those that may not be read are left out."""
        if not self._due.is_set() and self._clock() < self._next:
            return None
        self._due.clear()
        changed = False
        try:
            changed = self._definitions.refresh(sorted(self._names), READ_SECONDS, sorted(self._further))
        except ApiError as error:
            self._say(f"the installed definitions cannot be read: {error}")
            self._failed = not error.denied
            self._next = self._clock() + (AGAIN if self._failed else REFUSED_AGAIN)
            if self._failed:
                return None
        else:
            self._say(self._definitions.trouble)
            self._failed = False
            self._next = self._clock() + (REFUSED_AGAIN if self.trouble else WATCHED_AGAIN)
        if self._looked and not changed:
            return None
        self._looked = True
        return [*self._definitions.documents()]

    def _say(self, trouble: str) -> None:
        if trouble and trouble != self.trouble:
            log.warning("%s", trouble)
        self.trouble = trouble

    def _changed(self, key: Key, _: object = None) -> None:
        if key.name in self._names or key.name in self._further:
            self._due.set()
        self._appeared(key.name)


def _seen(document: dict[str, Any]) -> Seen:
    metadata = document["metadata"]
    return metadata["uid"], metadata["generation"]
