"""What an API server is asked beside the watches: the preferred version of a kind, and what admission policies ask.

They ask for objects of any kind, scopes of kinds, and permissions.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final
from urllib.parse import urlencode

import orjson

from webhook.cluster.api import Reader
from webhook.cluster.readthrough import AccessReview, ClusterAnswer, ClusterQuestion, LabelSelection, ServedKind
from webhook.cluster.resource import APIResource, is_name
from webhook.cluster.view import Kind


def find(api: Reader, kind: Kind, timeout: float | None = None, version: str = "") -> APIResource | None:
    """The resource of a kind in a version (default: any), or None if its API is not installed.

    Every authenticated caller may do this (ClusterRole system:discovery).

    Raises:
        ApiError: the API server does not answer, so the kind may or may not be installed.
    """
    for each in [version] if version else _versions(api, kind.group, timeout):
        path = f"/apis/{kind.group}/{each}" if kind.group else f"/api/{each}"
        served = api.document(path, timeout) or {}
        for resource in served.get("resources") or ():
            if resource["kind"] == kind.kind and "/" not in resource["name"]:  # not a subresource
                return APIResource(kind.group, each, resource["name"], kind.kind, resource.get("namespaced", True))
    return None


def _versions(api: Reader, group: str, timeout: float | None) -> list[str]:
    """The versions of a group, the preferred one first; the API server sorts the others by maturity."""
    if not group:
        return ["v1"]
    served = api.document(f"/apis/{group}", timeout) or {}
    preferred = (served.get("preferredVersion") or {}).get("version")
    versions: list[str] = [each["version"] for each in served.get("versions") or ()]
    return sorted(versions, key=lambda version: version != preferred)


MIN_TIMEOUT: Final = 0.01
"""Seconds: urllib3 rejects a timeout of zero."""


def ask(api: Reader, question: ClusterQuestion, timeout: float, clock: Callable[[], float]) -> ClusterAnswer:
    """The answer, within ``timeout`` seconds.

    Raises:
        ApiError: the API server refuses or does not answer.
    """
    end = clock() + timeout
    if isinstance(question, AccessReview):
        return api.review(orjson.loads(question.spec), timeout)
    resource = find(api, question.kind, timeout, question.version)
    if resource is None:
        return None
    if isinstance(question, ServedKind):
        return {"namespaced": resource.namespaced}
    left = max(MIN_TIMEOUT, end - clock())
    if isinstance(question, LabelSelection):
        return _selected(api, question, resource, left)
    return api.get(resource, question.namespace, question.name, left)


def _selected(api: Reader, selection: LabelSelection, resource: APIResource, timeout: float) -> ClusterAnswer:
    if selection.namespace and not is_name(selection.namespace):
        return None
    query = f"?{urlencode({'labelSelector': selection.selector})}" if selection.selector else ""
    return api.document(resource.path(selection.namespace) + query, timeout)
