"""The REST calls that certificates need, as JSON: no models, no retries.

``webhook/cluster/api.py`` is a larger client, with watches, pages and a pool. This package does not share it:
``webhook`` imports ``certs``, and an import the other way would be a circle.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlencode

from certs.errors import ApiServerError

# Longer than a healthy API server needs, and short enough for the start of a pod.
_TIMEOUT_SECONDS = 10
# The API server ends a watch after this time. Bookmarks come about once a minute: if two are missing, it is dead.
_WATCH_SECONDS, _QUIET_SECONDS = 570, 150
# One for the calls, and one for each object that is watched.
_CONNECTIONS = 8
_CHUNK = 65536
_BOOKMARK = b'"type":"BOOKMARK"'
_ACCOUNT: Final = Path("/var/run/secrets/kubernetes.io/serviceaccount")


@dataclass(frozen=True)
class _Server:
    """Where the API server is, the file with its CA, and the headers that prove who calls."""

    url: str
    authorities: str | None
    proof: Callable[[], dict[str, str]]
    pool: Any


def _of_pod() -> _Server:
    """As Kubernetes mounts it. The token is read for each call: it is replaced within its hour."""
    import urllib3  # noqa: PLC0415  (see Api)

    authorities, token = str(_ACCOUNT / "ca.crt"), _ACCOUNT / "token"
    host, port = os.environ["KUBERNETES_SERVICE_HOST"], os.environ.get("KUBERNETES_SERVICE_PORT", "443")
    pool = urllib3.PoolManager(ca_certs=authorities, cert_reqs="CERT_REQUIRED", retries=False, maxsize=_CONNECTIONS)
    url = f"https://{f'[{host}]' if ':' in host else host}:{port}"
    return _Server(url, authorities, lambda: {"Authorization": f"Bearer {token.read_text()}"}, pool)


def _of_kubeconfig() -> _Server:
    from kubernetes import client, config  # noqa: PLC0415  (see Api)

    found = client.Configuration()
    try:
        # Named, because the client looks at the variable once, when it is imported.
        config.load_kube_config(os.environ.get("KUBECONFIG"), client_configuration=found)  # type: ignore[no-untyped-call]
    except config.ConfigException as error:
        raise ApiServerError(0, f"no configuration of a cluster: {error}") from error

    def proof() -> dict[str, str]:
        bearer = found.get_api_key_with_prefix("BearerToken") or found.get_api_key_with_prefix("authorization")
        return {"Authorization": bearer} if bearer else {}

    rest = client.ApiClient(found).rest_client
    return _Server(found.host.rstrip("/"), found.ssl_ca_cert, proof, rest.pool_manager)


class Api:
    """A connection to the API server: that of the pod it runs in, else that of the kubeconfig.

    In a pod it needs no client library but ``urllib3``, so that the sidecar stays small. A kubeconfig is read by the
    ``kubernetes`` client. Both are imported when the first connection is made.
    """

    def __init__(self) -> None:
        self._server = _of_pod() if "KUBERNETES_SERVICE_HOST" in os.environ else _of_kubeconfig()
        self.ahead = timedelta(0)
        """How far this machine's clock is ahead of the API server's, as of its last answer."""

    def now(self) -> datetime:
        """The time by the API server's clock, which is the one that judges certificates."""
        return datetime.now(UTC) - self.ahead

    def authorities(self) -> bytes:
        """The CA certificates that the API server's certificate is checked against (PEM)."""
        try:
            return Path(self._server.authorities or "").read_bytes()
        except OSError as error:
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

    def patch(self, path: str, operations: list[dict[str, Any]], manager: str) -> dict[str, Any]:
        """JSON patch (RFC 6902)."""
        return self._call(
            "PATCH", path, operations, query=[("fieldManager", manager)], media="application/json-patch+json"
        )

    def changes(self, path: str) -> Iterator[None]:
        """Once when a watch of the object of a path has begun, then at each change, until the API server ends it."""
        from urllib3 import Timeout  # noqa: PLC0415  (see above)
        from urllib3.exceptions import HTTPError  # noqa: PLC0415  (see above)

        collection, _, name = path.rpartition("/")
        selected = {"watch": "true", "fieldSelector": f"metadata.name={name}", "timeoutSeconds": _WATCH_SECONDS}
        url = f"{self._server.url}{collection}?{urlencode({**selected, 'allowWatchBookmarks': 'true'})}"
        timeout = Timeout(connect=_TIMEOUT_SECONDS, read=_QUIET_SECONDS)
        try:
            headers = {"Accept": "application/json", **self._server.proof()}
            response = self._server.pool.request("GET", url, headers=headers, timeout=timeout, preload_content=False)
            if response.status != HTTPStatus.OK:
                _answer("WATCH", path, response.status, response.data)
            yield
            for chunk in response.stream(_CHUNK):
                # A bookmark is a line of its own, and comes when nothing has changed.
                if any(line and _BOOKMARK not in line for line in chunk.split(b"\n")):
                    yield
        except (HTTPError, OSError) as error:
            raise ApiServerError(0, f"WATCH {path}: the API server cannot be reached: {error}", path) from error

    def _call(
        self,
        method: str,
        path: str,
        body: object = None,
        *,
        query: list[tuple[str, str]] | None = None,
        media: str = "application/json",
    ) -> dict[str, Any]:
        from urllib3.exceptions import HTTPError  # noqa: PLC0415  (see above)

        url = f"{self._server.url}{path}{f'?{urlencode(query)}' if query else ''}"
        content = None if body is None else json.dumps(body)
        try:
            headers = {"Accept": "application/json", "Content-Type": media, **self._server.proof()}
            response = self._server.pool.request(method, url, body=content, headers=headers, timeout=_TIMEOUT_SECONDS)
        except (HTTPError, OSError) as error:  # the latter: the token of the pod cannot be read
            raise ApiServerError(0, f"{method} {path}: the API server cannot be reached: {error}", path) from error
        self.ahead = _ahead(response.headers, datetime.now(UTC), self.ahead)
        return _answer(method, path, response.status, response.data)


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
