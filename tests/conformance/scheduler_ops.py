"""Answers of the real kube-scheduler about one pod and the nodes of a cluster without other pods."""

from __future__ import annotations

from typing import Any

from tests.placement.scheduler import scheduler_text
from webhook.placement import NodeTable, needs_of

OP = "scheduler"


def is_scheduler(document: dict[str, Any]) -> bool:
    """Whether a document is a corpus of kube-scheduler: its cases have a pod and nodes, and no operation."""
    cases = document.get("cases")
    return isinstance(cases, list) and bool(cases) and {"pod", "nodes"} <= cases[0].keys() and "expect" not in cases[0]


def scheduler_cases(document: dict[str, Any]) -> list[dict[str, Any]]:
    return [{**case, "id": str(place), "op": OP} for place, case in enumerate(document["cases"])]


def scheduler(case: dict[str, Any]) -> str | None:
    needs = needs_of(case["pod"])
    if needs is None:
        return "the pod is not read"
    nodes = [{**node, "metadata": {"name": f"n{at}", **node["metadata"]}} for at, node in enumerate(case["nodes"])]
    text = scheduler_text(needs, NodeTable.of(nodes, rounded=False))
    wanted = case.get("message") or ""
    return None if text == wanted else f"{text!r}, not {wanted!r}"


OPS = {OP: scheduler}
