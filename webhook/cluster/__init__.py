"""Other objects: one protocol, implemented over memory and over a live cluster."""

from webhook.cluster.view import ClusterView, Kind, MemoryView

__all__ = ["ClusterView", "Kind", "MemoryView"]
