"""Which kinds facts read in a ClusterView: what the gate watches in a cluster, and may.

The chart's ClusterRole ``…-view`` grants exactly this; tests hold the two, and what the facts do, together.
"""

from __future__ import annotations

from typing import Final

from webhook.cluster.view import Kind

__all__ = ["FETCHED", "WATCHED"]

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
        Kind("llmd.ai", "VariantAutoscaling"),
        Kind("", "Node"),
        Kind("storage.k8s.io", "StorageClass"),
    ]
)
"""All objects of these are kept in memory."""

FETCHED: Final = frozenset({Kind("", "ConfigMap")})
"""Of these a cluster has too many, and a fact wants one by name: read when needed, remembered for a second."""
