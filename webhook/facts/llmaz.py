"""llmaz: the facts of its kind, and what they read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from webhook.cluster.view import ClusterView
from webhook.facts.fact import STRING, Fact, Knowledge, fields
from webhook.facts.names import missing_shards
from webhook.facts.nodes import at, text
from webhook.golang import time
from webhook.golang.errors import GoError

_EXAMPLE: Final = "use an RFC 3339 time, such as 2024-05-21T10:00:00Z"
_NO_DAY: Final = ("month out of range", "day out of range")


def moment_error(text: str | list[Any]) -> str:
    """Return why a time is invalid, or "" if it is valid (``metav1.Time.UnmarshalJSON``, ``time.RFC3339``).

    ``text`` may be a list: the API server accepts any list where a string with a format is required.
    """
    try:
        at = time.parse(text) if isinstance(text, str) else None
    except GoError as error:
        if not error.message.endswith(" out of range"):
            return f"is not a valid time; {_EXAMPLE}"
        if error.message.endswith(_NO_DAY):
            return f"has a date that does not exist; {_EXAMPLE}"
        return f"has a time of day or an offset out of range; {_EXAMPLE}"
    if at is None:
        return f"is not a valid time; {_EXAMPLE}"
    return f"equals the zero time of Go, which means unset; {_EXAMPLE}" if at.is_zero else ""


def _created_at(model: dict[str, Any], _: ClusterView) -> dict[str, Any]:
    created = at(model, "spec", "createdAt")
    return {"error": moment_error(created) if isinstance(created, str | list) else ""}


def _shards(model: dict[str, Any], _: ClusterView) -> str:
    """The other shards of the one file that is downloaded."""
    return missing_shards([text(model, "spec", "source", "modelHub", "filename")])


FACTS: Final[Mapping[str, Mapping[str, Fact]]] = {
    "OpenModel": {
        "createdAt": Fact(_created_at, fields(error=STRING)),
        "shards": Fact(_shards, STRING),
    }
}


KNOWLEDGE: Final = Knowledge(FACTS)
