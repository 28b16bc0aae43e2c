"""How the API server reaches the gate: webhook configurations, also left-over ones, Services and NetworkPolicies.

Configurations must be present, for the right kinds, and no danger for the cluster.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import Any, Final

from webhook.catalog import Catalog
from webhook.cli.doctor.checks import state
from webhook.cli.doctor.finding import finding
from webhook.cli.doctor.snapshot import (
    COMPONENT,
    INSTANCE,
    NAME,
    WEBHOOKS,
    Installation,
    Object,
    Snapshot,
    called,
    is_ours,
    named,
    records,
    selects,
    upgrade,
)
from webhook.library import Finding
from webhook.policy import Profile

_VITAL: Final = (
    ("", "pods"),
    ("", "nodes"),
    ("", "namespaces"),
    ("", "secrets"),
    ("", "configmaps"),
    ("", "serviceaccounts"),
    ("", "endpoints"),
    ("", "services"),
    ("apps", "deployments"),
    ("apps", "replicasets"),
    ("apps", "daemonsets"),
    ("coordination.k8s.io", "leases"),
    ("rbac.authorization.k8s.io", "clusterroles"),
    ("apiextensions.k8s.io", "customresourcedefinitions"),
)
"""What a cluster needs to run and to repair itself."""

_CONDITION: Final = "!has(object.metadata.deletionTimestamp) || object.?spec != oldObject.?spec"
"""The match condition that the chart has; its name could stand before another."""

_PATHS: Final = {"MutatingWebhookConfiguration": "/mutate", "ValidatingWebhookConfiguration": "/validate"}

_PORT: Final = "https"
"""The name of the gate's port, in its pods and in the Service."""

_LONG: Final = 10
"""Seconds; Kubernetes' own default for a webhook."""


def check(found: Installation, catalog: Catalog) -> Iterator[Finding]:
    configurations = found.configurations()
    for kind in ("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"):
        own = {each["metadata"]["name"]: each for each in configurations if each["kind"] == kind}
        for name in sorted(found.published(kind) - own.keys()):
            yield from _missing(kind, name, found)
        if found.name in own and not state.differences_of(own[found.name], found):
            yield from _kinds(own[found.name], found, catalog)
    if found.flags().profile == Profile.AUDIT:
        yield finding("only-warns", named(found.gate), "its profile is audit", found.upgrade("gate.profile=standard"))
    for each in configurations:
        changed = state.differences_of(each, found)
        for webhook in filter(lambda one: one.get("rules"), each.get("webhooks") or []):
            if not changed:
                yield from _webhook(each, webhook, found)
            if not any("clientConfig" in one.path for one in changed):
                yield from _service(each, webhook, found)
    yield from _second(found)


def _missing(kind: str, name: str, installation: Installation) -> Iterator[Finding]:
    """It does not exist, or belongs to another gate: two releases of one name, in two namespaces."""
    other = installation.snapshot.find(kind, name)
    if other is None:
        yield state.missing(kind, name, installation)
    else:
        services = " and ".join(sorted(map("/".join, called(other))))
        what = f"{kind} {name} calls {services}, and not this gate"
        command = f"helm uninstall {installation.instance} --namespace={installation.namespace}"
        yield finding("second-gate", named(installation.gate), what, command)


def _kinds(configuration: Object, found: Installation, catalog: Catalog) -> Iterator[Finding]:
    """Each kind of the covered APIs must be sent."""
    rules = [rule for webhook in configuration["webhooks"] for rule in webhook.get("rules") or []]
    for gvk in sorted(catalog.kinds):
        plural = catalog.kinds[gvk].plural
        operations = {
            operation
            for rule in rules
            if _covers(rule, gvk.group, plural) and {gvk.version, "*"} & set(rule["apiVersions"])
            for operation in rule["operations"]
        }
        if gvk.group in found.groups() and not ({"CREATE", "UPDATE"} <= operations or "*" in operations):
            what = f"no rule of the webhook is about creations and updates of {plural}.{gvk.group}/{gvk.version}"
            yield finding("kind-not-guarded", named(configuration), what)


def _webhook(configuration: Object, webhook: Object, found: Installation) -> Iterator[Finding]:
    about = f"{named(configuration)}, webhook {webhook['name']}"
    for group, plural in _vital(webhook, found):
        what = f"its rules match {plural}{'.' if group else ''}{group}"
        if configuration["metadata"]["name"] == found.name:
            yield finding("rule-too-wide", about, what, found.upgrade())
        elif webhook.get("failurePolicy") == "Fail" and plural != "deployments":
            what = f"{what} in the namespaces of the cluster or of the gate, and it fails closed"
            yield finding("lock-out", about, what, found.upgrade("policies.failurePolicy=Ignore"))
    if configuration["metadata"]["name"] == found.name:
        if configuration["kind"].startswith("Validating") and webhook.get("failurePolicy") == "Ignore":
            closed = found.upgrade("webhooks.validating.failurePolicy=Fail")
            yield finding("fails-open", about, "failurePolicy is Ignore", closed)
        for what in _narrowed(webhook):
            yield finding("namespace-excluded", about, what, found.upgrade("webhooks.namespaceSelector=null"))
    if webhook.get("timeoutSeconds", _LONG) > _LONG:
        shorter = found.upgrade(f"webhooks.timeoutSeconds={_LONG}")
        yield finding("timeout-long", about, f"timeoutSeconds is {webhook['timeoutSeconds']}", shorter)


def _narrowed(webhook: Object) -> Iterator[str]:
    """What keeps objects of the guarded kinds from the gate."""
    for selector in ("namespaceSelector", "objectSelector"):
        if webhook.get(selector):
            yield f"it has a {selector}"
    for condition in webhook.get("matchConditions") or []:
        if condition["expression"] != _CONDITION:
            yield f"it has a matchCondition {condition['name']}: {condition['expression']}"
    for scope in sorted({rule.get("scope", "*") for rule in webhook["rules"]} - {"*"}):
        yield f"a rule has scope {scope}"
    if webhook.get("matchPolicy") == "Exact":
        yield "matchPolicy is Exact, so objects in other versions do not match"


def _vital(webhook: Object, found: Installation) -> Iterator[tuple[str, str]]:
    """What of the cluster's needs a webhook is called for; in the namespaces of the cluster or of the gate."""
    selector = webhook.get("namespaceSelector") or {}
    spaces = [{"kubernetes.io/metadata.name": each} for each in ("kube-system", found.namespace)]
    if not any(selects(selector, each) for each in spaces):
        return
    for (group, plural), rule in product(_VITAL, webhook.get("rules") or []):
        if _covers(rule, group, plural):
            yield group, plural


def _service(configuration: Object, webhook: Object, found: Installation) -> Iterator[Finding]:
    target, about = webhook["clientConfig"].get("service"), f"{named(configuration)}, webhook {webhook['name']}"
    if target is None:
        what = f"it calls {webhook['clientConfig'].get('url')}, and no Service"
        yield finding("service-wrong", about, what, found.upgrade())
        return
    if target.get("path") != (path := _PATHS[configuration["kind"]]):
        yield finding("service-wrong", about, f"it calls {target.get('path')}, and not {path}", found.upgrade())
    service = found.snapshot.find("Service", target["name"], target["namespace"])
    about = f"Service {target['namespace']}/{target['name']}"
    if service is None:
        what = f"it does not exist, but {named(configuration)} calls it"
        yield finding("service-wrong", about, what, found.upgrade())
        return
    for what, command in _unreached(service, target.get("port", 443), found):
        yield finding("service-wrong", about, what, command)


def _unreached(service: Object, called_port: int, installation: Installation) -> Iterator[tuple[str, str]]:
    """Why a Service does not lead to the gate, and the command that ends it.

    A port that was changed by hand is another port for Helm, which would add the one of the chart under the same name.
    """
    ports = list(service["spec"].get("ports") or ())
    place = next((place for place, port in enumerate(ports) if port["port"] == called_port), None)
    if place is None:
        of_gate = next((place for place, port in enumerate(ports) if port.get("name") == _PORT), None)
        command = installation.upgrade() if of_gate is None else _of_port(service, of_gate, "port", called_port)
        yield f"it has no port {called_port}, which is called", command
    labels = installation.gate["spec"]["template"]["metadata"].get("labels") or {}
    if not service["spec"].get("selector") or not service["spec"]["selector"].items() <= labels.items():
        yield "its selector does not match the pods of the gate", installation.upgrade()
    leads_to = ports[place].get("targetPort", called_port) if place is not None else _PORT
    if place is not None and leads_to not in {_PORT, installation.flags().port}:
        what = f"targetPort is {leads_to}, but the gate serves {installation.flags().port}"
        yield what, _of_port(service, place, "targetPort", _PORT)


def _of_port(service: Object, place: int, field: str, value: Any) -> str:
    return state.patch(service, [{"op": "add", "path": f"/spec/ports/{place}/{field}", "value": value}])


def _second(found: Installation) -> Iterator[Finding]:
    """A configuration of another release for the same groups."""
    own = {named(each) for each in found.configurations()}
    for each in found.snapshot.of("ValidatingWebhookConfiguration"):
        labels: Mapping[str, Any] = each["metadata"].get("labels") or {}
        if labels.get(NAME) != "modelgate" or labels.get(COMPONENT) != "gate" or named(each) in own:
            continue
        groups = {
            g for hook in each.get("webhooks") or [] for rule in hook.get("rules") or [] for g in rule["apiGroups"]
        }
        if both := sorted(groups & found.groups()):
            what = f"it is of release {labels.get(INSTANCE)}, and guards {', '.join(both)}, too"
            yield finding("second-gate", named(each), what)


def _covers(rule: Object, group: str, plural: str) -> bool:
    return bool({group, "*"} & set(rule["apiGroups"])) and bool({plural, "*", "*/*"} & set(rule["resources"]))


def check_leftovers(snapshot: Snapshot, installations: Sequence[Installation]) -> Iterator[Finding]:
    """What an upgrade that failed, or a removed release, has left.

    ``installations`` are those of all namespaces: a configuration is left over if it calls none of them.
    """
    gates = {(each.namespace, each.name) for each in installations}
    for each in snapshot.of(*WEBHOOKS):
        if any(one.owns(each) for one in installations):
            continue
        if is_ours(each) and not called(each) & gates:
            yield from _deleted(each, snapshot) or [_left(each, "its release has no gate any more")]
        elif any(one.has_left(each) for one in installations):
            yield _left(each, "the release does not have it today, so an upgrade that failed has left it")


def _left(configuration: Object, why: str) -> Finding:
    closed = any(hook.get("failurePolicy", "Fail") == "Fail" for hook in configuration.get("webhooks") or [])
    effect = "; what it matches is refused when the gate does not answer" if closed else ""
    delete = f"kubectl delete {configuration['kind'].lower()} {configuration['metadata']['name']}"
    return finding("left-over", named(configuration), f"{why}{effect}", delete)


def _deleted(configuration: Object, snapshot: Snapshot) -> list[Finding]:
    """The gates that a configuration calls, and that Helm says are installed: the Deployment was deleted by hand."""
    release = configuration["metadata"]["labels"][INSTANCE]
    what = f"it does not exist, but release {release} has it, and webhooks call it"
    return [
        finding("gate-missing", f"Deployment {namespace}/{name}", what, upgrade(release, namespace))
        for namespace, name in sorted(called(configuration))
        if [record["status"] for record in records(snapshot, release, namespace)][-1:] == ["deployed"]
    ]


def check_network(found: Installation) -> Iterator[Finding]:
    """The ports that policies open add up: a finding only if policies select the pods and none opens the port."""
    labels = found.gate["spec"]["template"]["metadata"].get("labels") or {}
    about_us = [
        each
        for each in found.snapshot.of("NetworkPolicy", namespace=found.namespace)
        if selects(each["spec"].get("podSelector") or {}, labels)
        and "Ingress" in each["spec"].get("policyTypes", ["Ingress"])
    ]
    port = found.flags().port
    if about_us and not any(_opens(rule, port) for each in about_us for rule in each["spec"].get("ingress") or []):
        names = " and ".join(named(each) for each in about_us)
        opened = () if any(map(is_ours, about_us)) else ("networkPolicy.enabled=true",)
        what = f"port {port} of the gate is open to no caller"
        yield finding("network-closed", names, what, found.upgrade(*opened))


def _opens(rule: Object, wanted: int) -> bool:
    ports: list[dict[str, Any]] = rule.get("ports") or [{}]
    return any(
        each.get("protocol", "TCP") == "TCP"
        and (each.get("port") in {None, wanted, "https"} or each["port"] <= wanted <= each.get("endPort", each["port"]))
        for each in ports
        if not isinstance(each.get("port"), str) or each["port"] == "https"
    )
