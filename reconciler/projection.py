"""The inputs and results of a projection: values only.

A projection is a pure function from a normalised object, its facts and observed objects to the desired state. The loop
(:mod:`reconciler.loop`) reads before it and writes after it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

from reconciler.resource import APIResource
from webhook.cluster.view import ClusterView, Kind
from webhook.golang.credentials import masked

__all__ = ["Controller", "Happening", "Lookup", "Observed", "Projection"]


class Lookup(NamedTuple):
    """An object that a projection needs, or, without a name, all objects of a kind."""

    kind: Kind
    namespace: str
    name: str = ""


@dataclass(frozen=True, slots=True)
class Observed:
    """What was read at one moment.

    ``view`` holds the objects that exist; ``unknown`` names those that could not be read, which may or may not exist.
    """

    now: datetime
    view: ClusterView
    unknown: frozenset[Lookup] = frozenset()


@dataclass(frozen=True, slots=True)
class Happening:
    """Something to report as an Event; ``type`` is Normal or Warning. Credentials in its message are hidden."""

    type: str
    reason: str
    message: str

    def __post_init__(self) -> None:
        object.__setattr__(self, "message", masked(self.message))


@dataclass(frozen=True, slots=True)
class Projection:
    """The desired state.

    ``children`` are whole objects to apply, owned by the projected one; ``status`` is the whole desired status (None:
    leave it unchanged); ``requeue`` is the number of seconds until the next check, None if only a change of the object
    can matter.
    """

    status: dict[str, Any] | None = None
    children: tuple[dict[str, Any], ...] = ()
    requeue: float | None = None
    events: tuple[Happening, ...] = ()


@dataclass(frozen=True, slots=True)
class Controller:
    """Everything that the loop needs for one kind.

    ``lookups(obj)`` names what to read, ``facts(obj, view)`` computes the ``facts`` that policies read,
    ``project(obj, facts, observed)`` decides. All three are pure. ``children`` are the resources that a projection may
    create.
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
