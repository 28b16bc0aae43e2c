"""What a request is about: the kind it is reviewed under, and the names its policy's expressions read."""

from __future__ import annotations

from typing import Any

from webhook.admission import Request
from webhook.admission.errors import Malformed
from webhook.catalog import Catalog, KnownKind, Sight
from webhook.cel import Budget
from webhook.cluster import ClusterView
from webhook.engine.options import OBJECT_BUDGET
from webhook.facts.settings import DEFAULT_SETTINGS, Settings
from webhook.policy import PolicyScope, Prepared


def reviewed_kind(request: Request, catalog: Catalog) -> KnownKind | None:
    """The kind, or None for a request that is not reviewed.

    Not reviewed: a kind outside the catalog, a subresource, a deletion, and an object that is being deleted while its
    specification stays (it must be able to lose its finalizers, whatever state it is in).

    Raises:
        Malformed: the request names a resource that is not the kind's.
    """
    kind = catalog.find(request.kind)
    if kind is None or request.operation not in {"CREATE", "UPDATE"}:
        return None
    if request.resource and request.resource != kind.plural:
        raise Malformed(f'request.resource is "{request.resource}", but {request.kind} is served as "{kind.plural}"')
    if request.subresource or (request.old_object is not None and request.deleting and request.same_specification):
        return None
    return kind


def scope_of(
    kind: KnownKind,
    prepared: Prepared,
    request: Request,
    obj: dict[str, Any],
    old: dict[str, Any] | None,
    view: ClusterView,
    settings: Settings = DEFAULT_SETTINGS,
) -> PolicyScope:
    """The scope of the policy's expressions over one state of the object."""
    hidden_facts: set[str] = set()  # the alias of a type would take longer

    def fact(name: str) -> Any:
        definition = kind.facts[name]
        sent = (old or {}) if definition.stored else request.object if definition.raw else None
        given = obj if sent is None else sent
        if name not in kind.others:
            return definition.value(given, view, settings)
        sight = Sight(view, kind.others[name].hides)
        value = definition.value(given, sight, settings)
        if not sight.is_clear:
            hidden_facts.add(name)
        return value

    asked = {
        "operation": request.operation,
        "name": request.name,
        "namespace": request.namespace,
        "dryRun": request.dry_run,
    }
    bindings = {"object": obj, "oldObject": old, "request": asked}
    return PolicyScope(prepared, bindings, fact, Budget(OBJECT_BUDGET), hidden_facts)
