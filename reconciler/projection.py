"""What a projection is given and what it answers: values only.

A projection is a pure function from a normalised object, its facts and what is observed to
what should be. The loop (:mod:`reconciler.loop`) does the reading before and the writing after.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

from reconciler.resource import APIResource
from webhook.cluster.view import ClusterView, Kind

__all__ = ["Controller", "Happening", "Lookup", "Observed", "Projection"]


class Lookup(NamedTuple):
    """An object that a projection wants to see, or, without a name, all of a kind."""

    kind: Kind
    namespace: str
    name: str = ""


@dataclass(frozen=True, slots=True)
class Observed:
    """The world at one moment.

    ``view`` holds what was looked up and exists; ``unknown`` names what could not be read,
    which is not the same as absent.
    """

    now: datetime
    view: ClusterView
    unknown: frozenset[Lookup] = frozenset()


@dataclass(frozen=True, slots=True)
class Happening:
    """Something to tell the user as an Event; ``type`` is Normal or Warning."""

    type: str
    reason: str
    message: str


@dataclass(frozen=True, slots=True)
class Projection:
    """What should be.

    ``children`` are whole objects to apply, owned by the projected one; ``status`` is the
    whole status as we want it (None: leave it as it is); ``requeue`` is the number of seconds
    after which to look again, None where only a change of the object can matter.
    """

    status: dict[str, Any] | None = None
    children: tuple[dict[str, Any], ...] = ()
    requeue: float | None = None
    events: tuple[Happening, ...] = ()


@dataclass(frozen=True, slots=True)
class Controller:
    """All that the loop has to know about one kind.

    ``lookups(obj)`` says what to read, ``facts(obj, view)`` computes what the rules of the gate
    read as ``facts``, ``project(obj, facts, observed)`` decides. All three are pure.
    ``children`` are the resources a projection may make.
    """

    resource: APIResource
    lookups: Callable[[dict[str, Any]], Sequence[Lookup]]
    facts: Callable[[dict[str, Any], ClusterView], dict[str, Any]]
    project: Callable[[dict[str, Any], dict[str, Any], Observed], Projection]
    children: tuple[APIResource, ...] = ()

    def child(self, obj: dict[str, Any]) -> APIResource:
        """The resource of one of the projection's children."""
        named = (obj["apiVersion"], obj["kind"])
        return next(resource for resource in self.children if (resource.api_version, resource.kind) == named)
