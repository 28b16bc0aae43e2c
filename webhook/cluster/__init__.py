"""Other objects: one protocol, implemented over memory and over a live cluster.

What connects to a cluster (``connection``, ``live``, ``events``, ``issuer``) is not here: import these modules by
name.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from webhook.cluster.view import ClusterView, CountedView, Freshness, Kind, MemoryView
from webhook.ground.later import later

if TYPE_CHECKING:
    from webhook.cluster.api import JSON, ApiError, Reader, Stream, Unreachable, content_of
    from webhook.cluster.definitions import DEFINITIONS, Definitions, FollowedDefinitions
    from webhook.cluster.informer import Following, Listener
    from webhook.cluster.questions import ask, find
    from webhook.cluster.readthrough import (
        AccessReview,
        ClusterAnswer,
        ClusterQuestion,
        LabelSelection,
        ReadThrough,
        Reference,
        RequestView,
        ServedKind,
    )
    from webhook.cluster.reflector import Reflector
    from webhook.cluster.resource import APIResource, Key
    from webhook.cluster.store import Store, light

__all__ = [
    "DEFINITIONS",
    "JSON",
    "APIResource",
    "AccessReview",
    "ApiError",
    "ClusterAnswer",
    "ClusterQuestion",
    "ClusterView",
    "CountedView",
    "Definitions",
    "FollowedDefinitions",
    "Following",
    "Freshness",
    "Key",
    "Kind",
    "LabelSelection",
    "Listener",
    "MemoryView",
    "ReadThrough",
    "Reader",
    "Reference",
    "Reflector",
    "RequestView",
    "ServedKind",
    "Store",
    "Stream",
    "Unreachable",
    "ask",
    "content_of",
    "find",
    "light",
]

_MODULES: Final = {
    **dict.fromkeys(("ApiError", "JSON", "Reader", "Stream", "Unreachable", "content_of"), "api"),
    **dict.fromkeys(("DEFINITIONS", "Definitions", "FollowedDefinitions"), "definitions"),
    **dict.fromkeys(("Following", "Listener"), "informer"),
    **dict.fromkeys(("ask", "find"), "questions"),
    **dict.fromkeys(
        (
            "AccessReview",
            "ClusterAnswer",
            "ClusterQuestion",
            "LabelSelection",
            "ReadThrough",
            "Reference",
            "RequestView",
            "ServedKind",
        ),
        "readthrough",
    ),
    "Reflector": "reflector",
    **dict.fromkeys(("APIResource", "Key"), "resource"),
    **dict.fromkeys(("Store", "light"), "store"),
}
"""The module of each name, which is loaded when the name is first used."""

if not TYPE_CHECKING:
    __getattr__ = later(__name__, _MODULES)
