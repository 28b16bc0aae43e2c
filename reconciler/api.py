"""The API server's verbs that the reconciler needs, for any resource, over the client library's connection.

The library finds the server, authenticates and keeps the connections; its generated models
are left alone: objects stay the dictionaries that projections work on.

    ApiError            the API server answered no, with its Status
    └── Unreachable       it did not answer
"""

from __future__ import annotations

import contextlib
import re
import threading
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlencode

import orjson
import urllib3
from kubernetes.client import ApiClient

from reconciler.resource import Resource

__all__ = ["FIELD_MANAGER", "Api", "ApiError", "Stream", "Unreachable"]

FIELD_MANAGER = "modelgate"

JSON = "application/json"
MERGE_PATCH = "application/merge-patch+json"
APPLY_PATCH = "application/apply-patch+yaml"  # JSON is YAML

# The API server gives up on a request after 60 s: whoever waits a little longer hears why.
TIMEOUT = 65.0

# The page size that every client of Kubernetes uses: 500 objects of 10 KB are 5 MB.
PAGE = 500

# The server ends a watch after this time, so that no stream outlives a lost connection for longer.
WATCH_SECONDS = 290

# Lists and watches need names and resource versions only; the object itself is read when its turn comes.
METADATA_ONLY = "application/json;as=PartialObjectMetadata{};g=meta.k8s.io;v=v1,application/json"


_WARNING = re.compile(r'299 \S+ "(.*)"', re.DOTALL)


class ApiError(Exception):
    """The API server answered with an error; ``status`` is the HTTP code, ``message`` its own sentence."""

    def __init__(self, status: int, reason: str, message: str) -> None:
        super().__init__(f"{status} {reason}: {message}")
        self.status = status
        self.reason = reason
        self.message = message


class Unreachable(ApiError):
    """No answer at all: refused, reset, timed out, or a certificate that does not verify."""

    def __init__(self, message: str) -> None:
        super().__init__(0, "Unreachable", message)


class Stream:
    """The events of one watch; ``close`` may be called from another thread and ends the iteration."""

    def __init__(self, response: urllib3.BaseHTTPResponse) -> None:
        self._response = response
        self._ended = threading.Event()

    def __iter__(self) -> Iterator[dict[str, Any]]:
        rest = b""
        try:
            for chunk in self._response.stream(65536):
                *lines, rest = (rest + chunk).split(b"\n")
                yield from (orjson.loads(line) for line in lines if line)
        except (urllib3.exceptions.HTTPError, OSError, ValueError) as error:
            if not self._ended.is_set():
                raise Unreachable(f"the watch broke: {error}") from error
        finally:
            self._ended.set()
            self._response.close()

    def close(self) -> None:
        if not self._ended.is_set():
            self._ended.set()
            with contextlib.suppress(OSError, ValueError, RuntimeError):  # it ended by itself meanwhile
                self._response.shutdown()


class Api:
    """The verbs. Every method raises ApiError, and Unreachable where there is no answer within ``timeout`` seconds."""

    def __init__(self, client: ApiClient, timeout: float = TIMEOUT) -> None:
        self._timeout = urllib3.Timeout(total=timeout)
        self._configuration = client.configuration
        self._pool: urllib3.PoolManager = client.rest_client.pool_manager

    def get(self, resource: Resource, namespace: str, name: str) -> dict[str, Any] | None:
        """The object, or None where there is none."""
        try:
            return self._call("GET", resource.path(namespace, name))
        except ApiError as error:
            if error.status == 404:
                return None
            raise

    def pages(self, resource: Resource, namespace: str = "", metadata_only: bool = False) -> Iterator[dict[str, Any]]:
        """The pages of a list, each as the API server's List (``items``, ``metadata.resourceVersion``)."""
        query = {"limit": str(PAGE)}
        accept = METADATA_ONLY.format("List") if metadata_only else JSON
        while True:
            page = self._call("GET", resource.path(namespace), query, accept=accept)
            yield page
            query["continue"] = page["metadata"].get("continue", "")
            if not query["continue"]:
                return

    def watch(self, resource: Resource, namespace: str, resource_version: str) -> Stream:
        """What happens after a resource version: events of PartialObjectMetadata, with bookmarks."""
        query = {
            "watch": "true",
            "resourceVersion": resource_version,
            "allowWatchBookmarks": "true",
            "timeoutSeconds": str(WATCH_SECONDS),
        }
        timeout = urllib3.Timeout(connect=5, read=WATCH_SECONDS + 10)
        accept = METADATA_ONLY.format("")
        return Stream(self._request("GET", resource.path(namespace), query, accept=accept, timeout=timeout))

    def merge_patch(
        self, resource: Resource, namespace: str, name: str, patch: dict[str, Any]
    ) -> tuple[dict[str, Any], list[str]]:
        """The patched object, and the warnings that admission had about it."""
        path = resource.path(namespace, name)
        response = self._request("PATCH", path, {"fieldManager": FIELD_MANAGER}, patch, content_type=MERGE_PATCH)
        return _content(response), _warnings(response)

    def apply(self, resource: Resource, obj: dict[str, Any], subresource: str = "") -> dict[str, Any]:
        """Server-side apply: what the object says is ours, what it no longer says is given up."""
        metadata = obj["metadata"]
        path = resource.path(metadata.get("namespace", ""), metadata["name"], subresource)
        query = {"fieldManager": FIELD_MANAGER, "force": "true"}
        return self._call("PATCH", path, query, obj, content_type=APPLY_PATCH)

    def create(self, resource: Resource, obj: dict[str, Any]) -> dict[str, Any]:
        path = resource.path(obj["metadata"].get("namespace", ""))
        return self._call("POST", path, {"fieldManager": FIELD_MANAGER}, obj)

    def replace(self, resource: Resource, obj: dict[str, Any]) -> dict[str, Any]:
        """PUT with the object's resourceVersion: a conflict (409) where it has changed since it was read."""
        metadata = obj["metadata"]
        path = resource.path(metadata.get("namespace", ""), metadata["name"])
        return self._call("PUT", path, {"fieldManager": FIELD_MANAGER}, obj)

    def _call(
        self,
        method: str,
        path: str,
        query: dict[str, str] | None = None,
        body: dict[str, Any] | None = None,
        *,
        accept: str = JSON,
        content_type: str = JSON,
    ) -> dict[str, Any]:
        return _content(self._request(method, path, query, body, accept=accept, content_type=content_type))

    def _request(
        self,
        method: str,
        path: str,
        query: dict[str, str] | None,
        body: dict[str, Any] | None = None,
        *,
        accept: str = JSON,
        content_type: str = JSON,
        timeout: urllib3.Timeout | None = None,
    ) -> urllib3.BaseHTTPResponse:
        headers = {"accept": accept, "user-agent": "modelgate-reconciler", **self._authorization()}
        if body is not None:
            headers["content-type"] = content_type
        url = self._configuration.host + path + (f"?{urlencode(query)}" if query else "")
        try:
            response = self._pool.request(
                method,
                url,
                body=None if body is None else orjson.dumps(body),
                headers=headers,
                timeout=timeout or self._timeout,
                retries=False,  # the queue and the source retry, with a backoff that remembers
                preload_content=False,
            )
        except (urllib3.exceptions.HTTPError, OSError) as error:
            raise Unreachable(f"{method} {path}: {error}") from error
        if response.status >= 300:
            raise _error(response)
        return response

    def _authorization(self) -> dict[str, str]:
        """The credentials of this moment: tokens are renewed by the library while we run."""
        settings = self._configuration.auth_settings().values()
        return {setting["key"]: setting["value"] for setting in settings if setting["in"] == "header"}


def _content(response: urllib3.BaseHTTPResponse) -> dict[str, Any]:
    try:
        content: dict[str, Any] = orjson.loads(response.data)
    except (urllib3.exceptions.HTTPError, OSError, ValueError) as error:
        raise Unreachable(f"the answer broke off: {error}") from error
    return content


def _warnings(response: urllib3.BaseHTTPResponse) -> list[str]:
    """The texts of ``Warning: 299 - "text"`` headers: a quoted string of UTF-8 (apimachinery, util/net)."""
    headers: list[str] = response.headers.getlist("warning")
    found = (_WARNING.match(header.encode("latin-1").decode(errors="replace")) for header in headers)
    return [re.sub(r"\\(.)", r"\1", match[1]) for match in found if match]


def _error(response: urllib3.BaseHTTPResponse) -> ApiError:
    """The Status of a refusal; a proxy in between may answer with anything else."""
    try:
        data = response.data
        status = orjson.loads(data)
        return ApiError(response.status, str(status.get("reason", "")), str(status.get("message", "")))
    except (urllib3.exceptions.HTTPError, OSError):
        return ApiError(response.status, "", "the answer broke off")
    except (ValueError, AttributeError):
        return ApiError(response.status, response.reason or "", data[:300].decode(errors="replace"))
