"""The inputs and results of a projection: values only.

A projection is a pure function from a normalised object and the cluster to the desired state. The loop
(:mod:`reconciler.loop`) reads before it and writes after it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, NamedTuple

from reconciler.say.conditions import Condition
from webhook.admission import Cause
from webhook.cluster import APIResource
from webhook.cluster.view import ClusterView, Kind

Reduce = Callable[[dict[str, Any], APIResource], dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Observed:
    """What is known at one moment. ``view`` is complete: an object missing from it does not exist.

    ``measured`` is the result of the controller's ``observe``. ``absent`` are the kinds of children whose API is not
    installed: such children are not made. ``refused`` says which child could not be made, and why. ``made`` gives the
    children of an object by their names in the description of its kind: what the gate judges, too.
    """

    now: datetime
    view: ClusterView
    measured: Any = None
    absent: frozenset[Kind] = frozenset()
    refused: str = ""
    made: Callable[[dict[str, Any]], Mapping[str, dict[str, Any]]] = lambda _: {}


class Gauge(NamedTuple):
    """A sample of ``/metrics`` about one object."""

    name: str
    labels: Mapping[str, str]
    value: float


@dataclass(frozen=True, slots=True)
class Happening:
    """Something to report as an Event; ``type`` is Normal or Warning."""

    type: str
    reason: str
    message: str


@dataclass(frozen=True, slots=True)
class Projection:
    """The desired state.

    ``children`` are whole objects, owned by the projected one; ``status`` is the whole desired status (None: leave it
    unchanged); ``requeue`` is the number of seconds until the next check, None if only a change of an object that was
    read can matter. ``gauges`` are shown until the object is gone. ``shared`` are objects without an owner, which
    several objects use: they are made and changed, and never deleted. Children of the kinds ``keep`` are not deleted
    now, though they are not wanted.
    """

    status: dict[str, Any] | None = None
    children: tuple[dict[str, Any], ...] = ()
    requeue: float | None = None
    events: tuple[Happening, ...] = ()
    gauges: tuple[Gauge, ...] = ()
    shared: tuple[dict[str, Any], ...] = ()
    keep: frozenset[Kind] = frozenset()


@dataclass(frozen=True, slots=True)
class Controller:
    """Acts on the objects of one kind.

    ``project`` is pure. ``reads`` are the kinds that it reads beside those
    that facts read, each with what to keep of an object. ``children`` are the resources that it may create, and read.
    ``observe`` reads what is not in the cluster, such as metrics; it does not raise. ``refused`` makes a condition of
    what refuses an object, for a kind that says it in words of its own. ``owns`` are the types of conditions that
    go when the projection does not write them any more.
    """

    resource: APIResource
    project: Callable[[dict[str, Any], Observed], Projection]
    reads: Mapping[Kind, Reduce] = field(default_factory=dict)
    children: tuple[APIResource, ...] = ()
    refused: Callable[[Sequence[Cause]], Condition] | None = None
    observe: Callable[[dict[str, Any], ClusterView], Any] | None = None
    owns: frozenset[str] = frozenset()
