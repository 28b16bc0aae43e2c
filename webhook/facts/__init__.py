"""Facts: values that rules read in addition to the object. One package per API; all facts are pure functions.

The gate watches the kinds that facts read in a ClusterView. The chart's ClusterRole ``…-view`` grants exactly these
rights; tests compare the two, and the reads of the facts.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Final

from webhook.cluster.view import Kind
from webhook.facts import aim, llmaz, llmd, llmkube, ome
from webhook.facts.fact import Fact, Fetched, Knowledge, Table, inputs_of
from webhook.facts.fit import FIT_FETCHED, FIT_WATCHED, FitOf, GpuLoad, ServedPod, Workload
from webhook.facts.memory import GIB, Bound, device_of_labels, gib
from webhook.facts.names import LABEL, is_typo, label, named
from webhook.facts.nodes import Memo
from webhook.facts.references import UNSEEN, Looked, Member, TooCostlyError, referenced

KNOWN: Final[Mapping[str, Knowledge]] = {
    module.__name__.rpartition(".")[2]: module.KNOWLEDGE for module in (aim, llmaz, llmd, llmkube, ome)
}
"""What Modelgate knows of each API in Python, by the name of its package here."""

FACTS: Final[Mapping[str, Mapping[str, Mapping[str, Fact]]]] = {api: each.facts for api, each in KNOWN.items()}
"""API → kind → name → fact."""

COMPARISONS: Final = {kind: lines for each in KNOWN.values() for kind, lines in each.comparisons.items()}
EXPLANATIONS: Final = {kind: tables for each in KNOWN.values() for kind, tables in each.explanations.items()}
CHOICES: Final = {chosen: members for each in KNOWN.values() for chosen, members in each.choices.items()}
"""These of all APIs, see there."""

WATCHED: Final = frozenset(kind for each in KNOWN.values() for kind in each.watched)
"""All objects of these kinds are kept in memory."""


def watched(without: Collection[str] = (), *, nodes: bool = False) -> frozenset[Kind]:
    """The kinds to watch by an installation that does not cover these groups: not what only their APIs read.

    ``nodes``: also the nodes, by which pods are judged.
    """
    left_out = frozenset(without)
    apis = (each.watched for each in KNOWN.values() if left_out.isdisjoint(kind.group for kind in each.watched))
    return frozenset(kind for kinds in apis for kind in kinds) | (FIT_WATCHED if nodes else frozenset())
