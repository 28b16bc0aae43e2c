"""The connection to the API server, and the pod's namespace."""

from __future__ import annotations

from pathlib import Path

from webhook.cluster.live import connect

__all__ = ["connect", "own_namespace"]

_NAMESPACE = Path("/var/run/secrets/kubernetes.io/serviceaccount/namespace")


def own_namespace(otherwise: str) -> str:
    """The namespace of the pod that this process runs in."""
    return _NAMESPACE.read_text().strip() if _NAMESPACE.exists() else otherwise
