"""The rights of the three accounts: what is needed is granted, and nothing that is dangerous."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from webhook.cli.doctor.finding import Finding
from webhook.cli.doctor.snapshot import Installation, Object
from webhook.cluster.view import Kind
from webhook.engine.catalog import Catalog
from webhook.facts.reads import watched

__all__ = ["check"]

_ESCALATING: Final = {"escalate", "bind", "impersonate", "*"}
_OTHERS: Final = {
    Kind("", "Node"): "nodes",
    Kind("storage.k8s.io", "StorageClass"): "storageclasses",
    Kind("inference.llmkube.dev", "InferenceService"): "inferenceservices",
}
"""Kinds that rules read and that are not in the catalog."""


class _Right(NamedTuple):
    group: str
    resource: str
    verb: str
    name: str = ""

    def __str__(self) -> str:
        resource = f"{self.resource}.{self.group}" if self.group else self.resource
        return f"{self.verb} {resource}{f'/{self.name}' if self.name else ''}"


def check(found: Installation, catalog: Catalog) -> Iterator[Finding]:
    if any("clusterroles" in each for each in found.snapshot.unread):
        return
    needed = {"gate": _of_certs(found), "view": _of_view(found, catalog), "reconciler": _of_reconciler(found, catalog)}
    for component, account in found.accounts().items():
        granted = list(_granted(found, account))
        about = f"ServiceAccount {found.namespace}/{account}"
        missing = sorted(str(each) for each in needed[component] if not any(_grants(rule, each) for rule in granted))
        if missing:
            more = f" and {len(missing) - 3} more" if len(missing) > 3 else ""
            yield Finding("right-missing", about, f"it may not {', '.join(missing[:3])}{more}")
        for rule in granted:
            if danger := _danger(rule):
                yield Finding("right-too-wide", about, danger)


def _of_certs(found: Installation) -> Iterator[_Right]:
    if found.mode == "own":
        yield _Right("", "secrets", "create")
        for verb in ("get", "update"):
            yield _Right("", "secrets", verb, found.secret())
        for each in found.configurations():
            for verb in ("get", "patch"):
                plural = each["kind"].lower() + "s"
                yield _Right("admissionregistration.k8s.io", plural, verb, each["metadata"]["name"])
    if view := found.accounts().get("view"):
        yield _Right("", "serviceaccounts/token", "create", view)


def _of_view(found: Installation, catalog: Catalog) -> Iterator[_Right]:
    plurals = {Kind(gvk.group, gvk.kind): catalog.kinds[gvk].plural for gvk in catalog.kinds} | _OTHERS
    without = {group for group in (gvk.group for gvk in catalog.kinds) if group not in found.groups()}
    for kind in watched(without):
        for verb in ("get", "list", "watch"):
            yield _Right(kind.group, plurals[kind], verb)


def _of_reconciler(found: Installation, catalog: Catalog) -> Iterator[_Right]:
    yield from _of_view(found, catalog)
    for gvk in catalog.kinds:
        if gvk.group in found.groups():
            for verb in ("get", "list", "watch", "patch"):
                yield _Right(gvk.group, catalog.kinds[gvk].plural, verb)
    for verb in ("list", "watch"):
        yield _Right("apiextensions.k8s.io", "customresourcedefinitions", verb)
    yield _Right("", "events", "create")
    yield _Right("coordination.k8s.io", "leases", "create")


def _granted(found: Installation, account: str) -> Iterator[Object]:
    """The rules of all roles of an account, those of the namespace, too."""
    for binding in found.snapshot.of("ClusterRoleBinding", "RoleBinding"):
        here = binding["kind"] == "ClusterRoleBinding" or binding["metadata"].get("namespace") == found.namespace
        subjects = binding.get("subjects") or []
        mine = {"kind": "ServiceAccount", "name": account, "namespace": found.namespace}
        if here and any(mine.items() <= each.items() for each in subjects):
            ref = binding["roleRef"]
            place = found.namespace if ref["kind"] == "Role" else None
            role = found.snapshot.find(ref["kind"], ref["name"], place)
            yield from (role or {}).get("rules") or []


def _grants(rule: Object, right: _Right) -> bool:
    names = rule.get("resourceNames")
    return (
        bool({right.group, "*"} & set(rule.get("apiGroups", ())))
        and bool({right.resource, "*"} & set(rule.get("resources", ())))
        and bool({right.verb, "*"} & set(rule.get("verbs", ())))
        and (not names or right.name in names)
    )


def _danger(rule: Object) -> str:
    verbs, resources = set(rule.get("verbs", ())), set(rule.get("resources", ()))
    if escalating := sorted(verbs & _ESCALATING):
        return f"it may {', '.join(escalating)} {', '.join(sorted(resources))}"
    if "*" in resources or "*" in rule.get("apiGroups", ()):
        return f"it may {', '.join(sorted(verbs))} every resource"
    if "secrets" in resources and verbs & {"get", "list", "watch"} and not rule.get("resourceNames"):
        return "it may read every Secret"
    return ""
