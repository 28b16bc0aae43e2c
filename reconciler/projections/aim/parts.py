"""What AIM's projections share: references to objects, and the shape of a status."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

from reconciler.projection import Observed
from reconciler.projections.objects import given
from reconciler.resource import kind_of
from reconciler.say.conditions import Condition, merged
from webhook.cluster import APIResource
from webhook.facts.aim import Referent

DOMAIN: Final = "aim.silogen.ai"


def missing(resource: APIResource, observed: Observed) -> str:
    """What is said of a child whose API is not installed; empty if it is."""
    if kind_of(resource) not in observed.absent:
        return ""
    return f"{resource.kind} is not created: the API {resource.group}/{resource.version} is not installed"


def reference(found: Referent | None) -> dict[str, Any]:
    """A resolved reference of a status; empty if nothing was found."""
    if found is None:
        return {}
    scope = {"scope": "Cluster"} if found.cluster_scoped else {"namespace": found.namespace, "scope": "Namespace"}
    return {"name": found.name, "kind": found.kind, **scope, **given(uid=found.object["metadata"].get("uid"))}


def secrets(*blocks: Iterable[dict[str, Any]] | None) -> list[dict[str, Any]]:
    """Image pull secrets, each name once."""
    found = {each["name"]: each for block in blocks for each in block or () if each.get("name")}
    return list(found.values())


def system_labels(name: str, component: str) -> dict[str, str]:
    return {"app.kubernetes.io/name": name, "app.kubernetes.io/component": component}


def status_of(
    obj: dict[str, Any], status: str, conditions: Sequence[Condition], observed: Observed, **more: Any
) -> dict[str, Any]:
    """A whole status; members of ``more`` that are empty are left out."""
    before, generation = (obj.get("status") or {}).get("conditions") or (), obj["metadata"].get("generation", 0)
    return {
        "status": status,
        "observedGeneration": generation,
        "conditions": merged(before, conditions, generation, observed.now),
        **given(**more),
    }
