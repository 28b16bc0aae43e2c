"""Equal parts of a JSON value, kept once."""

from __future__ import annotations

from hashlib import blake2b
from typing import Any, Final

import orjson

__all__ = ["intern_json"]

_DIGEST: Final = 16  # bytes; two different parts with one digest are less likely than a fault of the memory
_ONLY_JSON: Final = orjson.OPT_PASSTHROUGH_DATACLASS | orjson.OPT_PASSTHROUGH_DATETIME | orjson.OPT_PASSTHROUGH_SUBCLASS


def intern_json(value: Any) -> Any:
    """An equal value in which equal dictionaries and lists are one object, which nobody may change.

    Equal means the same JSON text: ``1``, ``1.0`` and ``true`` differ. What is no JSON, or is
    nested more deeply than orjson writes it (254 levels), comes back as it is.
    """
    known: dict[bytes, Any] = {}

    def one(part: Any) -> Any:
        if type(part) is not dict and type(part) is not list:
            return part
        # What has been met before is not looked into, and that is nearly all of a definition with pods in it.
        key = blake2b(orjson.dumps(part, option=_ONLY_JSON), digest_size=_DIGEST).digest()
        if key not in known:
            known[key] = {k: one(v) for k, v in part.items()} if type(part) is dict else [one(item) for item in part]
        return known[key]

    try:
        return one(value)
    except orjson.JSONEncodeError:
        return value
