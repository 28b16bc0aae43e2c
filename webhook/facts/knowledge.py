"""What Modelgate knows of an API in Python, beside the data of its folder."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from webhook.cluster.view import ClusterView, Kind
from webhook.facts.fact import Fact
from webhook.facts.settings import Settings
from webhook.facts.whole import Wholes

__all__ = ["Comparison", "Explanation", "Fetched", "Knowledge", "Table", "WholesOf"]


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
