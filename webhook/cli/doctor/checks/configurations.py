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
    selects,
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
        yield finding("only-warns", named(found.gate), "its profile is audit")
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
            yield finding("rule-too-wide", about, what)
        elif webhook.get("failurePolicy") == "Fail" and plural != "deployments":
            yield finding(
                "lock-out", about, f"{what} in the namespaces of the cluster or of the gate, and it fails closed"
            )
    if configuration["metadata"]["name"] == found.name:
        if configuration["kind"].startswith("Validating") and webhook.get("failurePolicy") == "Ignore":
            yield finding("fails-open", about, "failurePolicy is Ignore")
        for what in _narrowed(webhook):
            yield finding("namespace-excluded", about, what)
    if webhook.get("timeoutSeconds", _LONG) > _LONG:
        yield finding("timeout-long", about, f"timeoutSeconds is {webhook['timeoutSeconds']}")


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
    target = webhook["clientConfig"].get("service")
    if target is None:
        what = f"it calls {webhook['clientConfig'].get('url')}, and no Service"
        yield finding("service-wrong", f"{named(configuration)}, webhook {webhook['name']}", what, found.upgrade())
        return
    if target.get("path") != (path := _PATHS[configuration["kind"]]):
        what = f"it calls {target.get('path')}, and not {path}"
        yield finding("service-wrong", f"{named(configuration)}, webhook {webhook['name']}", what)
    service = found.snapshot.find("Service", target["name"], target["namespace"])
    about = f"Service {target['namespace']}/{target['name']}"
    if service is None:
        yield finding("service-wrong", about, f"it does not exist, but {named(configuration)} calls it")
        return
    ports = {port["port"]: port for port in service["spec"].get("ports") or []}
    port = ports.get(target.get("port", 443))
    if port is None:
        yield finding("service-wrong", about, f"it has no port {target.get('port', 443)}, which is called")
    labels = found.gate["spec"]["template"]["metadata"].get("labels") or {}
    if not service["spec"].get("selector") or not service["spec"]["selector"].items() <= labels.items():
        yield finding("service-wrong", about, "its selector does not match the pods of the gate")
    served = {"https", found.flags().port}
    if port is not None and port.get("targetPort", port["port"]) not in served:
        yield finding(
            "service-wrong", about, f"targetPort is {port.get('targetPort')}, but the gate serves {found.flags().port}"
        )


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
            yield _left(each, "its release has no gate any more")
        elif any(one.has_left(each) for one in installations):
            yield _left(each, "the release does not have it today, so an upgrade that failed has left it")


def _left(configuration: Object, why: str) -> Finding:
    closed = any(hook.get("failurePolicy", "Fail") == "Fail" for hook in configuration.get("webhooks") or [])
    effect = "; what it matches is refused when the gate does not answer" if closed else ""
    delete = f"kubectl delete {configuration['kind'].lower()} {configuration['metadata']['name']}"
    return finding("left-over", named(configuration), f"{why}{effect}: {delete}")


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
        yield finding("network-closed", names, f"port {port} of the gate is open to no caller")


def _opens(rule: Object, wanted: int) -> bool:
    ports: list[dict[str, Any]] = rule.get("ports") or [{}]
    return any(
        each.get("protocol", "TCP") == "TCP"
        and (each.get("port") in {None, wanted, "https"} or each["port"] <= wanted <= each.get("endPort", each["port"]))
        for each in ports
        if not isinstance(each.get("port"), str) or each["port"] == "https"
    )
