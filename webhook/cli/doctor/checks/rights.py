"""Checks of the rights of the three accounts: each needed one is granted, and no dangerous one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, product
from typing import Final, NamedTuple

from reconciler.projections.rights import ACTING, NAMED
from webhook.admission import GroupVersionKind
from webhook.catalog import Catalog, KnownKind, built_in
from webhook.cli.doctor.checks import references
from webhook.cli.doctor.finding import finding
from webhook.cli.doctor.snapshot import Installation, Object, is_ours
from webhook.cluster import LISTED
from webhook.cluster.view import Kind
from webhook.enforcement import GROUP
from webhook.facts import FIT_FETCHED, KNOWN, Fetched, watched
from webhook.library import Finding
from webhook.vap import resource_of_kind

_ESCALATING: Final = {"escalate", "bind", "impersonate", "*"}
_FOLLOWED: Final = ("get", "list", "watch")
_OWNED: Final = (*_FOLLOWED, "create", "patch", "delete")
_REPLACED: Final = ("get", "watch", "update")


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
    referred = list(_of_references(found, catalog))
    for component, account in found.accounts().items():
        granted = list(_granted(found, account, found.namespace))
        listed = found.flags("reconciler").only_namespaces if component == "reconciler" else ()
        within = [list(_granted(found, account, each)) for each in listed]
        about = f"ServiceAccount {found.namespace}/{account}"
        if _is_gone(account, found):
            yield finding("right-missing", about, "it does not exist, so its tokens are refused", found.upgrade())
        missing = sorted(str(each) for each in needed[component] if not _has(each, granted, within))
        if missing:
            yield finding("right-missing", about, f"it may not {_first(missing)}", found.upgrade())
        wanted = referred if component != "gate" else ()
        unread = [f"{right} for {name}" for name, right in wanted if not _has(right, granted, within)]
        if unread:
            yield finding("right-missing", about, f"it may not {_first(unread)}: set packs.reads of the chart")
        for rule, binding in (*granted, *chain.from_iterable(within)):
            if danger := _danger(rule):
                yield finding("right-too-wide", about, danger, _narrowed(binding, found))


def _first(rights: Sequence[str]) -> str:
    """The first three rights, and how many more there are."""
    return ", ".join(rights[:3]) + (f" and {len(rights) - 3} more" if len(rights) > 3 else "")


def _is_gone(account: str, installation: Installation) -> bool:
    """Whether an account is known not to exist; manifests may leave it to others."""
    there = installation.snapshot
    unread = any(text.startswith("serviceaccounts") for text in there.unread)
    return (
        there.cluster is not None
        and not unread
        and there.find("ServiceAccount", account, installation.namespace) is None
    )


def _narrowed(binding: Object, installation: Installation) -> str:
    """The command that takes a right away again: the chart's roles get their rules back, other bindings go."""
    if is_ours(binding):
        return installation.upgrade()
    metadata = binding["metadata"]
    space = f" --namespace={metadata['namespace']}" if metadata.get("namespace") else ""
    return f"kubectl delete {binding['kind'].lower()} {metadata['name']}{space}"


def _of_certs(found: Installation) -> Iterator[_Right]:
    if found.mode == "own":
        yield _Right("", "secrets", "create")
        yield from _each("", ["secrets"], _REPLACED, found.secret())
        yield _Right("events.k8s.io", "events", "create")
        for each in found.configurations():
            plural = each["kind"].lower() + "s"
            verbs = ("get", "watch", "patch", *(["create"] if found.put_back() != "off" else []))
            yield from _each("admissionregistration.k8s.io", [plural], verbs, each["metadata"]["name"])
        yield from _each("", ["configmaps"], ("get", "watch"), found.template_name)
        if found.put_back() != "off":
            yield _Right("rbac.authorization.k8s.io", "clusterroles", "get", found.name)
    if view := found.accounts().get("view"):
        yield _Right("", "serviceaccounts/token", "create", view)


def _of_view(found: Installation, catalog: Catalog) -> Iterator[_Right]:
    yield from _of_facts(found, catalog)
    yield _Right("events.k8s.io", "events", "create")


def _of_facts(found: Installation, catalog: Catalog) -> Iterator[_Right]:
    """What rules read: other objects, definitions, and what policies ask."""
    nodes = found.flags().nodes != "off" and not found.flags().no_fit
    if nodes:
        yield from _of_surroundings()
    for kind in watched({gvk.group for gvk in catalog.kinds} - found.groups(), nodes=nodes):
        yield from _each(kind.group, [_plural(kind)], _FOLLOWED)
    for gvk in _covered(found, catalog):
        name = f"{catalog.kinds[gvk].plural}.{gvk.group}"
        yield _Right("apiextensions.k8s.io", "customresourcedefinitions", "get", name)
    yield from _each("apiextensions.k8s.io", ["customresourcedefinitions"], ("list", "watch"))
    for each in _fetched(found):
        yield _Right(each.kind.group, _plural(each.kind), "get", each.name)
    yield from _each(GROUP, ["enforcements", "policyexceptions"], ("list", "watch"))
    yield from _each("", ["namespaces"], ("list", "watch"))
    if found.flags().admission_policies:
        yield _Right("", "namespaces", "get")
        yield _Right("authorization.k8s.io", "subjectaccessreviews", "create")


def _of_surroundings() -> Iterator[_Right]:
    """What decides whether a pod can run, beside nodes. Without one of these rights, its rules are silent."""
    yield _Right("", "configmaps", "get", "cluster-autoscaler-status")
    yield _Right("apiextensions.k8s.io", "customresourcedefinitions", "get", "nodepools.karpenter.sh")
    for kind in sorted(FIT_FETCHED - {Kind("", "ConfigMap"), Kind("apiextensions.k8s.io", "CustomResourceDefinition")}):
        yield _Right(kind.group, _plural(kind), "list" if kind in LISTED else "get")


def _of_references(installation: Installation, catalog: Catalog) -> Iterator[tuple[str, _Right]]:
    """What the references of users' rules read, each with its name. Of a kind that is not served, no right is asked."""
    plurals = {Kind(gvk.group, gvk.kind): known.plural for gvk, known in catalog.kinds.items()}
    for name, kind, verb in references.referrals(installation, catalog):
        if plural := plurals.get(kind) or references.resource(installation, kind):
            yield name, _Right(kind.group, plural, verb)


def _of_reconciler(found: Installation, catalog: Catalog) -> Iterator[_Right]:
    yield from _of_facts(found, catalog)
    for name in (each.name for each in _fetched(found) if each.name):
        yield from _each("", ["configmaps"], ("list", "watch"), name)
    flags = found.flags("reconciler")
    whole = not flags.only_namespaces or flags.cluster_objects  # else it changes nothing without a namespace
    for gvk in _covered(found, catalog):
        known = catalog.kinds[gvk]
        judged = whole or known.namespaced
        yield from _each(gvk.group, [known.plural], (*_FOLLOWED, "patch") if judged else _FOLLOWED)
        if judged and (verb := _verb_of_conditions(known)):
            yield _Right(gvk.group, f"{known.plural}/status", verb)
    yield _Right("", "events", "create")
    yield _Right("coordination.k8s.io", "leases", "create")
    yield from _each("coordination.k8s.io", ["leases"], ("list", *_REPLACED), flags.lease)
    yield from _each("openreports.io", ["reports"], _OWNED)
    yield from _each("openreports.io", ["clusterreports"], _OWNED if whole else _FOLLOWED)
    yield from _each("wgpolicyk8s.io", ["policyreports"], _OWNED)
    yield from _each("wgpolicyk8s.io", ["clusterpolicyreports"], _OWNED if whole else _FOLLOWED)
    homeless = {each.plural for each in catalog.kinds.values() if not each.namespaced}
    for api in flags.apis:
        for group, plurals, verbs in ACTING.get(api, ()):
            held = [each for each in plurals if whole or each.partition("/")[0] not in homeless]
            yield from _each(group, held, verbs)
        for group, plural, verb, name in NAMED.get(api, ()):
            yield _Right(group, plural, verb, name)


def _plural(kind: Kind) -> str:
    return resource_of_kind(GroupVersionKind(kind.group, "", kind.kind)).name


def _fetched(found: Installation) -> list[Fetched]:
    """What facts of the covered APIs read by name."""
    packs = [pack for pack in built_in().values() if not found.groups().isdisjoint(pack.groups)]
    return sorted({each for pack in packs if pack.facts for each in KNOWN[pack.facts].fetched})


def _covered(found: Installation, catalog: Catalog) -> list[GroupVersionKind]:
    return [gvk for gvk in catalog.kinds if gvk.group in found.groups()]


def _verb_of_conditions(known: KnownKind) -> str:
    """How a condition gets into the status: applied, or, where the list is atomic, by an update; "" if not at all."""
    status = (known.schema.raw.get("properties") or {}).get("status") or {}
    conditions = (status.get("properties") or {}).get("conditions") or {}
    if not known.status or not conditions:
        return ""
    return "patch" if conditions.get("x-kubernetes-list-type") == "map" else "update"


def _each(group: str, plurals: Iterable[str], verbs: Iterable[str], name: str = "") -> Iterator[_Right]:
    for plural, verb in product(plurals, verbs):
        yield _Right(group, plural, verb, name)


def _has(right: _Right, granted: Sequence[_Grant], within: Sequence[Sequence[_Grant]]) -> bool:
    """Whether a right is granted at all, or in each of the namespaces to which an account is limited."""
    return _is_granted(granted, right) or (bool(within) and all(_is_granted(rules, right) for rules in within))


def _granted(found: Installation, account: str, namespace: str) -> Iterator[_Grant]:
    """The rules of all roles of an account that apply in a namespace, each with what binds its role."""
    for binding in found.snapshot.of("ClusterRoleBinding", "RoleBinding"):
        here = binding["kind"] == "ClusterRoleBinding" or binding["metadata"].get("namespace") == namespace
        subjects = binding.get("subjects") or []
        mine = {"kind": "ServiceAccount", "name": account, "namespace": found.namespace}
        if here and any(mine.items() <= each.items() for each in subjects):
            ref = binding["roleRef"]
            place = namespace if ref["kind"] == "Role" else None
            role = found.snapshot.find(ref["kind"], ref["name"], place)
            yield from ((rule, binding) for rule in (role or {}).get("rules") or [])


_Grant = tuple[Object, Object]


def _is_granted(grants: Sequence[_Grant], right: _Right) -> bool:
    """Whether one of the rules grants a right. The resource is compared first: it differs most often."""
    return any(
        not {right.resource, "*"}.isdisjoint(rule.get("resources", ()))
        and not {right.group, "*"}.isdisjoint(rule.get("apiGroups", ()))
        and not {right.verb, "*"}.isdisjoint(rule.get("verbs", ()))
        and right.name in (rule.get("resourceNames") or [right.name])
        for rule, _ in grants
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
