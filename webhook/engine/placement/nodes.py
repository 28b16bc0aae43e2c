"""Which nodes can ever run a pod (KN001), and which only by a toleration (KN002).

What ends by itself is forgiven: a cordon, the taints of the node's own state, a device plugin that is away. A certain
verdict counts no taint at all, because other admission plugins add tolerations.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Final, NamedTuple

from webhook.cluster.view import is_unreadable
from webhook.engine.placement.surroundings import PodSurroundings, with_class
from webhook.facts import ServedPod
from webhook.facts.nodes import text
from webhook.placement import (
    MOST_SHAPES,
    Needs,
    NodeShape,
    NodeTable,
    Stage,
    Toleration,
    Unfit,
    failure,
    named_nodes,
    needs_of,
    shown,
)

_ALL_TAINTS: Final = (Toleration("", "Exists", "", ""),)
_OWN_STATE: Final = ("node.kubernetes.io/", "node.cloudprovider.kubernetes.io/")
_QUEUE: Final = "kueue.x-k8s.io/queue-name"
_GPU: Final = "nvidia.com/gpu"
_DIGITS: Final = re.compile(r"[0-9]{1,4}")
_EXTENDED: Final = "/"
_SHOWN: Final = 3
"""Reasons in a text: a warning has 256 characters."""


class NodePlace(NamedTuple):
    """Nodes of one shape, or one node by name, and why they cannot run the pod; None if they can.

    ``untainted``: why they could not without their taints, either.
    """

    shape: NodeShape
    name: str
    nodes: int
    failed: Unfit | None
    untainted: Unfit | None


@dataclass(frozen=True, slots=True)
class Nodes:
    """The nodes as a pod sees them. ``silent`` says why nothing is said of them; without it ``places`` are complete."""

    silent: str = ""
    needs: Needs | None = None
    places: tuple[NodePlace, ...] = ()

    @property
    def tainted(self) -> list[NodePlace]:
        """The nodes that fit, or that only taints stand against."""
        return [place for place in self.places if place.untainted is None]

    @property
    def fitting(self) -> list[NodePlace]:
        return [place for place in self.places if place.failed is None]

    @property
    def total(self) -> int:
        return sum(place.nodes for place in self.places)


def nodes_of(pod: ServedPod, around: PodSurroundings) -> Nodes:
    """The nodes of the view for a pod, whether the cluster is elastic or not."""
    spec = pod.spec
    if silent := _silence(pod, around):
        return Nodes(silent, needs_of(spec))
    if name := text(spec, "runtimeClassName"):
        spec = with_class(spec, around.runtime_class(name) or {})
    needs = needs_of(spec)
    assert around.table is not None
    if needs is None:
        return Nodes("the pod is not valid")
    if around.table.lacks(needs.labels):
        return Nodes("the pod asks for a label of one node that is not kept")
    places = tuple(_places(needs, around.table))
    extended = [resource for resource in needs.requests if _EXTENDED in resource]
    if all(place.failed for place in places) and any(map(around.offers_by_claims, extended)):
        return Nodes("a DeviceClass offers the resource, or may: claims decide", needs)
    return Nodes("", needs, places)


def _silence(pod: ServedPod, around: PodSurroundings) -> str:
    spec = pod.spec
    if around.table is None:
        return "no nodes are in view"
    if pod.unseen:
        return pod.unseen
    scheduler = spec.get("schedulerName")
    if scheduler not in {None, "", "default-scheduler"}:
        return "another scheduler decides"
    if spec.get("resourceClaims"):
        return "claims of devices decide"
    if spec.get("schedulingGates"):
        return "the pod has scheduling gates"
    if name := text(spec, "runtimeClassName"):
        runtime_class = around.runtime_class(name)
        if runtime_class is None or is_unreadable(runtime_class):
            return f"RuntimeClass {name} is not in view"
    return ""


def _places(needs: Needs, table: NodeTable) -> Iterator[NodePlace]:
    """The places of a pod: shapes, or single nodes where names decide."""
    if needs.reads_names or "kubernetes.io/hostname" in needs.labels:
        looked_at = named_nodes(needs)
        for node in table.nodes():
            is_passed = looked_at is not None and node.name not in looked_at
            failed = Unfit(Stage.NAME) if is_passed else _failure(needs, node.shape, node.name, node.labels)
            untainted = _untainted(failed, needs, node.shape, node.name, node.labels)
            yield NodePlace(node.shape, node.name, 1, failed, untainted)
        return
    for shape, count in table.counts.items():
        failed = _failure(needs, shape, "")
        yield NodePlace(shape, "", count, failed, _untainted(failed, needs, shape, ""))


def _untainted(failed: Unfit | None, needs: Needs, *node: Any) -> Unfit | None:
    """Why a node could not run a pod without its taints: other filters speak of nodes whose taints are tolerated."""
    is_taint = failed is not None and failed.stage is Stage.TAINT
    return _failure(needs._replace(tolerations=_ALL_TAINTS), *node) if is_taint else failed


def _failure(needs: Needs, shape: NodeShape, name: str, labels: Mapping[str, str] | None = None) -> Unfit | None:
    """Why a node can never run a pod; None if it can, or if the node does not tell what it has."""
    return None if shape.capacity is None else failure(needs, _forgiven(shape), name, labels)


@lru_cache(maxsize=MOST_SHAPES)
def _forgiven(shape: NodeShape) -> NodeShape:
    """A shape without what ends by itself."""
    taints = tuple(taint for taint in shape.taints if not taint.key.startswith(_OWN_STATE))
    capacity: Mapping[str, int] | None = shape.capacity
    if capacity is not None:
        of_machine = {**shape.devices, _GPU: max(counted_gpus(shape), shape.devices.get(_GPU, 0))}
        away = {name: most for name, most in of_machine.items() if most > capacity.get(name, 0)}
        capacity = {**capacity, **away} if away else capacity
    if not shape.unschedulable and len(taints) == len(shape.taints) and capacity is shape.capacity:
        return shape
    return replace(shape, taints=taints, capacity=capacity, unschedulable=False)


@lru_cache(maxsize=MOST_SHAPES)
def counted_gpus(shape: NodeShape) -> int:
    """The GPUs that a node offers by its labels, also while its device plugin is away; 0 if they do not say."""
    count, replicas = (shape.labels.get(f"{_GPU}.{key}", "") for key in ("count", "replicas"))
    if not _DIGITS.fullmatch(count):
        return 0
    return int(count) * max(int(replicas) if _DIGITS.fullmatch(replicas) else 1, 1)


def is_queued(labels: Mapping[str, Any]) -> bool:
    """Whether Kueue admits the pod: its flavors add selectors and tolerations."""
    return _QUEUE in labels


def why_unfit(nodes: Nodes, table: NodeTable) -> tuple[str, str]:
    """Why no node can run the pod, with the nearest one, and the part of the pod that it is about."""
    assert nodes.needs is not None
    without, places = nodes.needs, [place._replace(failed=place.untainted) for place in nodes.places]
    reasons = Counter[tuple[str, str]]()
    for place in places:
        for reason in _reasons(place, without):
            reasons[reason] += place.nodes
    total, listed = nodes.total, reasons.most_common(_SHOWN)
    texts = [_counted(why, part, count, total, without, _most(why, places)) for (part, why), count in listed]
    nearest = max(places, key=lambda place: _nearness(place, without))
    name = nearest.name or table.name_of(nearest.shape)
    part = next(iter(_reasons(nearest, without)))[0]
    of_nearest = f"; the nearest is {name}" if total > 1 else ""
    return f"{', '.join(texts)}{of_nearest}", part


def _reasons(place: NodePlace, needs: Needs) -> Iterator[tuple[str, str]]:
    """The parts of the pod that a place does not meet, each with what is wrong."""
    failed = place.failed
    if failed is None:
        return
    if failed.stage is Stage.RESOURCES:
        for name in failed.lacking:
            yield f"resources:{name}", "no room for a pod" if name == "pods" else name
    elif failed.stage is Stage.AFFINITY:
        is_selector = failed.unmet is not None and failed.unmet.key in needs.selector
        yield "nodeSelector" if is_selector else "affinity", str(failed.unmet) if failed.unmet else "any term"
    else:
        yield "nodeName", needs.node


def _most(resource: str, places: Iterable[NodePlace]) -> int:
    """The most of a resource that one of the nodes has that have too little of it."""
    lacking = (place for place in places if place.failed is not None and resource in place.failed.lacking)
    return max((_forgiven(place.shape).offers(resource) for place in lacking), default=0)


def _counted(why: str, part: str, count: int, total: int, needs: Needs, most: int) -> str:
    """``2 of 3 have fewer than 2 nvidia.com/gpu (at most 1)``."""
    who = f"{count} of {total}" if count < total else "the only node" if total == 1 else f"all {total}"
    has = "has" if count == 1 else "have"
    if not part.startswith("resources:"):
        return f"{who} {'does' if count == 1 else 'do'} not have {why}"
    if part == "resources:pods":
        return f"{who} {has} {why}"
    asked, there = shown(why, needs.requests[why]), shown(why, most)
    return f"{who} {has} {'fewer' if _EXTENDED in why else 'less'} than {asked} {why} (at most {there})"


def _nearness(place: NodePlace, needs: Needs) -> tuple[int, int, float]:
    """How near a node is: the filter that it comes to, then how few resources it lacks, and how much it has."""
    failed = place.failed
    if failed is None:
        return len(Stage), 0, 0.0
    if failed.stage is Stage.AFFINITY:
        return int(failed.stage), -_unmet(needs, place.shape.labels), 0.0
    shape = _forgiven(place.shape)
    shares = [min(shape.offers(name) / needs.requests[name], 1.0) for name in failed.lacking if name in needs.requests]
    return int(failed.stage), -len(failed.lacking), min(shares, default=0.0)


def _unmet(needs: Needs, labels: Mapping[str, str]) -> int:
    """The requirements that a node does not meet: of the selector, and of the term with the fewest."""
    of_terms = (sum(not one.holds(labels) for one in term.expressions) for term in needs.terms or ())
    return sum(labels.get(key) != value for key, value in needs.selector.items()) + min(of_terms, default=0)


def why_tainted(nodes: Nodes) -> str:
    """The taints that stand against the pod: of the nodes that could run it."""
    assert nodes.needs is not None
    could = {id(place.shape) for place in nodes.tainted}
    taints = Counter[str]()
    for place in nodes.places:
        if id(place.shape) in could and place.failed is not None and place.failed.taint is not None:
            taints[str(place.failed.taint)] += place.nodes
    count = sum(taints.values())
    named = ", ".join(taint for taint, _ in taints.most_common(2))
    who = "the only node that could run it" if count == 1 else f"all {count} nodes that could run it"
    return f"the taint {named} of {who} is not tolerated: add a toleration with operator: Exists"
