"""The kinds that the operators serve beside those of the catalog: they exist, but Modelgate has no rules for them."""

from __future__ import annotations

from typing import Final, NamedTuple

from webhook.admission import GroupVersionKind

__all__ = ["SUCCESSORS", "UPSTREAM", "Served", "is_served"]


class Served(NamedTuple):
    """A project, and the kinds that it serves in one API group without rules of Modelgate."""

    project: str
    kinds: frozenset[str]


_AIM: Final = (
    "AIMArtifact AIMClusterModel AIMClusterModelSource AIMClusterProfile AIMClusterProfileSet AIMKVCache AIMModel"
)
_AIM_NOW: Final = (
    "AIMClusterRuntimeConfig AIMClusterServiceTemplate AIMModelCache AIMProfile AIMProfileCache AIMProfileSet "
    "AIMRuntimeConfig AIMService AIMServiceTemplate AIMTemplateCache"
)
_OME: Final = (
    "AcceleratorClass AcceleratorQuota AutoscalerPolicy CapacityReservation ClusterCapacityReservation "
    "ClusterMCPGateway ClusterMCPServer ClusterTrainingRuntime InferenceGraph InferenceReplica MCPGateway MCPRoute "
    "MCPServer ReplicationJob RolloutPolicy TrainingJob TrainingRuntime WorkloadCluster"
)

UPSTREAM: Final = {
    group: Served(project, frozenset(kinds.split()))
    for group, project, kinds in (
        ("inference.llmkube.dev", "LLMKube", "GPUQuota LoRAAdapter ModelPool ModelRouter"),
        ("foreman.llmkube.dev", "LLMKube", "Agent AgenticTask FleetNode Workload"),
        ("inference.llmaz.io", "llmaz", "BackendRuntime Playground Service"),
        ("ome.io", "OME", _OME),
        ("aim.silogen.ai", "AIM", f"AIMBaseImageCache AIMClusterConfig AIMNamespaceConfig ModelCache {_AIM}"),
        ("aim.eai.amd.com", "AIM", f"{_AIM_NOW} {_AIM}"),
    )
}
"""API group → what the project serves there, in any release: from the definitions in its repository."""

SUCCESSORS: Final = {"aim.eai.amd.com": "aim.silogen.ai"}
"""The API group with which upstream has replaced one of the catalog, with other kinds → the group of the catalog."""


def is_served(gvk: GroupVersionKind) -> bool:
    """Whether a project serves this kind."""
    found = UPSTREAM.get(gvk.group)
    return found is not None and gvk.kind in found.kinds
