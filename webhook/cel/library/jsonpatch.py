"""``jsonpatch.escapeKey``, which mutating policies have beside the base environment."""

from __future__ import annotations

from typing import Final

from webhook.cel.overload import Overload, free
from webhook.cel.types import STRING

__all__ = ["JSON_PATCH"]


def escape_key(key: str) -> str:
    """A key as a segment of a JSON pointer (RFC 6901)."""
    return key.replace("~", "~0").replace("/", "~1")


JSON_PATCH: Final[tuple[Overload, ...]] = (
    free("jsonpatch.escapeKey", "string_jsonpatch_escapeKey_string", (STRING,), STRING, escape_key),
)
