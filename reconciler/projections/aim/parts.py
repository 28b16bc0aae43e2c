"""What AIM's projections share: the resources, references to objects, and the shape of a status."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

from reconciler.projection import Observed
from reconciler.resource import APIResource, Kind
from reconciler.say.conditions import Condition, merged
from webhook.facts.aim import Found

__all__ = [
    "CLUSTER_IMAGES",
    "CLUSTER_RUNTIMES",
    "CLUSTER_TEMPLATES",
    "DOMAIN",
    "IMAGES",
    "INFERENCE_SERVICES",
    "JOBS",
    "PODS",
    "ROUTES",
    "RUNTIMES",
    "SERVICES",
    "TEMPLATES",
    "kind_of",
    "missing",
    "reference",
    "secrets",
    "status_of",
    "system_labels",
]

DOMAIN: Final = "aim.silogen.ai"

SERVICES: Final = APIResource(DOMAIN, "v1alpha1", "aimservices", "AIMService")
TEMPLATES: Final = APIResource(DOMAIN, "v1alpha1", "aimservicetemplates", "AIMServiceTemplate")
CLUSTER_TEMPLATES: Final = APIResource(
    DOMAIN, "v1alpha1", "aimclusterservicetemplates", "AIMClusterServiceTemplate", namespaced=False
)
IMAGES: Final = APIResource(DOMAIN, "v1alpha1", "aimimages", "AIMImage")
CLUSTER_IMAGES: Final = APIResource(DOMAIN, "v1alpha1", "aimclusterimages", "AIMClusterImage", namespaced=False)

JOBS: Final = APIResource("batch", "v1", "jobs", "Job")
PODS: Final = APIResource("", "v1", "pods", "Pod")
RUNTIMES: Final = APIResource("serving.kserve.io", "v1alpha1", "servingruntimes", "ServingRuntime")
CLUSTER_RUNTIMES: Final = APIResource(
    "serving.kserve.io", "v1alpha1", "clusterservingruntimes", "ClusterServingRuntime", namespaced=False
)
INFERENCE_SERVICES: Final = APIResource("serving.kserve.io", "v1beta1", "inferenceservices", "InferenceService")
ROUTES: Final = APIResource("gateway.networking.k8s.io", "v1", "httproutes", "HTTPRoute")


def kind_of(resource: APIResource) -> Kind:
    return Kind(resource.group, resource.kind)


def missing(resource: APIResource, observed: Observed) -> str:
    """What is said of a child whose API is not installed; empty if it is."""
    if kind_of(resource) not in observed.absent:
        return ""
    return f"{resource.kind} is not created: the API {resource.group}/{resource.version} is not installed"


def reference(found: Found | None) -> dict[str, Any]:
    """A resolved reference of a status; empty if nothing was found."""
    if found is None:
        return {}
    scope = {"scope": "Cluster"} if found.cluster_scoped else {"namespace": found.namespace, "scope": "Namespace"}
    uid = found.object["metadata"].get("uid")
    return {"name": found.name, "kind": found.kind, **scope, **({"uid": uid} if uid else {})}


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
        **{key: value for key, value in more.items() if value},
    }
