"""The text of kube-scheduler about a pod that no node can run."""

from __future__ import annotations

from collections import Counter
from typing import Final

from webhook.placement import Needs, NodeTable, failure, named_nodes

_CONFLICT: Final = "pod affinity terms conflict"
_NOT_LOOKED_AT: Final = "node(s) didn't satisfy plugin(s) [NodeAffinity]"


def scheduler_text(needs: Needs, table: NodeTable) -> str:
    """The event of a pod, without what follows ``preemption:``; "" if a node can run it.

    Source: ``FitError.Error`` of pkg/scheduler/framework: reasons with their counts, sorted as texts.
    """
    total, looked_at = table.total, named_nodes(needs)
    if total == 0:
        return "no nodes available to schedule pods"
    if looked_at is not None and not looked_at:
        return f"0/{total} nodes are available: {_CONFLICT}."
    reasons = Counter[str]()
    for node in table.nodes():
        if looked_at is not None and node.name not in looked_at:
            reasons[_NOT_LOOKED_AT] += 1
            continue
        failed = failure(needs, node.shape, node.name, node.labels)
        if failed is None:
            return ""
        reasons.update(failed.reasons)
    return f"0/{total} nodes are available: {', '.join(sorted(f'{n} {why}' for why, n in reasons.items()))}."
