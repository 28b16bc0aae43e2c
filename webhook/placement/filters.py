"""kube-scheduler's filters of one pod and one node, in its order; the first that fails speaks.

Source: pkg/scheduler/framework/plugins of Kubernetes 1.37: nodename, nodeunschedulable, tainttoleration, nodeaffinity,
noderesources. Ports, volumes, spreading, affinity to pods and claims of devices are not judged: they only make more
nodes unfit.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum
from typing import Final, NamedTuple

from webhook.placement.nodes import NodeShape, Taint
from webhook.placement.pod import LabelRequirement, Needs, Toleration

_NAME: Final = "metadata.name"
_UNSCHEDULABLE: Final = Taint("node.kubernetes.io/unschedulable", "", "NoSchedule")


class Stage(IntEnum):
    """The filters, in their order."""

    NAME = 0
    CORDON = 1
    TAINT = 2
    AFFINITY = 3
    RESOURCES = 4


class Unfit(NamedTuple):
    """Why a node cannot run a pod: the filter, and the ``taint``, the requirement (``unmet``; None where no term can
    match) or the resources that the node has too little of.
    """

    stage: Stage
    taint: Taint | None = None
    unmet: LabelRequirement | None = None
    lacking: tuple[str, ...] = ()

    @property
    def reasons(self) -> tuple[str, ...]:
        """kube-scheduler's words."""
        if self.stage is Stage.RESOURCES:
            return tuple("Too many pods" if name == "pods" else f"Insufficient {name}" for name in self.lacking)
        return (_REASONS[self.stage],)


_REASONS: Final = {
    Stage.NAME: "node(s) didn't match the requested node name",
    Stage.CORDON: "node(s) were unschedulable",
    Stage.TAINT: "node(s) had untolerated taint(s)",
    Stage.AFFINITY: "node(s) didn't match Pod's node affinity/selector",
}


def failure(needs: Needs, shape: NodeShape, name: str, labels: Mapping[str, str] | None = None) -> Unfit | None:
    """Why a node of a shape and a name cannot run a pod; None if it can. ``labels``: all of the node's, if the shape
    lacks some.
    """
    if needs.node and needs.node != name:
        return Unfit(Stage.NAME)
    if shape.unschedulable and not _is_tolerated(_UNSCHEDULABLE, needs.tolerations):
        return Unfit(Stage.CORDON)
    if taint := next((taint for taint in shape.taints if not _is_tolerated(taint, needs.tolerations)), None):
        return Unfit(Stage.TAINT, taint=taint)
    return _affinity(needs, shape.labels if labels is None else labels, name) or _resources(needs, shape)


def _is_tolerated(taint: Taint, tolerations: tuple[Toleration, ...]) -> bool:
    return any(_tolerates(toleration, taint) for toleration in tolerations)


def _tolerates(toleration: Toleration, taint: Taint) -> bool:
    """core/v1, ``Toleration.ToleratesTaint``."""
    if toleration.effect and toleration.effect != taint.effect:
        return False
    if toleration.key and toleration.key != taint.key:
        return False
    match toleration.operator:
        case "" | "Equal":
            return toleration.value == taint.value
        case "Exists":
            return True
    return False  # Gt and Lt are behind a feature gate that is off by default


def _affinity(needs: Needs, labels: Mapping[str, str], name: str) -> Unfit | None:
    for key, value in needs.selector.items():
        if labels.get(key) != value:
            return Unfit(Stage.AFFINITY, unmet=LabelRequirement(key, "In", (value,)))
    if needs.terms is None:
        return None
    unmet: LabelRequirement | None = None
    for term in needs.terms:
        failing = term.failing(labels, name)
        if failing is None:
            return None
        unmet = unmet or failing
    return Unfit(Stage.AFFINITY, unmet=unmet)


def _resources(needs: Needs, shape: NodeShape) -> Unfit | None:
    if shape.capacity is None:
        return None
    lacking = ["pods"] if shape.capacity.get("pods", 0) < 1 else []
    lacking += [name for name, asked in needs.requests.items() if asked > max(shape.capacity.get(name, 0), 0)]
    return Unfit(Stage.RESOURCES, lacking=tuple(lacking)) if lacking else None


def named_nodes(needs: Needs) -> frozenset[str] | None:
    """The only nodes that kube-scheduler looks at, if each term names some; empty if no node can have all names that a
    term wants. None: all nodes are looked at.
    """
    names = frozenset[str]()
    if not needs.all_terms:
        return None
    for term in needs.all_terms:
        wanted = [frozenset(name.values) for name in term.names if name.key == _NAME and name.operator == "In"]
        if not wanted:
            return None
        names |= wanted[0].intersection(*wanted[1:])
    return names
