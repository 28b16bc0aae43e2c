"""What is around the release: Helm's record of it, budgets of disruptions, and webhooks of others over its pods."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from webhook.cli.doctor.checks.state import patch
from webhook.cli.doctor.finding import finding
from webhook.cli.doctor.snapshot import WEBHOOKS, Installation, Object, is_ours, named, refusal_of, selects
from webhook.library import Finding

_PENDING: Final = "pending-"


def check(installation: Installation) -> Iterator[Finding]:
    yield from _release(installation)
    yield from _budgets(installation)
    foreign = [*_foreign(installation)]
    yield from foreign or _refused(installation)


def _release(installation: Installation) -> Iterator[Finding]:
    """An interrupted `helm upgrade` leaves a record by which each later one is refused."""
    records = installation.records()
    if not records or not records[-1]["status"].startswith(_PENDING):
        return
    ended = [record["version"] for record in records if record["status"] in {"deployed", "superseded"}]
    name = f"{installation.instance} {ended[-1]}" if ended else installation.instance
    more = " --force-conflicts" if ended else ""
    verb = "rollback" if ended else "uninstall"
    command = f"helm {verb} {name} --namespace={installation.namespace}{more}"
    what = f"revision {records[-1]['version']} is {records[-1]['status']}: the helm that made it was interrupted"
    yield finding("release-pending", f"Helm release {installation.namespace}/{installation.instance}", what, command)


def _budgets(installation: Installation) -> Iterator[Finding]:
    """Budgets that never let a pod of the gate go: a node of it cannot be drained."""
    labels = installation.gate["spec"]["template"]["metadata"].get("labels") or {}
    replicas = installation.gate["spec"].get("replicas", 1)
    budgets = [
        budget
        for budget in installation.snapshot.of("PodDisruptionBudget", namespace=installation.namespace)
        if selects(budget["spec"].get("selector") or {}, labels)
    ]
    own = [budget for budget in budgets if is_ours(budget)]
    for budget in budgets:
        if len(budgets) > 1 and budget not in own[:1]:
            target = f"{budget['metadata']['name']} --namespace={installation.namespace}"
            what = "it selects pods that another budget selects, too: Kubernetes then evicts none of them"
            yield finding("budget-blocks", named(budget), what, f"kubectl delete poddisruptionbudget {target}")
        elif why := _never(budget["spec"], replicas):
            operations = [{"op": "replace", "path": "/spec", "value": _loose(budget["spec"])}]
            yield finding("budget-blocks", named(budget), why, patch(budget, operations))


def _never(spec: Object, replicas: int) -> str:
    """Why a budget lets no pod go; "" if it does."""
    most, least = spec.get("maxUnavailable"), spec.get("minAvailable")
    if most in {0, "0%"}:
        return f"maxUnavailable is {most}"
    if least == "100%" or (isinstance(least, int) and least >= replicas):
        return f"minAvailable is {least}, of {replicas} replicas"
    return ""


def _loose(spec: Object) -> Object:
    return {**{key: value for key, value in spec.items() if key != "minAvailable"}, "maxUnavailable": 1}


def _foreign(installation: Installation) -> Iterator[Finding]:
    """Webhooks of others that fail closed over the pods of the gate, and have nothing that answers."""
    for configuration in installation.snapshot.of(*WEBHOOKS):
        if is_ours(configuration):
            continue
        for place, webhook in enumerate(configuration.get("webhooks") or ()):
            if webhook.get("failurePolicy", "Fail") == "Fail" and is_over_pods(webhook, installation.namespace):
                yield from _dead(configuration, place, webhook, installation)


def _dead(configuration: Object, place: int, webhook: Object, installation: Installation) -> Iterator[Finding]:
    service = (webhook.get("clientConfig") or {}).get("service") or {}
    if not service or installation.snapshot.cluster is None:
        return
    about = f"{service.get('namespace')}/{service.get('name')}"
    why = installation.snapshot.cluster.unanswered(str(service.get("namespace")), str(service.get("name")))
    if why:
        operations = [{"op": "replace", "path": f"/webhooks/{place}/failurePolicy", "value": "Ignore"}]
        over = f"webhook {webhook.get('name')} fails closed over pods of {installation.namespace}"
        what = f"{over}, and its Service {about} {why}"
        yield finding("pods-refused", named(configuration), what, patch(configuration, operations))


def _refused(installation: Installation) -> Iterator[Finding]:
    """Pods that the API server does not let be made: a quota is used up, an account is missing."""
    for deployment in filter(None, (installation.gate, installation.reconciler)):
        if (refusal := refusal_of(deployment)) is not None:
            yield finding("pods-refused", named(deployment), str(refusal.get("message") or "no pod can be made"))


def is_over_pods(webhook: Object, namespace: str) -> bool:
    """Whether a webhook is called when a pod is created in a namespace; of its labels only the name is known."""
    if not selects(webhook.get("namespaceSelector") or {}, {"kubernetes.io/metadata.name": namespace}):
        return False
    if webhook.get("objectSelector") or webhook.get("matchConditions"):
        return False
    return any(
        {"", "*"} & set(rule.get("apiGroups") or ())
        and {"pods", "*", "*/*"} & set(rule.get("resources") or ())
        and {"CREATE", "*"} & set(rule.get("operations") or ())
        for rule in webhook.get("rules") or ()
    )
