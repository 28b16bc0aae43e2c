"""Interns the parts of a JSON value: equal parts become one object."""

from __future__ import annotations

from hashlib import blake2b
from typing import Any, Final

import orjson

__all__ = ["intern_json"]

_DIGEST: Final = 16  # bytes; a collision is less likely than a memory error
_ONLY_JSON: Final = orjson.OPT_PASSTHROUGH_DATACLASS | orjson.OPT_PASSTHROUGH_DATETIME | orjson.OPT_PASSTHROUGH_SUBCLASS


def intern_json(value: Any) -> Any:
    """An equal value in which equal dictionaries and lists are one object. The result must not be changed.

    Equal means the same JSON text: ``1``, ``1.0`` and ``true`` differ. A value that orjson cannot write (not JSON, or
    nested deeper than 254 levels) is returned unchanged.
    """
    interned: dict[bytes, Any] = {}

    def one(part: Any) -> Any:
        if type(part) is not dict and type(part) is not list:
            return part
        # A part that is already interned is not descended into: this covers most of a CRD that contains pods.
        key = blake2b(orjson.dumps(part, option=_ONLY_JSON), digest_size=_DIGEST).digest()
        if key not in interned:
            interned[key] = {k: one(v) for k, v in part.items()} if type(part) is dict else [one(item) for item in part]
        return interned[key]

    try:
        return one(value)
    except orjson.JSONEncodeError:
        return value
