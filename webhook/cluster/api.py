"""The API server's reading verbs, for any resource, over the connection of the Kubernetes client library.

``webhook/cluster/connection.py`` finds the server, authenticates and keeps the connections. The library's
generated models are not used: objects stay dictionaries.

    ApiError            the API server refused the request, with its Status
    └── Unreachable       it did not answer
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from typing import Any, ClassVar
from urllib.parse import urlencode

import orjson
import urllib3

from webhook.admission import one_line
from webhook.cluster.view import APIResource, is_name

JSON = "application/json"

# Seconds. The API server ends a request after 60 s: a client that waits a little longer learns why.
TIMEOUT = 65.0

# The longest pause that an answer may ask for (Retry-After), in seconds.
MOST_AFTER = 60.0

# The page size of client-go: 500 objects of 10 KB are 5 MB.
PAGE = 500

# The server ends a watch after this time, so that a stream on a lost connection ends, too. Each end is another request.
WATCH_SECONDS = 570

# Bookmarks come about once a minute: if two are missing, the connection is dead.
QUIET_SECONDS = 150

# For callers that need only names and resource versions, and read the object later.
METADATA_ONLY = "application/json;as=PartialObjectMetadata{};g=meta.k8s.io;v=v1,application/json"


class ApiError(Exception):
    """The API server answered with an error; ``status`` is the HTTP code, ``message`` its own sentence, which
    passes :func:`one_line`: it is logged, and written into conditions. ``after`` is its Retry-After, in seconds.
    """

    def __init__(self, status: int, reason: str, message: str, after: float = 0.0) -> None:
        message = one_line(message)
        super().__init__(f"{status} {reason}: {message}")
        self.status = status
        self.reason = reason
        self.message = message
        self.after = after

    @property
    def temporary(self) -> bool:
        """Whether the API server itself could not answer: no answer, too many requests, or a fault of its own."""
        return self.status in {0, 429} or (self.status >= 500 and "webhook" not in self.message)

    @property
    def denied(self) -> bool:
        """Whether the caller lacks the right, or is not known."""
        return self.status in {401, 403}


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
            with contextlib.suppress(OSError, ValueError, RuntimeError):  # it has ended meanwhile
                self._response.shutdown()


class Reader:
    """The verbs that read. Every method raises ApiError, and Unreachable without an answer in time.

    ``client`` is what :func:`webhook.cluster.connection.connect` returns.
    """

    USER_AGENT: ClassVar = "modelgate"

    def __init__(self, client: Any, timeout: float = TIMEOUT) -> None:
        self._timeout = timeout
        self._configuration = client.configuration
        self._pool: urllib3.PoolManager = client.rest_client.pool_manager

    def document(self, path: str, timeout: float | None = None, accept: str = JSON) -> dict[str, Any] | None:
        """The document at a path, or None if there is none; ``timeout`` in seconds overrides the reader's."""
        limit = urllib3.Timeout(total=self._timeout if timeout is None else timeout)
        try:
            return content_of(self._request("GET", path, None, timeout=limit, accept=accept))
        except ApiError as error:
            if error.status == 404:
                return None
            raise

    def get(
        self, resource: APIResource, namespace: str, name: str, timeout: float | None = None
    ) -> dict[str, Any] | None:
        """The object, or None if there is none, also for an invalid name."""
        if not is_name(name) or (namespace and not is_name(namespace)):
            return None
        return self.document(resource.path(namespace, name), timeout)

    def review(self, spec: dict[str, Any], timeout: float) -> dict[str, Any]:
        """Check a permission: the status of a SubjectAccessReview, which changes nothing."""
        body = {"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview", "spec": spec}
        path = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
        answer = content_of(self._request("POST", path, None, body, timeout=urllib3.Timeout(total=timeout)))
        status: dict[str, Any] = answer.get("status") or {}
        return status

    def pages(
        self,
        resource: APIResource,
        namespace: str = "",
        metadata_only: bool = False,
        selector: str = "",
        name: str = "",
    ) -> Iterator[dict[str, Any]]:
        """The pages of a list, each as the API server's List (``items``, ``metadata.resourceVersion``)."""
        query = {"limit": str(PAGE), **_selecting(selector, name)}
        while True:
            page = self._call("GET", resource.path(namespace), query, accept=_accept("List", metadata_only))
            yield page
            query["continue"] = page["metadata"].get("continue", "")
            if not query["continue"]:
                return

    def watch(
        self,
        resource: APIResource,
        namespace: str,
        resource_version: str,
        metadata_only: bool = False,
        selector: str = "",
        name: str = "",
    ) -> Stream:
        """The events after a resource version, with bookmarks."""
        query = {
            **_selecting(selector, name),
            "watch": "true",
            "resourceVersion": resource_version,
            "allowWatchBookmarks": "true",
            "timeoutSeconds": str(WATCH_SECONDS),
        }
        timeout = urllib3.Timeout(connect=5, read=QUIET_SECONDS)
        accept = _accept("", metadata_only)
        return Stream(self._request("GET", resource.path(namespace), query, accept=accept, timeout=timeout))

    def log(self, namespace: str, pod: str, lines: int, limit: int) -> str:
        """The last lines of the log of a pod with one container, at most ``limit`` bytes of them."""
        path = f"/api/v1/namespaces/{namespace}/pods/{pod}/log"
        response = self._request("GET", path, {"tailLines": str(lines), "limitBytes": str(limit)}, accept="*/*")
        try:
            return response.data[:limit].decode(errors="replace")
        except (urllib3.exceptions.HTTPError, OSError) as error:
            raise Unreachable(f"the log of {namespace}/{pod} is incomplete: {error}") from error

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
        return content_of(self._request(method, path, query, body, accept=accept, content_type=content_type))

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
        headers = {"accept": accept, "user-agent": self.USER_AGENT, **self._authorization()}
        if body is not None:
            headers["content-type"] = content_type
        url = self._configuration.host + path + (f"?{urlencode(query)}" if query else "")
        try:
            response = self._pool.request(
                method,
                url,
                body=None if body is None else orjson.dumps(body),
                headers=headers,
                timeout=timeout or urllib3.Timeout(total=self._timeout),
                retries=False,  # queue and reflector retry, with a growing backoff
                preload_content=False,
            )
        except (urllib3.exceptions.HTTPError, OSError) as error:
            raise Unreachable(f"{method} {path}: {error}") from error
        if response.status >= 300:
            raise _error(response)
        return response

    def _authorization(self) -> dict[str, str]:
        """The current credentials: the library renews tokens while the process runs.

        Raises:
            Unreachable: there are none, for example while a file is being replaced.
        """
        try:
            settings = self._configuration.auth_settings().values()
        except Exception as error:  # each way to renew a token raises other errors
            raise Unreachable(f"no credentials: {error}") from error
        return {setting["key"]: setting["value"] for setting in settings if setting["in"] == "header"}


def _selecting(selector: str, name: str) -> dict[str, str]:
    """Only objects with these labels, and of this name: for one name, a right to that name is enough."""
    fields = {"fieldSelector": f"metadata.name={name}"} if name else {}
    return fields | ({"labelSelector": selector} if selector else {})


def _accept(kind: str, metadata_only: bool) -> str:
    return METADATA_ONLY.format(kind) if metadata_only else JSON


def content_of(response: urllib3.BaseHTTPResponse) -> dict[str, Any]:
    """The JSON of a response.

    Raises:
        Unreachable: it is incomplete or not JSON.
    """
    try:
        content: dict[str, Any] = orjson.loads(response.data)
    except (urllib3.exceptions.HTTPError, OSError, ValueError) as error:
        raise Unreachable(f"the response is incomplete: {error}") from error
    return content


def _error(response: urllib3.BaseHTTPResponse) -> ApiError:
    """The Status of a refusal; a proxy may answer with anything else."""
    given = response.headers.get("retry-after", "")
    after = min(float(given), MOST_AFTER) if given.isascii() and given.isdigit() else 0.0
    try:
        data = response.data
        status = orjson.loads(data)
        return ApiError(response.status, str(status.get("reason", "")), str(status.get("message", "")), after)
    except (urllib3.exceptions.HTTPError, OSError):
        return ApiError(response.status, "", "the response is incomplete", after)
    except (ValueError, AttributeError):
        return ApiError(response.status, response.reason or "", data[:300].decode(errors="replace"), after)
