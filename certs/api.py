"""The few REST calls that certificates need, as JSON: no models, no watch, no retries."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import Any

from certs.errors import ApiError

__all__ = ["Api"]

# Longer than an API server needs when it is well, and within the patience of whoever waits for a pod to start.
_TIMEOUT_SECONDS = 10


class Api:
    """A connection to the API server: that of the pod it runs in, else that of the kubeconfig.

    The ``kubernetes`` client is imported here and nowhere else, when the first connection is made: its import takes
    longer than a server of ours needs to start.
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
            raise ApiError(0, f"no way to reach a cluster: {error}") from error
        self._client = client.ApiClient()
        self.ahead = timedelta(0)
        """How far this machine's clock is ahead of the API server's, as of its last answer."""

    def now(self) -> datetime:
        """The time by the API server's clock, which is the one that judges certificates."""
        return datetime.now(UTC) - self.ahead

    def authorities(self) -> bytes:
        """Whom we trust about the API server (PEM)."""
        try:
            return Path(self._client.configuration.ssl_ca_cert).read_bytes()
        except (OSError, TypeError) as error:  # TypeError: none is set
            raise ApiError(0, f"the API server's CA cannot be read: {error}") from error

    def get(self, path: str) -> dict[str, Any]:
        return self._call("GET", path)

    def create(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        return self._call("POST", path, body)

    def replace(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        return self._call("PUT", path, body)

    def apply(self, path: str, body: dict[str, Any], manager: str) -> dict[str, Any]:
        """Server-side apply; forced, as Kubernetes advises controllers: what we apply has no other rightful owner."""
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
            raise ApiError(0, f"{method} {path}: the API server cannot be reached: {error}") from error
        self.ahead = _ahead(response.headers, datetime.now(UTC), self.ahead)
        return _answer(f"{method} {path}", response.status, content)


def _ahead(headers: Mapping[str, str], now: datetime, before: timedelta) -> timedelta:
    """By the Date header. It has seconds, and an answer takes time: less than a few seconds count as none."""
    try:
        ahead = now - parsedate_to_datetime(headers["Date"])
    except (KeyError, ValueError):
        return before
    return ahead if abs(ahead) > timedelta(seconds=5) else timedelta(0)


def _answer(call: str, status: int, content: bytes) -> dict[str, Any]:
    try:
        answer = json.loads(content)
    except ValueError:
        answer = None
    if not isinstance(answer, dict):
        raise ApiError(status, f"{call}: HTTP {status}, and not a JSON object")
    if not 200 <= status < 300:
        raise ApiError(status, f"{call}: HTTP {status}: {answer.get('message') or answer.get('reason')}")
    return answer
