"""Checks of the pods: their number, readiness, spread over nodes, and whether they have the same rules."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any, Final

from webhook.cli.doctor.finding import finding
from webhook.cli.doctor.snapshot import Installation, Object, condition_of, named, refusal_of
from webhook.library import Finding

_DIGEST: Final = re.compile(r'^modelgate_catalog_info\{digest="([^"]+)"[^}]*\} 1', re.MULTILINE)
_POLICIES: Final = re.compile(r'^modelgate_admission_policies_info\{digest="([^"]+)"\} 1', re.MULTILINE)
_REFUSED: Final = re.compile(
    r'^modelgate_(catalog|admission_policies)_loads_total\{outcome="refused"\} ([0-9.e+]+)', re.MULTILINE
)
_HELD: Final = re.compile(r'^modelgate_held_back\{api="([^"]+)",manager="([^"]+)"\} 1', re.MULTILINE)
_AND_YET: Final = re.compile(r"ok, but (.+)")
_JUDGING: Final = ("profile", "without")


def check(found: Installation) -> Iterator[Finding]:
    yield from _replicas(found)
    yield from _versions(found)
    if found.snapshot.cluster is not None:
        yield from _ready(found)
        yield from _reconciler(found)
        yield from _apart(found)
        yield from _alike(found)


def _replicas(found: Installation) -> Iterator[Finding]:
    about = named(found.gate)
    wanted = found.gate["spec"].get("replicas", 1)
    scaled = [each["spec"] for each in found.snapshot.of("HorizontalPodAutoscaler", namespace=found.namespace)]
    least = [each.get("minReplicas", 1) for each in scaled if each["scaleTargetRef"]["name"] == found.name]
    more = found.upgrade("gate.autoscaling.minReplicas=2" if least else "gate.replicas=2")
    if wanted == 0 and not least:
        yield finding("gate-down", about, "replicas is 0", more)
    elif max([*least, 0] if least else [wanted]) < 2:
        yield finding("one-replica", about, "there is one replica", more)


def _versions(found: Installation) -> Iterator[Finding]:
    if found.reconciler is None:
        return
    images = [
        next(c["image"] for c in each["spec"]["template"]["spec"]["containers"] if c["name"] == name)
        for each, name in ((found.gate, "gate"), (found.reconciler, "reconciler"))
    ]
    if images[0] != images[1] and not (_is_stuck(found.gate) or _is_stuck(found.reconciler)):
        what = f"its image is {images[1]}, and the gate's is {images[0]}"
        yield finding("version-skew", named(found.reconciler), what, found.upgrade())
    gate, reconciler = found.flags(), found.flags("reconciler")
    for flag in _JUDGING:
        mine, theirs = getattr(gate, flag), getattr(reconciler, flag)
        if mine != theirs:
            what = f"--{flag} is {theirs!r}, and the gate's is {mine!r}"
            yield finding("rules-differ", named(found.reconciler), what, found.upgrade())


def _ready(found: Installation) -> Iterator[Finding]:
    """Pods that serve, in an upgrade or not. Pods that end are neither asked nor counted."""
    pods = found.pods()
    unready = [each for each in pods if not _is_ready(each)]
    about, wanted = named(found.gate), found.gate["spec"].get("replicas", 1)
    if wanted and len(unready) == len(pods):
        yield finding("gate-down", about, f"no pod is ready: {_why(unready, found, 'gate')}")
    elif _is_stuck(found.gate):
        what = f"its new pods do not become ready: {_why(unready, found, 'gate')}"
        yield finding("rollout-stuck", about, what, _rollout("undo", found.gate))
    elif _rolls(found.gate) and not found.gate["spec"].get("paused") and refusal_of(found.gate) is None:
        what = f"{_new(found.gate)} of {wanted} pods are of the newest template and ready"
        yield finding("rollout", about, what, _rollout("status", found.gate))
    else:
        for each in unready:
            yield finding("replica-not-ready", named(each), _trouble(each, found, "gate") or "it is not ready")


def _reconciler(found: Installation) -> Iterator[Finding]:
    """The reconciler works, too: one pod of it leads."""
    deployment = found.reconciler
    if deployment is None:
        if account := found.reconciler_account():
            what = f"it does not exist, but {named(account)} does"
            yield finding(
                "reconciler-down", f"Deployment {found.namespace}/{found.name}-reconciler", what, found.upgrade()
            )
        return
    about, pods = named(deployment), found.pods("reconciler")
    unready = [each for each in pods if not _is_ready(each)]
    if deployment["spec"].get("replicas", 1) == 0:
        yield finding("reconciler-down", about, "replicas is 0", found.upgrade("reconciler.replicas=1"))
    elif len(unready) == len(pods):
        yield finding("reconciler-down", about, f"no pod is ready: {_why(unready, found, 'reconciler')}")
    elif _is_stuck(deployment):
        what = f"its new pods do not become ready: {_why(unready, found, 'reconciler')}"
        yield finding("rollout-stuck", about, what, _rollout("undo", deployment))
    for each in pods:
        for api, manager in (
            _HELD.findall(_text(each, found, "/metrics", "reconciler") or "") if _is_ready(each) else ()
        ):
            yield finding("held-back", about, f"it does not write the status of {api} objects, because {manager} does")


def _rollout(verb: str, deployment: Object) -> str:
    metadata = deployment["metadata"]
    return f"kubectl rollout {verb} deployment/{metadata['name']} --namespace={metadata.get('namespace', 'default')}"


def _is_stuck(deployment: Object) -> bool:
    """Whether an upgrade has made no progress for as long as the Deployment allows."""
    return condition_of(deployment, "Progressing", "False") is not None and refusal_of(deployment) is None


def _rolls(deployment: Object) -> bool:
    """Whether pods of the newest template are still to come, or others to go. One that crashes later is neither."""
    status: Any = deployment.get("status") or {}
    observed = status.get("observedGeneration", 0) >= deployment["metadata"].get("generation", 0)
    wanted = max(deployment["spec"].get("replicas", 1), status.get("replicas", 0))
    return bool(status) and (not observed or int(status.get("updatedReplicas", 0)) < wanted)


def _new(deployment: Object) -> int:
    """Pods of the newest template that serve."""
    status: Any = deployment.get("status") or {}
    return int(min(status.get("updatedReplicas", 0), status.get("readyReplicas", 0)))


def _why(pods: Sequence[Object], found: Installation, component: str) -> str:
    reasons = dict.fromkeys(filter(None, (_trouble(each, found, component) for each in pods)))
    return "; ".join(reasons) or ("there is no pod" if not pods else "they do not say why")


def _trouble(pod: Object, found: Installation, component: str) -> str:
    """Why a pod is not ready: what a container waits for, how it ended, or what the program says."""
    status: Any = pod.get("status") or {}
    for each in (*(status.get("initContainerStatuses") or ()), *(status.get("containerStatuses") or ())):
        waiting = (each.get("state") or {}).get("waiting") or {}
        if waiting.get("reason") not in {None, "PodInitializing", "ContainerCreating"}:
            detail = f": {waiting['message']}" if waiting.get("message") else ""
            return f"container {each['name']}: {waiting['reason']}{detail}"
    for each in status.get("conditions") or ():
        if each["type"] == "PodScheduled" and each["status"] == "False":
            return f"it is not scheduled: {each.get('message') or each.get('reason')}"
    said = _text(pod, found, "/readyz", component)
    return said.strip().splitlines()[0] if said and said.strip() and not said.startswith("ok") else ""


def _apart(found: Installation) -> Iterator[Finding]:
    nodes = list(found.snapshot.of("Node"))
    used = [pod["spec"].get("nodeName") for pod in filter(_is_ready, found.pods())]
    if len(nodes) > 1 and len(used) > 1 and len(set(used)) == 1:
        yield finding("replicas-together", named(found.gate), f"all {len(used)} replicas run on node {used[0]}")


def _alike(found: Installation) -> Iterator[Finding]:
    """What the pods that serve say of themselves. Different rules are a fault only outside of an upgrade."""
    by_digest: dict[tuple[str, str], list[str]] = defaultdict(list)
    for pod in filter(_is_ready, found.pods()):
        if trouble := _AND_YET.match(_text(pod, found, "/readyz") or ""):
            # The account was deleted and made again: the token of the pod is of the one before.
            command = _rollout("restart", found.gate) if "401" in trouble[1] else ""
            yield finding("replica-troubled", named(pod), trouble[1], command)
        text = _text(pod, found, "/metrics")
        if text is None:
            continue
        rules, policies = _DIGEST.search(text), _POLICIES.search(text)
        by_digest[rules[1] if rules else "", policies[1] if policies else ""].append(pod["metadata"]["name"])
        for what, count in _REFUSED.findall(text):
            if float(count):
                sort = "rules" if what == "catalog" else "policies"
                yield finding("policies-refused", named(pod), f"a set of {sort} with an error was refused")
    if len(by_digest) > 1 and not _rolls(found.gate):
        parts = [f"{', '.join(pods)}: {'/'.join(filter(None, key))}" for key, pods in sorted(by_digest.items())]
        yield finding("rules-differ", named(found.gate), f"the replicas use different rules ({'; '.join(parts)})")


def _text(pod: Object, found: Installation, path: str, component: str = "gate") -> str | None:
    port = found.flags(component).health_port
    cluster = found.snapshot.cluster
    asked = cluster is not None and not found.snapshot.read_only
    return cluster.text(pod, port, path) if port and asked and cluster else None


def _is_ready(pod: Object) -> bool:
    conditions = (pod.get("status") or {}).get("conditions") or []
    return any(each["type"] == "Ready" and each["status"] == "True" for each in conditions)
