"""The kinds that facts read in a ClusterView: the gate watches them, and has the right to.

The chart's ClusterRole ``…-view`` grants exactly these rights; tests compare the two, and the reads of the facts.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Final

from webhook.cluster.view import Kind

__all__ = ["FETCHED", "GROUPS", "WATCHED", "watched"]

GROUPS: Final[Mapping[str, str]] = {
    "aim": "aim.silogen.ai",
    "llmaz": "llmaz.io",
    "llmd": "llmd.ai",
    "llmkube": "inference.llmkube.dev",
    "ome": "ome.io",
}
"""API → the group of its kinds."""

_AIM: Final = (
    "AIMClusterImage",
    "AIMClusterRuntimeConfig",
    "AIMClusterServiceTemplate",
    "AIMImage",
    "AIMModelCache",
    "AIMRuntimeConfig",
    "AIMService",
    "AIMServiceTemplate",
    "AIMTemplateCache",
)
_OME: Final = (
    "BaseModel",
    "ClusterBaseModel",
    "ClusterServingRuntime",
    "FineTunedWeight",
    "InferenceService",
    "ServingRuntime",
)

WATCHED: Final = frozenset(
    [
        *(Kind("aim.silogen.ai", kind) for kind in _AIM),
        *(Kind("ome.io", kind) for kind in _OME),
        Kind("inference.llmkube.dev", "InferenceService"),
        Kind("llmd.ai", "VariantAutoscaling"),
        Kind("", "Node"),
        Kind("storage.k8s.io", "StorageClass"),
    ]
)
"""All objects of these kinds are kept in memory."""

FETCHED: Final = frozenset(
    [
        Kind("", "ConfigMap"),
        Kind("", "PersistentVolumeClaim"),
        Kind("inference.llmkube.dev", "Model"),
        Kind("resource.k8s.io", "ResourceClaim"),
        Kind("resource.k8s.io", "ResourceClaimTemplate"),
    ]
)
"""A fact needs one object of these kinds by name: read on demand, cached for a second. A watch would tell the gate of
each object of the cluster, and of each Model that it has just judged."""


def watched(without: Collection[str] = ()) -> frozenset[Kind]:
    """The kinds to watch by an installation that does not cover these groups."""
    return frozenset(kind for kind in WATCHED if kind.group not in without)
