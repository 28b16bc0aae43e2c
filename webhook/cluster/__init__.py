"""What other objects say: one protocol, three ways to know."""

from webhook.cluster.view import ClusterView, Kind, MemoryView

__all__ = ["ClusterView", "Kind", "MemoryView"]
