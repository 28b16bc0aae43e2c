"""Events: what `kubectl describe` shows below an object."""

from __future__ import annotations

import hashlib
import logging
from datetime import datetime
from typing import Any

from reconciler.projection import Happening
from reconciler.resource import EVENTS, reference
from reconciler.say.conditions import timestamp
from reconciler.writer import FIELD_MANAGER, Writer
from webhook.admission import one_line
from webhook.cluster import ApiError

log = logging.getLogger(__name__)

# The API server's limit for an Event's message (core validation of events.k8s.io).
MESSAGE_LIMIT = 1024


def record(api: Writer, obj: dict[str, Any], happening: Happening, now: datetime, *, again: bool = False) -> bool:
    """Write an Event. Its name depends on generation, reason and message, so it is written once, also after a restart.

    ``again``: it has happened anew, so it is another Event than before. False if the write is refused, which is logged:
    Events are informational.

    Raises:
        ApiError: the API server could not answer; so it is to be asked again.
    """
    try:
        api.create(EVENTS, _event(obj, happening, now, again=again))
    except ApiError as error:
        if error.temporary:
            raise
        if error.status != 409:  # it exists already
            log.warning("event %s about %s: %s", happening.reason, obj["metadata"]["name"], error)
            return False
    return True


def _event(obj: dict[str, Any], happening: Happening, now: datetime, *, again: bool) -> dict[str, Any]:
    metadata, moment, message = obj["metadata"], timestamp(now), one_line(happening.message)
    same = metadata.get("uid"), metadata.get("generation"), happening.reason, message, again and moment
    digest = hashlib.sha256("\0".join(map(str, same)).encode()).hexdigest()[:16]
    name = f"{metadata['name'][:200].rstrip('-.')}.{digest}"  # a name has at most 253 characters
    return {
        "apiVersion": EVENTS.api_version,
        "kind": EVENTS.kind,
        "metadata": {"name": name, "namespace": metadata.get("namespace", "default")},
        "involvedObject": reference(obj),
        "type": happening.type,
        "reason": happening.reason,
        "message": message[:MESSAGE_LIMIT],
        "source": {"component": FIELD_MANAGER},
        "reportingComponent": FIELD_MANAGER,
        "firstTimestamp": moment,
        "lastTimestamp": moment,
        "count": 1,
    }
