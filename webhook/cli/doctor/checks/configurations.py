"""The webhook configurations: present, about the right kinds, and no danger for the cluster."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import product
from typing import Any, Final

from webhook.catalog import Catalog
from webhook.cli.doctor.finding import Finding
from webhook.cli.doctor.snapshot import COMPONENT, INSTANCE, NAME, Installation, Object, named, selects
from webhook.policy import Profile

__all__ = ["check"]

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

_CONDITION: Final = "not-just-losing-finalizers"
"""The match condition that the chart has."""

_LONG: Final = 10
"""Seconds; Kubernetes' own default for a webhook."""


def check(found: Installation, catalog: Catalog) -> Iterator[Finding]:
    configurations = found.configurations()
    for kind in ("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"):
        own = {each["metadata"]["name"]: each for each in configurations if each["kind"] == kind}
        for name in sorted(found.published(kind) - own.keys()):
            yield Finding("configuration-missing", f"{kind} {name}", "the configuration does not exist")
        if found.name in own:
            yield from _kinds(own[found.name], found, catalog)
    if found.flags().profile == Profile.AUDIT:
        yield Finding("only-warns", named(found.gate), "its profile is audit")
    for each in configurations:
        for webhook in filter(lambda one: one.get("rules"), each.get("webhooks") or []):
            yield from _webhook(each, webhook, found)
            yield from _service(each, webhook, found)
    yield from _second(found)


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
            yield Finding("kind-not-guarded", named(configuration), what)


def _webhook(configuration: Object, webhook: Object, found: Installation) -> Iterator[Finding]:
    about = f"{named(configuration)}, webhook {webhook['name']}"
    for group, plural in _vital(webhook, found):
        what = f"its rules match {plural}{'.' if group else ''}{group}"
        if configuration["metadata"]["name"] == found.name:
            yield Finding("rule-too-wide", about, what)
        elif webhook.get("failurePolicy") == "Fail" and plural != "deployments":
            yield Finding(
                "lock-out", about, f"{what} in the namespaces of the cluster or of the gate, and it fails closed"
            )
    if configuration["metadata"]["name"] == found.name:
        if configuration["kind"].startswith("Validating") and webhook.get("failurePolicy") == "Ignore":
            yield Finding("fails-open", about, "failurePolicy is Ignore")
        for narrows in ("namespaceSelector", "objectSelector"):
            if webhook.get(narrows):
                yield Finding("namespace-excluded", about, f"it has a {narrows}")
        for each in webhook.get("matchConditions") or []:
            if each["name"] != _CONDITION:
                yield Finding("namespace-excluded", about, f"it has a matchCondition {each['name']}")
    if webhook.get("timeoutSeconds", _LONG) > _LONG:
        yield Finding("timeout-long", about, f"timeoutSeconds is {webhook['timeoutSeconds']}")


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
    called = webhook["clientConfig"]["service"]
    service = found.snapshot.find("Service", called["name"], called["namespace"])
    about = f"Service {called['namespace']}/{called['name']}"
    if service is None:
        yield Finding("service-wrong", about, f"it does not exist, but {named(configuration)} calls it")
        return
    ports = {port["port"]: port for port in service["spec"].get("ports") or []}
    port = ports.get(called.get("port", 443))
    if port is None:
        yield Finding("service-wrong", about, f"it has no port {called.get('port', 443)}, which is called")
    labels = found.gate["spec"]["template"]["metadata"].get("labels") or {}
    if not service["spec"].get("selector") or not service["spec"]["selector"].items() <= labels.items():
        yield Finding("service-wrong", about, "its selector does not match the pods of the gate")
    served = {"https", found.flags().port}
    if port is not None and port.get("targetPort", port["port"]) not in served:
        yield Finding(
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
            yield Finding("second-gate", named(each), what)


def _covers(rule: Object, group: str, plural: str) -> bool:
    return bool({group, "*"} & set(rule["apiGroups"])) and bool({plural, "*", "*/*"} & set(rule["resources"]))
