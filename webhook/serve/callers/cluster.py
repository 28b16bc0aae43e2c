"""The issuer of the cluster, connected when its keys are first read: the client library takes a second to load."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from webhook.serve.callers.tokens import Issuer

__all__ = ["ClusterIssuer"]


class ClusterIssuer:
    """The API server of a kubeconfig, or of the pod."""

    def __init__(self, kubeconfig: Path | None) -> None:
        self._kubeconfig = kubeconfig
        self._issuer: Issuer | None = None

    def read(self) -> tuple[str, Mapping[str, Any]]:
        if self._issuer is None:
            from webhook.cluster.issuer import issuer  # noqa: PLC0415 - see above

            self._issuer = issuer(self._kubeconfig)
        return self._issuer.read()
