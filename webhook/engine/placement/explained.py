"""The table *fit*: each term, its bound and its source, also where rules are silent, and the share of memory."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from webhook.catalog import KnownKind
from webhook.cluster import ClusterView
from webhook.engine.placement.findings import JudgedFit, judge_fit
from webhook.engine.placement.memory import RESERVE, There, verdict
from webhook.engine.placement.nodes import Nodes
from webhook.facts import GpuLoad, ServedPod, Table, gib
from webhook.facts.settings import Settings
from webhook.placement import UnknownAmountError, requests_of, shown

_HEADER: Final = ("term", "bound", "from")


class _Row(NamedTuple):
    """``share`` is the part of the memory that is needed, in a row about it."""

    term: str
    bound: str
    source: str
    share: float | None = None


def fit_tables(kind: KnownKind, obj: dict[str, Any], view: ClusterView, settings: Settings) -> Iterator[Table]:
    """The table of an object, if it is judged."""
    judged = judge_fit(kind, obj, view, settings)
    rows = () if judged is None else tuple(_rows(judged))
    if rows:
        yield Table("fit", _HEADER, tuple(row[:-1] for row in rows), tuple(row.share for row in rows))


def _rows(judged: JudgedFit) -> Iterator[_Row]:
    for pod, nodes in zip(judged.workload.pods, judged.nodes, strict=True):
        yield _of_pod(pod)
        yield _of_nodes(nodes, judged)
    for load, there in zip(judged.workload.loads, judged.memory, strict=True):
        yield from _of_load(load, there)
    if (ranks := judged.workload.ranks) is not None:
        rest = ranks.heads % ranks.ranks
        yield _Row("heads", f"{ranks.heads} by {ranks.ranks} ranks: {f'{rest} left' if rest else 'even'}", ranks.model)
    yield from (_Row(*term) for term in judged.workload.terms)


def _of_pod(pod: ServedPod) -> _Row:
    try:
        asked = ", ".join(f"{shown(name, number)} {name}" for name, number in requests_of(pod.spec).items())
    except UnknownAmountError:
        return _Row("pod", "not read", "a quantity is not valid")
    return _Row("pod", asked or "asks for nothing", pod.origin("") or "the pod")


def _of_nodes(nodes: Nodes, judged: JudgedFit) -> _Row:
    if nodes.silent:
        return _Row("nodes", "not judged", nodes.silent)
    table, fitting = judged.around.table, sum(place.nodes for place in nodes.fitting)
    count = f"{fitting} of {nodes.total} fit"
    if judged.around.is_elastic:
        return _Row("nodes", count, "the cluster may add nodes: not judged")
    if not fitting and nodes.tainted:
        return _Row("nodes", count, f"{sum(place.nodes for place in nodes.tainted)} more without their taints")
    names = [place.name or (table.name_of(place.shape) if table else "") for place in nodes.fitting]
    return _Row("nodes", count, f"such as {names[0]}" if names else "no node can run the pod")


def _of_load(load: GpuLoad, there: There | None) -> Iterator[_Row]:
    if load.silent:
        yield _Row("memory", "not judged", load.silent)
        return
    weights = load.weights
    if weights is None:
        yield _Row("weights", "not known", "no size, and no name that is in the table of models")
    else:
        sure = "" if weights.certain else "probably "
        yield _Row("weights", f"{sure}at least {gib(weights.bytes)}", weights.source)
    if load.cache:
        yield _Row("cache", f"at least {gib(load.cache)}", f"one sequence of {load.tokens} tokens ({load.length})")
    if there is None:
        yield _Row("GPUs", f"{load.gpus}, memory not known", "nodes and the object do not tell it")
        return
    sure = "" if there.device.certain else "probably "
    yield _Row("GPUs", f"{there.gpus} x {sure}at most {gib(there.device.bytes)}", there.device.source)
    if weights is not None:
        needed = weights.bytes + load.cache + RESERVE * there.gpus
        fault = verdict(load, there)
        beside = f"{gib(RESERVE)} a GPU beside it{f'; {fault.code}' if fault else ''}"
        share = needed / max(there.total, 1)
        yield _Row("memory", f"{gib(needed)} of {gib(there.total)}, {int(100 * share)} %", beside, share)
