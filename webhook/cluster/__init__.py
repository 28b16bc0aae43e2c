"""Other objects: one protocol, implemented over memory and over a live cluster.

What connects to a cluster (``connection``, ``live``) is not exported here: import these modules by name.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from webhook.cluster.view import APIResource, ClusterView, CountedView, Key, Kind, MemoryView, NotedView, Notes
from webhook.ground.later import later

if TYPE_CHECKING:
    from webhook.cluster.api import JSON, METADATA_ONLY, ApiError, Reader, Unreachable, content_of
    from webhook.cluster.definitions import DEFINITIONS, READ_SECONDS, WATCHED_AGAIN, Definitions, FollowedDefinitions
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

if not TYPE_CHECKING:
    __getattr__ = later(__name__)
