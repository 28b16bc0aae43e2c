"""What Modelgate knows of an API in Python, beside the data of its folder: facts, and the pods of its operator."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from webhook.cluster.view import ClusterView, Kind
from webhook.facts.fact import Fact
from webhook.facts.settings import Settings

__all__ = ["Fetched", "Knowledge", "Table", "Whole", "Wholes", "WholesOf"]

_NONE: Final[Mapping[Any, Any]] = MappingProxyType({})


class Whole(NamedTuple):
    """One pod, and where it comes from.

    ``path`` and ``given``: the node of the object, and its value. ``origin`` names what completes it, if anything does,
    and ``alone`` makes the pod that this would be without the node. ``pod`` is a PodSpec. ``runners``: by the index of
    a container, the key of the node that has it beside the list. ``keys``: the lists that are merged, and by which
    key. ``volumes`` are the names of those that the operator adds.
    """

    path: str
    given: dict[str, Any]
    origin: str
    pod: dict[str, Any]
    alone: Callable[[], dict[str, Any]]
    runners: Mapping[int | str, str] = _NONE
    keys: Mapping[str, str] = _NONE
    volumes: Collection[str] = ()


@dataclass(frozen=True, slots=True)
class Wholes:
    """The pods of one object, which are made when they are asked for, once. The cluster is looked at before.

    They depend on the parts of pods in the object, on ``other``, an object of the cluster that completes it, and on
    ``read``, what else of the object they are made of. That is without the names in :attr:`Whole.volumes`.
    """

    pods: Iterable[Whole]
    other: dict[str, Any] | None = None
    read: str = ""


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of texts below a title and a header."""

    title: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


WholesOf = Callable[[dict[str, Any], ClusterView, Settings], Wholes]
Comparison = Callable[[dict[str, Any], ClusterView, Settings], Iterator[str]]
Explanation = Callable[[dict[str, Any], ClusterView, Settings], Iterator[Table]]


class Fetched(NamedTuple):
    """A kind of which facts read one object at a time, on demand; ``name``: only this one.

    A watch would tell the gate of each object of the cluster, and of each one that it has just judged.
    """

    kind: Kind
    name: str = ""


@dataclass(frozen=True)
class Knowledge:
    """``facts``: kind → name → fact. ``watched`` and ``fetched`` are the kinds that they read: all objects, or one by
    name. ``wholes``: kind → the pods that the operator makes of an object and of others. ``comparisons``: the lines
    that compare all objects among which one is chosen for an object. ``explanations``: what is chosen for an object,
    as tables. ``choices``: kind and fact → the members that say what was chosen.
    """

    facts: Mapping[str, Mapping[str, Fact]]
    watched: frozenset[Kind] = frozenset()
    fetched: frozenset[Fetched] = frozenset()
    wholes: Mapping[str, WholesOf] = field(default_factory=dict)
    comparisons: Mapping[Kind, Comparison] = field(default_factory=dict)
    explanations: Mapping[Kind, Explanation] = field(default_factory=dict)
    choices: Mapping[tuple[Kind, str], tuple[str, ...]] = field(default_factory=dict)
