"""Findings about nodes, memory, ranks, storage and limits, with their level.

What follows from the object alone is refused by the strict profile, as it stays true. Nodes, quotas and classes change,
so what is said of them is a warning under every profile.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple

from webhook.admission import Cause, Warn, cut_end
from webhook.catalog import KnownKind
from webhook.cluster import ClusterView, NotedView
from webhook.engine.findings import MESSAGE, Findings
from webhook.engine.placement.memory import There, memory_there, verdict
from webhook.engine.placement.nodes import Nodes, is_queued, nodes_of, why_tainted, why_unfit
from webhook.engine.placement.refused import refusals
from webhook.engine.placement.surroundings import PodSurroundings
from webhook.engine.review import ObjectReview, Subject
from webhook.engine.seen import Judgements
from webhook.facts import GpuLoad, ServedPod, Workload
from webhook.facts.nodes import mapping, namespace_of
from webhook.facts.settings import Settings
from webhook.policy import Profile

FIT_CODES: Final = ("KN001", "KN002", "KN003", "KF001", "KF002", "KF003", "KF004", "KF005", "KF006")

_STEPS: Final = 200
"""Steps of a judgement: forty shapes take a quarter of a millisecond."""


class FitFault(NamedTuple):
    """What is wrong, at a field of the object. ``alone``: it follows from the object, and what it names."""

    code: str
    field: str
    text: str
    certain: bool = True
    alone: bool = False


class JudgedFit(NamedTuple):
    """An object against its surroundings: its workload, the nodes of each pod, and the memory of each load."""

    workload: Workload
    around: PodSurroundings
    nodes: Sequence[Nodes]
    memory: Sequence[There | None]


JUDGED: Final = Judgements()
"""Objects of this process that fit."""


def fit_findings(subject: Subject, rest: bytes) -> Findings | None:
    """The findings of an object; None without any. The ``rest`` is all of it but its name, see :func:`nameless`.

    Raises:
        SpentError, DeadlineExceeded: from the budget of the review.
    """
    faults = () if subject.errors else _faults_of(subject.review, subject.obj, rest)
    if not faults:
        return None
    findings, strictness = Findings(), subject.review.strictness()
    is_update = subject.old is not None and subject.old.get("spec") == subject.obj.get("spec")
    for fault in faults:
        message = cut_end(fault.text, MESSAGE)
        may_refuse = fault.alone and fault.certain and not is_update
        if may_refuse and strictness.denies(fault.code, {Profile.STRICT}):
            findings.causes.append(Cause(fault.field, "FieldValueInvalid", message, fault.code))
        else:
            findings.warnings.append(Warn(fault.field, message, fault.code))
    return findings


def _faults_of(review: ObjectReview, obj: dict[str, Any], rest: bytes) -> Sequence[FitFault]:
    """What is wrong with an object; nothing with one that has fitted before, beside the same others."""
    kind, options = review.kind, review.options
    if kind.fit is None or not options.references or not options.settings.fit:
        return ()
    key, same = (rest,), (kind, options.settings)
    if JUDGED.verdict(key, review.view, *same) is not None:
        return ()
    noted = NotedView(review.view)
    judged = judged_of(review._replace(view=noted), obj)
    faults = () if judged is None else tuple(dict.fromkeys(faults_of(judged, is_complete=options.complete)))
    if not faults:
        JUDGED.add(key, noted.notes, True, *same)
    return faults


def judged_of(review: ObjectReview, obj: dict[str, Any]) -> JudgedFit | None:
    """An object against the view; None if nothing is asked of it, or it is not judged."""
    options = review.options
    if not options.references or review.kind.fit is None:
        return None
    review.budget.spend(_STEPS, "fit")
    judged = judge_fit(review.kind, obj, review.view, options.settings)
    if judged is not None and judged.around.table is not None:
        review.budget.spend(len(judged.nodes) * len(judged.around.table), "nodes")
    return judged


def judge_fit(kind: KnownKind, obj: dict[str, Any], view: ClusterView, settings: Settings) -> JudgedFit | None:
    """An object of a kind against a view, without a budget; None if it is not judged."""
    if kind.fit is None or not settings.fit or _is_ending(obj):
        return None
    workload = kind.fit(obj, view, kind.completed(settings), kind.in_force.releases)
    if workload is None:
        return None
    around = PodSurroundings(view, namespace_of(obj), settings.nodes)
    nodes = [nodes_of(pod, around) for pod in workload.pods]
    return JudgedFit(workload, around, nodes, [_memory(load, nodes, around) for load in workload.loads])


def _memory(load: GpuLoad, nodes: Sequence[Nodes], around: PodSurroundings) -> There | None:
    """The memory that there is. Whether nodes may be added is looked up only where what nodes have is not enough."""
    of_pod = nodes[load.pod] if 0 <= load.pod < len(nodes) else None
    there = memory_there(load, of_pod, is_elastic=False)
    is_short = there is None or verdict(load, there) is not None
    if is_short and of_pod is not None and around.table is not None and around.is_elastic:
        return memory_there(load, of_pod, is_elastic=True)
    return there


def _is_ending(obj: dict[str, Any]) -> bool:
    """Whether the object is being deleted, or suspended."""
    metadata, spec = mapping(obj, "metadata"), mapping(obj, "spec")
    return bool(metadata.get("deletionTimestamp")) or spec.get("suspend") is True


def faults_of(judged: JudgedFit, *, is_complete: bool) -> Iterator[FitFault]:
    yield from _of_nodes(judged)
    yield from _of_accelerator(judged)
    yield from _of_memory(judged)
    yield from _of_ranks(judged.workload)
    for claim in judged.workload.claims:
        yield FitFault(claim.code, claim.field, claim.text, claim.certain, claim.alone)
    for pod in judged.workload.pods:
        for part, why in refusals(pod, judged.around, is_complete=is_complete):
            yield FitFault("KF005", pod.origin(part), why)


def _of_nodes(judged: JudgedFit) -> Iterator[FitFault]:
    """KN001 and KN002. Of alternatives, those out of reach are probable while another one is not."""
    faults = [_of_pod(pod, nodes, judged.around) for pod, nodes in zip(judged.workload.pods, judged.nodes, strict=True)]
    is_reachable = judged.workload.is_choice and any(fault is None for fault in faults)
    for fault in faults:
        if fault is not None:
            yield fault._replace(certain=fault.certain and not is_reachable)


def _of_pod(pod: ServedPod, nodes: Nodes, around: PodSurroundings) -> FitFault | None:
    if nodes.silent or around.table is None or nodes.fitting or around.is_elastic:
        return None
    if nodes.tainted:
        queued = is_queued(pod.labels)
        return None if queued else FitFault("KN002", pod.origin("tolerations"), why_tainted(nodes), certain=False)
    why, part = why_unfit(nodes, around.table)
    return FitFault("KN001", pod.origin(part), f"no node can run the pod: {why}")


def _of_accelerator(judged: JudgedFit) -> Iterator[FitFault]:
    """KN003: the name is the operator's own, so it is never certain."""
    field, name = judged.workload.accelerator
    there = judged.workload.on_nodes
    if name and there and name not in there and not judged.around.is_elastic:
        listed = ", ".join(sorted(there)[:4])
        yield FitFault("KN003", field, f"no node has the GPU {name}; nodes have {listed}", certain=False)


def _of_memory(judged: JudgedFit) -> Iterator[FitFault]:
    verdicts = [verdict(load, there) for load, there in zip(judged.workload.loads, judged.memory, strict=True)]
    is_reachable = judged.workload.is_choice and any(fault is None for fault in verdicts)
    for load, fault in zip(judged.workload.loads, verdicts, strict=True):
        if fault is not None:
            yield FitFault(fault.code, load.field, fault.text, fault.certain and not is_reachable, fault.alone)


def _of_ranks(workload: Workload) -> Iterator[FitFault]:
    ranks = workload.ranks
    if ranks is not None and ranks.heads % ranks.ranks:
        fitting = [str(number) for number in range(1, min(ranks.heads, 64) + 1) if ranks.heads % number == 0]
        listed = f"{', '.join(fitting[:-1])} or {fitting[-1]}"
        heads = f"{ranks.heads} attention heads of {ranks.model}"
        text_of = f"{heads} are not divisible by {ranks.ranks} ranks: use {listed}"
        yield FitFault("KF003", ranks.field, text_of, alone=True)
