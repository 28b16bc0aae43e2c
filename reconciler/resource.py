"""The resources that the reconciler reads and writes."""

from __future__ import annotations

from webhook.cluster.resource import Key, Resource
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
    "Key",
    "Resource",
]

MODELS = Resource("inference.llmkube.dev", "v1alpha1", "models", "Model")

VOLUME_CLAIMS = Resource("", "v1", "persistentvolumeclaims", "PersistentVolumeClaim")
NODES = Resource("", "v1", "nodes", "Node")
EVENTS = Resource("", "v1", "events", "Event")
LEASES = Resource("coordination.k8s.io", "v1", "leases", "Lease")
CLAIMS = Resource("resource.k8s.io", "v1", "resourceclaims", "ResourceClaim")
CLAIM_TEMPLATES = Resource("resource.k8s.io", "v1", "resourceclaimtemplates", "ResourceClaimTemplate")

# What a projection may ask to see.
READABLE = {
    Kind(resource.group, resource.kind): resource for resource in (VOLUME_CLAIMS, NODES, CLAIMS, CLAIM_TEMPLATES)
}
