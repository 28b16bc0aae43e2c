"""What `kubectl apply` makes of a stored object and a file: a three-way JSON merge patch (``jsonmergepatch``)."""

from __future__ import annotations

from typing import Any, Final

import orjson

__all__ = ["applied"]

_LAST_APPLIED: Final = "kubectl.kubernetes.io/last-applied-configuration"


def applied(stored: dict[str, Any], written: dict[str, Any]) -> dict[str, Any]:
    """The stored object after `kubectl apply` of a file.

    A field of the file replaces the stored one; objects merge, lists do not. A field that the last applied file had and
    this one does not have is removed, and so is a field with an explicit null. Other fields stay.
    """
    merged: dict[str, Any] = _merged(stored, written, _last_applied(stored))
    return merged


def _last_applied(stored: dict[str, Any]) -> dict[str, Any]:
    """The file of the last `kubectl apply`, by its annotation; {} if there is none or it cannot be read."""
    try:
        found = orjson.loads(stored["metadata"]["annotations"][_LAST_APPLIED])
    except (KeyError, TypeError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def _merged(stored: Any, written: Any, last: Any) -> Any:
    if not isinstance(written, dict):
        return written
    before = stored if isinstance(stored, dict) else {}
    earlier = last if isinstance(last, dict) else {}
    kept = {key: item for key, item in before.items() if key in written or key not in earlier}
    for key, item in written.items():
        if item is not None:
            kept[key] = _merged(before.get(key), item, earlier.get(key))
        elif key not in earlier or earlier[key] is not None:
            kept.pop(key, None)
    return kept
