"""The kinds that facts read in a ClusterView: the gate watches them, and has the right to.

The chart's ClusterRole ``…-view`` grants exactly these rights; tests compare the two, and the reads of the facts.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from webhook.cluster.view import Kind
from webhook.facts import KNOWN

__all__ = ["WATCHED", "watched"]

WATCHED: Final = frozenset(kind for each in KNOWN.values() for kind in each.watched)
"""All objects of these kinds are kept in memory."""


def watched(without: Collection[str] = ()) -> frozenset[Kind]:
    """The kinds to watch by an installation that does not cover these groups: not what only their APIs read."""
    left_out = frozenset(without)
    apis = (each.watched for each in KNOWN.values() if left_out.isdisjoint(kind.group for kind in each.watched))
    return frozenset(kind for kinds in apis for kind in kinds)
