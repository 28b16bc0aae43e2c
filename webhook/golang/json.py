"""JSON values as the API server hands them back: what becomes of numbers and of text on the way through Go."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Any, Final

__all__ = ["has_unsettled", "settle"]

_INT64: Final = range(-(2**63), 2**63)
_SURROGATE = re.compile("[\ud800-\udfff]")
_UNSETTLED = re.compile(rb"[0-9](?:\.0+(?![0-9])|[eE]|[0-9]{18})")


def has_unsettled(text: bytes) -> bool:
    """Whether a JSON text may hold a number that :func:`settle` would change.

    The API server sends none, so that a look at the text saves the walk; digits within strings
    may say yes for nothing.
    """
    return _UNSETTLED.search(text) is not None


def settle(value: Any) -> Any:
    """The value as the API server would hand it back.

    It reads a number as int64 if its text is one, else as float64, and writes a whole float
    below 1e21 without a point: ``1.0`` and ``1e3`` come back as ``1`` and ``1000``, an integer
    beyond 64 bits loses its last digits (sigs.k8s.io/json, Go's encoding/json).
    """
    if isinstance(value, str):
        return value if value.isascii() else _SURROGATE.sub("\ufffd", value)
    if isinstance(value, dict):
        return {settle(key): settle(item) for key, item in value.items()}
    if isinstance(value, list):
        return [settle(item) for item in value]
    if isinstance(value, float):
        return _settle_float(value)
    if isinstance(value, int) and value not in _INT64:
        return _settle_float(float(str(value)))  # by its text: too large for a float is infinity, not an error
    return value


def _settle_float(value: float) -> float:
    """A whole float as the int64 it becomes: the shortest digits that read back equal, padded with zeros."""
    if not value.is_integer():
        return value
    whole = int(Decimal(repr(value)))
    return whole if whole in _INT64 else value
