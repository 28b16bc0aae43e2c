"""What is known of the cluster around a pod: its nodes, whether more may come, and the classes that pods name.

Each fact is optional. One that may not be read is unknown (:data:`webhook.cluster.UNREADABLE`), and nothing is said.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any, Final

from webhook.cluster import ClusterView, Kind
from webhook.cluster.view import NODE, Unwatched, is_unreadable
from webhook.facts import Memo
from webhook.facts.nodes import mapping, text
from webhook.placement import MOST_SHAPES, NodeTable, table_of

_DEFINITION: Final = Kind("apiextensions.k8s.io", "CustomResourceDefinition")
_RUNTIME_CLASS: Final = Kind("node.k8s.io", "RuntimeClass")
_KARPENTER: Final = "nodepools.karpenter.sh"
_AUTOSCALER: Final = "cluster-autoscaler-status"
_POOLS: Final = (
    *("eks.amazonaws.com/nodegroup", "cloud.google.com/gke-nodepool", "kubernetes.azure.com/agentpool"),
    *("doks.digitalocean.com/node-pool", "lke.linode.com/pool-id", "k8s.scaleway.com/pool-name"),
    *("vke.vultr.com/node-pool", "ibm-cloud.kubernetes.io/worker-pool-id", "alibabacloud.com/nodepool-id"),
    "worker.gardener.cloud/pool",
)
"""Labels of pools that a cloud manages: an autoscaler may grow them."""
_GROWING: Final = ("karpenter.sh/", "node.openshift.io/")
"""Labels of nodes of Karpenter, and of OpenShift, whose autoscaler tells its status in another namespace."""
_OF_CLASS: Final = "deviceclass.resource.kubernetes.io/"
"""The resource that each DeviceClass offers without a name of its own for it."""

_TABLES: Final = Memo[NodeTable](table_of, limit=16)
"""The table of a list of nodes: a view gives the same list until a node changes."""

Json = dict[str, Any]


class PodSurroundings:
    """The cluster of one judgement; each part is read when it is first asked for. ``nodes`` is the setting."""

    def __init__(self, view: ClusterView, namespace: str, nodes: str) -> None:
        self.view, self.namespace, self._nodes = view, namespace, nodes

    @cached_property
    def table(self) -> NodeTable | None:
        """The nodes in view; None if there are none, or too many that differ."""
        if self._nodes == "off":
            return None
        try:
            table = _TABLES(self.view.list(NODE))
        except Unwatched:
            return None
        return table if table.total and len(table) <= MOST_SHAPES else None

    @cached_property
    def is_elastic(self) -> bool:
        """Whether a node may be added that is like none of the nodes in view."""
        if self._nodes != "auto" or self.table is None:
            return self._nodes == "elastic"
        labels = {key for shape in self.table.counts for key in shape.labels}
        if any(key.startswith(_GROWING) for key in labels) or self._get(_DEFINITION, "", _KARPENTER) is not None:
            return True
        status = self._get(Kind("", "ConfigMap"), "kube-system", _AUTOSCALER)
        if is_unreadable(status):
            return not labels.isdisjoint(_POOLS)
        return status is not None or (not self.knows_autoscaler and not labels.isdisjoint(_POOLS))

    @cached_property
    def knows_autoscaler(self) -> bool:
        """Whether the ConfigMap of the autoscaler would be in view. Files have it only if there is a ConfigMap of its
        namespace; a live view reads it.
        """
        return self._shows(Kind("", "ConfigMap"), "kube-system")

    def offers_by_claims(self, resource: str) -> bool:
        """Whether a DeviceClass offers the resource: kube-scheduler leaves it to claims then. True if unknown."""
        if resource.startswith(_OF_CLASS):
            return True
        try:
            classes = self.view.list(Kind("resource.k8s.io", "DeviceClass"))
        except Unwatched:
            return True
        return any(
            is_unreadable(device_class) or text(device_class, "spec", "extendedResourceName") == resource
            for device_class in classes
        )

    @cached_property
    def shows_classes(self) -> bool:
        """Whether classes are in view. Every cluster has those of the system: files without them do not show all."""
        return self._nodes != "off" and self.priority_class("system-node-critical") is not None

    @cached_property
    def shows_runtime_classes(self) -> bool:
        """Whether RuntimeClasses are in view. A cluster needs none: files without any do not show one to be missing."""
        return self._shows(_RUNTIME_CLASS, None)

    def priority_class(self, name: str) -> Json | None:
        return self._get(Kind("scheduling.k8s.io", "PriorityClass"), "", name)

    def runtime_class(self, name: str) -> Json | None:
        return self._get(_RUNTIME_CLASS, "", name)

    def limits(self, kind: str) -> Sequence[Json]:
        """The ResourceQuotas or LimitRanges of the namespace; none if they are not known."""
        if self._nodes == "off" or not self.namespace:
            return ()
        try:
            return self.view.list(Kind("", kind), self.namespace)
        except Unwatched:
            return ()

    def _shows(self, kind: Kind, namespace: str | None) -> bool:
        """Whether the view has objects of a kind, or reads them by name."""
        try:
            return bool(self.view.list(kind, namespace))
        except Unwatched:
            return True

    def _get(self, kind: Kind, namespace: str, name: str) -> Json | None:
        return self.view.get(kind, namespace, name)


def with_class(pod: Json, runtime_class: Json) -> Json:
    """A pod with what its RuntimeClass adds."""
    scheduling = mapping(runtime_class, "scheduling")
    selector, tolerations = mapping(scheduling, "nodeSelector"), scheduling.get("tolerations")
    own = pod.get("tolerations")
    added = [*(own if isinstance(own, list) else []), *(tolerations if isinstance(tolerations, list) else [])]
    overhead = mapping(runtime_class, "overhead", "podFixed")
    return {
        **pod,
        "nodeSelector": {**mapping(pod, "nodeSelector"), **selector},
        "tolerations": added,
        **({"overhead": overhead} if overhead else {}),
    }
