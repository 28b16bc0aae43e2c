"""A connection to the API server: from inside a pod, or as a kubeconfig says."""

from __future__ import annotations

import os
from pathlib import Path

from kubernetes import config
from kubernetes.client import ApiClient, Configuration

__all__ = ["connect", "own_namespace"]

_NAMESPACE = Path("/var/run/secrets/kubernetes.io/serviceaccount/namespace")


def connect(kubeconfig: Path | None = None) -> ApiClient:
    """A client of the given kubeconfig; without one, of the pod we run in; outside of pods, of $KUBECONFIG or ~/.kube.

    Raises:
        kubernetes.config.ConfigException: where none of them is there or can be read.
    """
    configuration = Configuration()
    if kubeconfig is None and "KUBERNETES_SERVICE_HOST" in os.environ:
        config.load_incluster_config(client_configuration=configuration)  # type: ignore[no-untyped-call]  # the library's
        return ApiClient(configuration)
    config.load_kube_config(  # type: ignore[no-untyped-call]  # the library's
        str(kubeconfig) if kubeconfig else None, client_configuration=configuration, persist_config=False
    )
    return ApiClient(configuration)


def own_namespace(otherwise: str) -> str:
    """The namespace of the pod we run in."""
    return _NAMESPACE.read_text().strip() if _NAMESPACE.exists() else otherwise
