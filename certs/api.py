"""The three REST calls that certificates need, as JSON: no models, no watch, no retries.

``webhook/cluster/api.py`` is a larger client, with watches, pages and a pool. This package does not share it:
``webhook`` imports ``certs``, and an import the other way would be a circle.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import Any

from certs.errors import ApiServerError

__all__ = ["Api"]

# Longer than a healthy API server needs, and short enough for the start of a pod.
_TIMEOUT_SECONDS = 10


class Api:
    """A connection to the API server: that of the pod it runs in, else that of the kubeconfig.

    This is the only module of the package that imports the ``kubernetes`` client, and it does so when the first
    connection is made: the import takes longer than the start of the server.
    """

    def __init__(self) -> None:
        from kubernetes import client, config  # noqa: PLC0415  (see above)

        try:
            if "KUBERNETES_SERVICE_HOST" in os.environ:
                config.load_incluster_config()  # type: ignore[no-untyped-call]
            else:
                # Named, because the client looks at the variable once, when it is imported.
                config.load_kube_config(os.environ.get("KUBECONFIG"))  # type: ignore[no-untyped-call]
        except config.ConfigException as error:
            raise ApiServerError(0, f"no configuration of a cluster: {error}") from error
        self._client = client.ApiClient()
        self.ahead = timedelta(0)
        """How far this machine's clock is ahead of the API server's, as of its last answer."""

    def now(self) -> datetime:
        """The time by the API server's clock, which is the one that judges certificates."""
        return datetime.now(UTC) - self.ahead

    def authorities(self) -> bytes:
        """The CA certificates that the API server's certificate is checked against (PEM)."""
        try:
            return Path(self._client.configuration.ssl_ca_cert).read_bytes()
        except (OSError, TypeError) as error:  # TypeError: none is set
            raise ApiServerError(0, f"the API server's CA cannot be read: {error}") from error

    def get(self, path: str) -> dict[str, Any]:
        return self._call("GET", path)

    def create(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        return self._call("POST", path, body)

    def replace(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        return self._call("PUT", path, body)

    def apply(self, path: str, body: dict[str, Any], manager: str) -> dict[str, Any]:
        """Server-side apply, forced, as Kubernetes advises controllers: no other manager owns the applied fields."""
        query = [("fieldManager", manager), ("force", "true")]
        return self._call("PATCH", path, body, query=query, media="application/apply-patch+yaml")

    def _call(
        self,
        method: str,
        path: str,
        body: dict[str, Any] | None = None,
        *,
        query: list[tuple[str, str]] | None = None,
        media: str = "application/json",
    ) -> dict[str, Any]:
        from kubernetes.client import ApiException  # noqa: PLC0415  (see above)
        from urllib3.exceptions import HTTPError  # noqa: PLC0415  (comes with the client)

        headers = {"Accept": "application/json", "Content-Type": media}
        request = self._client.param_serialize(
            method, path, query_params=query, header_params=headers, body=body, auth_settings=["BearerToken"]
        )
        try:
            response = self._client.call_api(*request, _request_timeout=_TIMEOUT_SECONDS)
            content = response.read()  # type: ignore[no-untyped-call]
        except (HTTPError, ApiException) as error:  # the latter: TLS that fails half way through an answer
            raise ApiServerError(0, f"{method} {path}: the API server cannot be reached: {error}", path) from error
        self.ahead = _ahead(response.headers, datetime.now(UTC), self.ahead)
        return _answer(method, path, response.status, content)


def _ahead(headers: Mapping[str, str], now: datetime, before: timedelta) -> timedelta:
    """By the Date header. It has seconds, and an answer takes time: less than a few seconds count as none."""
    try:
        ahead = now - parsedate_to_datetime(headers["Date"])
    except (KeyError, ValueError):
        return before
    return ahead if abs(ahead) > timedelta(seconds=5) else timedelta(0)


def _answer(method: str, path: str, status: int, content: bytes) -> dict[str, Any]:
    call = f"{method} {path}: HTTP {status}"
    try:
        answer = json.loads(content)
    except ValueError:
        answer = None
    if not isinstance(answer, dict):
        raise ApiServerError(status, f"{call}, and the body is not a JSON object", path)
    if not 200 <= status < 300:
        raise ApiServerError(status, f"{call}: {answer.get('message') or answer.get('reason')}", path)
    return answer
