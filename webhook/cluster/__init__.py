"""What other objects say: one protocol, over objects in memory or over a live cluster."""

from webhook.cluster.view import ClusterView, Kind, MemoryView

__all__ = ["ClusterView", "Kind", "MemoryView"]
