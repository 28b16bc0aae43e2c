"""The pods: as many as wanted, ready, apart, and of one mind."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from typing import Any, Final

from webhook.cli.doctor.finding import Finding
from webhook.cli.doctor.snapshot import Installation, Object, named

__all__ = ["check"]

_DIGEST: Final = re.compile(r'^modelgate_catalog_info\{digest="([^"]+)"\} 1', re.MULTILINE)
_POLICIES: Final = re.compile(r'^modelgate_admission_policies_info\{digest="([^"]+)"\} 1', re.MULTILINE)
_REFUSED: Final = re.compile(
    r'^modelgate_(catalog|admission_policies)_loads_total\{outcome="refused"\} ([0-9.e+]+)', re.MULTILINE
)
_JUDGING: Final = ("profile", "without")


def check(found: Installation) -> Iterator[Finding]:
    yield from _replicas(found)
    yield from _versions(found)
    if found.snapshot.cluster is not None:
        yield from _ready(found)
        yield from _apart(found)
        yield from _alike(found)


def _replicas(found: Installation) -> Iterator[Finding]:
    about = named(found.gate)
    wanted = found.gate["spec"].get("replicas", 1)
    scaled = [each["spec"] for each in found.snapshot.of("HorizontalPodAutoscaler", namespace=found.namespace)]
    least = [each.get("minReplicas", 1) for each in scaled if each["scaleTargetRef"]["name"] == found.name]
    if wanted == 0 and not least:
        yield Finding("gate-down", about, "replicas is 0")
    elif max([*least, 0] if least else [wanted]) < 2:
        yield Finding("one-replica", about, "there is one replica")


def _versions(found: Installation) -> Iterator[Finding]:
    if found.reconciler is None:
        return
    images = [
        next(c["image"] for c in each["spec"]["template"]["spec"]["containers"] if c["name"] == name)
        for each, name in ((found.gate, "gate"), (found.reconciler, "reconciler"))
    ]
    if images[0] != images[1]:
        yield Finding(
            "version-skew", named(found.reconciler), f"its image is {images[1]}, and the gate's is {images[0]}"
        )
    gate, reconciler = found.flags(), found.flags("reconciler")
    for flag in _JUDGING:
        mine, theirs = getattr(gate, flag), getattr(reconciler, flag)
        if mine != theirs:
            yield Finding(
                "rules-differ", named(found.reconciler), f"--{flag} is {theirs!r}, and the gate's is {mine!r}"
            )


def _ready(found: Installation) -> Iterator[Finding]:
    pods = [each for each in found.pods() if "deletionTimestamp" not in each["metadata"]]
    unready = [each for each in pods if not _is_ready(each)]
    if found.gate["spec"].get("replicas", 1) and len(unready) == len(pods):
        why = "; ".join(filter(None, (_trouble(each, found) for each in pods))) or "there is no pod"
        yield Finding("gate-down", named(found.gate), f"no pod is ready: {why}")
        return
    for each in unready:
        yield Finding("replica-not-ready", named(each), _trouble(each, found) or "it is not ready")


def _trouble(pod: Object, found: Installation) -> str:
    """Why a pod is not ready: what a container waits for, or what the gate says."""
    status: Any = pod.get("status") or {}
    for each in (*(status.get("initContainerStatuses") or ()), *(status.get("containerStatuses") or ())):
        state = each.get("state") or {}
        waiting = state.get("waiting") or {}
        if waiting.get("reason") not in {None, "PodInitializing", "ContainerCreating"}:
            return f"container {each['name']}: {waiting['reason']}"
    said = _text(pod, found, "/readyz")
    return said.strip().splitlines()[0] if said and not said.startswith("ok") else ""


def _apart(found: Installation) -> Iterator[Finding]:
    nodes = list(found.snapshot.of("Node"))
    used = [pod["spec"].get("nodeName") for pod in found.pods() if _is_ready(pod)]
    if len(nodes) > 1 and len(used) > 1 and len(set(used)) == 1:
        yield Finding("replicas-together", named(found.gate), f"all {len(used)} replicas run on node {used[0]}")


def _alike(found: Installation) -> Iterator[Finding]:
    by_digest: dict[tuple[str, str], list[str]] = defaultdict(list)
    for pod in found.pods():
        text = _text(pod, found, "/metrics")
        if text is None:
            continue
        rules, policies = _DIGEST.search(text), _POLICIES.search(text)
        by_digest[rules[1] if rules else "", policies[1] if policies else ""].append(pod["metadata"]["name"])
        for what, count in _REFUSED.findall(text):
            if float(count):
                sort = "rules" if what == "catalog" else "policies"
                yield Finding("policies-refused", named(pod), f"a set of {sort} with an error was refused")
    if len(by_digest) > 1:
        parts = [f"{', '.join(pods)}: {'/'.join(filter(None, key))}" for key, pods in sorted(by_digest.items())]
        yield Finding("rules-differ", named(found.gate), f"the replicas use different rules ({'; '.join(parts)})")


def _text(pod: Object, found: Installation, path: str) -> str | None:
    port = found.flags().health_port
    cluster = found.snapshot.cluster
    asked = cluster is not None and not found.snapshot.read_only
    return cluster.text(pod, port, path) if port and asked and cluster else None


def _is_ready(pod: Object) -> bool:
    conditions = (pod.get("status") or {}).get("conditions") or []
    return any(each["type"] == "Ready" and each["status"] == "True" for each in conditions)
