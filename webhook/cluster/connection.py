"""The connection to the API server: in a pod without the Kubernetes client library, else as that library finds it.

A pod needs a file with its token and one with the CA. A kubeconfig has many more ways to authenticate: the library
knows them.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Final

import urllib3

__all__ = ["NoConnection", "connect"]

CONNECTIONS: Final = 64
"""Kept open: each watched kind holds one, and the reconciler watches some thirty."""

ACCOUNT: Final = Path("/var/run/secrets/kubernetes.io/serviceaccount")
"""Where Kubernetes mounts what a pod authenticates with."""


class NoConnection(Exception):
    """There is no usable configuration of a connection."""


class PodConnection:
    """That of a pod, with what :class:`webhook.cluster.api.Reader` takes of a client of the library."""

    def __init__(self) -> None:
        """Raises NoConnection."""
        authorities, self._token = ACCOUNT / "ca.crt", ACCOUNT / "token"
        for path in (authorities, self._token):
            if not path.is_file():
                raise NoConnection(f"no {path}")
        host, port = os.environ["KUBERNETES_SERVICE_HOST"], os.environ.get("KUBERNETES_SERVICE_PORT", "443")
        self.host = f"https://{f'[{host}]' if ':' in host else host}:{port}"
        self.pool_manager = urllib3.PoolManager(
            maxsize=CONNECTIONS, cert_reqs="CERT_REQUIRED", ca_certs=str(authorities)
        )
        self.configuration = self.rest_client = self

    def auth_settings(self) -> dict[str, dict[str, str]]:
        """The header with the token, which Kubernetes replaces within its hour; raises OSError."""
        bearer = f"Bearer {self._token.read_text().strip()}"
        return {"BearerToken": {"in": "header", "key": "authorization", "value": bearer}}


def connect(kubeconfig: Path | None = None, context: str | None = None) -> Any:
    """A connection by the given kubeconfig, else the pod's, else that of $KUBECONFIG or ~/.kube/config: a
    ``kubernetes.client.ApiClient``, or what stands for one.

    ``context`` is one of a kubeconfig, by default its current one.

    Raises:
        NoConnection: none of them exists or can be read.
    """
    if kubeconfig is None and context is None and "KUBERNETES_SERVICE_HOST" in os.environ:
        return PodConnection()
    from kubernetes import client, config  # noqa: PLC0415 - takes a second and 14 MB, and pods do not need it

    configuration = client.Configuration()
    configuration.connection_pool_maxsize = CONNECTIONS
    try:
        config.load_kube_config(  # type: ignore[no-untyped-call]  # the library's
            str(kubeconfig) if kubeconfig else None, context, client_configuration=configuration, persist_config=False
        )
    except config.ConfigException as error:
        raise NoConnection(str(error)) from error
    if not configuration.verify_ssl:  # the kubeconfig says so; kubectl is silent, too
        urllib3.disable_warnings(urllib3.exceptions.InsecureRequestWarning)
    return client.ApiClient(configuration)
