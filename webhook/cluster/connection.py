"""The connection to the API server: in a pod without the Kubernetes client library, else as that library finds it.

A pod needs a file with its token and one with the CA. A kubeconfig has many more ways to authenticate: the library
knows them. Here are also the two clients of a server that need no view.

- The keys that an API server signs tokens with, as it publishes them (OpenID Connect discovery). Every service account
  may read them: Kubernetes binds ``system:service-account-issuer-discovery`` to all of them.
- Events about one Pod: what ``kubectl describe pod`` shows below it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, NamedTuple

import urllib3

from webhook.admission import one_line
from webhook.admission.errors import NotReady, Unavailable
from webhook.cluster.api import ApiError, Reader

__all__ = ["ApiServerIssuer", "NoConnection", "Pod", "PodEvents", "connect", "connected", "issuer", "pod_events"]

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


def connected(kubeconfig: Path | None) -> Any:
    """As :func:`connect`, for a server, which connects again later.

    Raises:
        NotReady: no valid configuration for a connection was found.
    """
    try:
        return connect(kubeconfig)
    except (NoConnection, OSError) as error:
        raise NotReady(f"cannot connect to the API server: {error}") from error


KEY_SECONDS: Final = 5.0
"""For one answer: two small documents that the API server holds in memory."""


ACCEPT: Final = "application/json, application/jwk-set+json"
"""The API server answers 406 to a request for its keys that accepts JSON only."""


class ApiServerIssuer:
    """Reads the issuer's name and keys from the API server itself, whatever address the issuer's name is."""

    def __init__(self, get: Callable[[str], Mapping[str, Any]]) -> None:
        self._get = get

    def read(self) -> tuple[str, Mapping[str, Any]]:
        """The issuer's name and its JWKS.

        Raises:
            Unavailable: the API server does not answer, or not with these documents.
        """
        try:
            document = self._get("/.well-known/openid-configuration")
            return str(document["issuer"]), self._get("/openid/v1/jwks")
        except KeyError:
            raise Unavailable("the API server publishes no issuer") from None
        except ApiError as error:
            raise Unavailable(str(error)) from None


def issuer(kubeconfig: Path | None) -> ApiServerIssuer:
    """The issuer of the cluster that :func:`connect` finds; raises NotReady."""
    reader = Reader(connected(kubeconfig))
    return ApiServerIssuer(lambda path: reader.document(path, KEY_SECONDS, ACCEPT) or {})


EVENT_SECONDS: Final = 10.0
"""For one answer. Nothing waits for it."""

NOTE: Final = 1024
"""Kubernetes' limit of characters."""

CONTROLLER: Final = "modelgate.dev/gate"


class Pod(NamedTuple):
    """A pod, as an Event refers to it."""

    namespace: str
    name: str
    uid: str


class PodEvents(Reader):
    """Writes Events about a pod. It needs the right to create Events in the pod's namespace, and no other."""

    def __init__(self, client: Any, pod: Pod) -> None:
        super().__init__(client, EVENT_SECONDS)
        self._pod = pod

    def warn(self, reason: str, note: str) -> None:
        """Create a Warning.

        Raises:
            Unavailable: the API server does not take it.
        """
        try:
            path = f"/apis/events.k8s.io/v1/namespaces/{self._pod.namespace}/events"
            self._call("POST", path, None, self._event(reason, note))
        except ApiError as error:
            raise Unavailable(str(error)) from None

    def _event(self, reason: str, note: str) -> dict[str, Any]:
        now, pod = datetime.now(UTC), self._pod
        name = f"{pod.name[:200]}.{int(now.timestamp() * 1_000_000):x}"  # as client-go names Events
        return {
            "apiVersion": "events.k8s.io/v1",
            "kind": "Event",
            "metadata": {"name": name, "namespace": pod.namespace},
            "eventTime": f"{now:%FT%T.%fZ}",
            "reportingController": CONTROLLER,
            "reportingInstance": pod.name[:128],
            "action": "LoadRules",
            "reason": reason,
            "regarding": {"apiVersion": "v1", "kind": "Pod", **pod._asdict()},
            "note": one_line(note)[:NOTE],
            "type": "Warning",
        }


def pod_events(kubeconfig: Path | None, pod: Pod) -> PodEvents:
    """Events in the cluster that :func:`connect` finds; raises NotReady."""
    return PodEvents(connected(kubeconfig), pod)
