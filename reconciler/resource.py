"""The resources that the reconciler reads and writes."""

from __future__ import annotations

from webhook.cluster.resource import APIResource, Key
from webhook.cluster.view import Kind

__all__ = [
    "CLAIMS",
    "CLAIM_TEMPLATES",
    "EVENTS",
    "LEASES",
    "MODELS",
    "NODES",
    "READABLE",
    "VOLUME_CLAIMS",
    "APIResource",
    "Key",
]

MODELS = APIResource("inference.llmkube.dev", "v1alpha1", "models", "Model")

VOLUME_CLAIMS = APIResource("", "v1", "persistentvolumeclaims", "PersistentVolumeClaim")
NODES = APIResource("", "v1", "nodes", "Node")
EVENTS = APIResource("", "v1", "events", "Event")
LEASES = APIResource("coordination.k8s.io", "v1", "leases", "Lease")
CLAIMS = APIResource("resource.k8s.io", "v1", "resourceclaims", "ResourceClaim")
CLAIM_TEMPLATES = APIResource("resource.k8s.io", "v1", "resourceclaimtemplates", "ResourceClaimTemplate")

# The resources that a projection may read.
READABLE = {
    Kind(resource.group, resource.kind): resource for resource in (VOLUME_CLAIMS, NODES, CLAIMS, CLAIM_TEMPLATES)
}
