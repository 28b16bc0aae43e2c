"""Other objects: one protocol, implemented over memory and over a live cluster.

What connects to a cluster (``connection``, ``live``) is not here: import these modules by name.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from webhook.cluster.view import APIResource, ClusterView, CountedView, Key, Kind, MemoryView, NotedView, Notes
from webhook.ground.later import later

if TYPE_CHECKING:
    from webhook.cluster.api import JSON, METADATA_ONLY, ApiError, Reader, Unreachable, content_of
    from webhook.cluster.definitions import DEFINITIONS, Definitions, FollowedDefinitions
    from webhook.cluster.informer import Following, Listener, join
    from webhook.cluster.nodes import NodeStore
    from webhook.cluster.policies import FollowedPolicies
    from webhook.cluster.readthrough import (
        LISTED,
        AccessReview,
        ClusterAnswer,
        ClusterQuestion,
        LabelSelection,
        ReadThrough,
        Reference,
        RequestView,
        ServedKind,
        ask,
        find,
        is_optional,
        light,
        may_be_denied,
    )
    from webhook.cluster.reflector import Reflector, backoff
    from webhook.cluster.store import Store

__all__ = [
    "DEFINITIONS",
    "JSON",
    "LISTED",
    "METADATA_ONLY",
    "APIResource",
    "AccessReview",
    "ApiError",
    "ClusterAnswer",
    "ClusterQuestion",
    "ClusterView",
    "CountedView",
    "Definitions",
    "FollowedDefinitions",
    "FollowedPolicies",
    "Following",
    "Key",
    "Kind",
    "LabelSelection",
    "Listener",
    "MemoryView",
    "NodeStore",
    "NotedView",
    "Notes",
    "ReadThrough",
    "Reader",
    "Reference",
    "Reflector",
    "RequestView",
    "ServedKind",
    "Store",
    "Unreachable",
    "ask",
    "backoff",
    "content_of",
    "find",
    "is_optional",
    "join",
    "light",
    "may_be_denied",
]

_MODULES: Final = {
    **dict.fromkeys(("ApiError", "JSON", "METADATA_ONLY", "Reader", "Unreachable", "content_of"), "api"),
    **dict.fromkeys(("DEFINITIONS", "Definitions", "FollowedDefinitions"), "definitions"),
    **dict.fromkeys(("Following", "Listener", "join"), "informer"),
    "FollowedPolicies": "policies",
    **dict.fromkeys(
        (
            "LISTED",
            "AccessReview",
            "ClusterAnswer",
            "ClusterQuestion",
            "LabelSelection",
            "ReadThrough",
            "Reference",
            "RequestView",
            "ServedKind",
            "ask",
            "find",
            "is_optional",
            "light",
            "may_be_denied",
        ),
        "readthrough",
    ),
    "NodeStore": "nodes",
    **dict.fromkeys(("Reflector", "backoff"), "reflector"),
    "Store": "store",
}
"""The module of each name, which is loaded when the name is first used."""

if not TYPE_CHECKING:
    __getattr__ = later(__name__, _MODULES)
