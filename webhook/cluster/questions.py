"""Questions of admission policies to the API server: objects of any kind, scopes of kinds, and permissions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final
from urllib.parse import urlencode

import orjson

from webhook.cluster.api import Reader
from webhook.cluster.discovery import find
from webhook.cluster.readthrough import AccessReview, ClusterAnswer, ClusterQuestion, LabelSelection, ServedKind
from webhook.cluster.resource import APIResource, is_name

__all__ = ["MIN_TIMEOUT", "ask"]

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
