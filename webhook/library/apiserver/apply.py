"""What `kubectl apply` makes of a stored object and a file: a three-way JSON merge patch (``jsonmergepatch``)."""

from __future__ import annotations

from typing import Any, Final

import orjson

from webhook.golang.json import marshal

_LAST_APPLIED: Final = "kubectl.kubernetes.io/last-applied-configuration"


def applied(stored: dict[str, Any], written: dict[str, Any]) -> dict[str, Any]:
    """The stored object after `kubectl apply` of a file.

    A field of the file replaces the stored one; objects merge, lists do not. A field that the last applied file had and
    this one does not have is removed, and so is a field with an explicit null. Other fields stay.
    """
    merged: dict[str, Any] = _merged(stored, _annotated(stored, written), _last_applied(stored))
    return merged


def as_applied(stored: dict[str, Any], written: dict[str, Any]) -> dict[str, Any]:
    """The stored object with the annotation in which `kubectl apply` keeps the file."""
    metadata = stored["metadata"]
    marked = {**stored, "metadata": {**metadata, "annotations": {_LAST_APPLIED: "{}"}}}
    text = _text(_annotated(marked, written))
    annotations = {**metadata.get("annotations", {}), _LAST_APPLIED: text}
    return {**stored, "metadata": {**metadata, "annotations": annotations}} if text else stored


def _annotated(stored: dict[str, Any], written: dict[str, Any]) -> dict[str, Any]:
    """The file as kubectl sends it: annotated with itself, if the stored object has such an annotation."""
    metadata = written.get("metadata")
    if not isinstance(metadata, dict) or not _text(stored):
        return written
    annotations = metadata.get("annotations")
    if not isinstance(annotations, dict | None):
        return written
    placed = {key: stored["metadata"][key] for key in ("namespace",) if stored["metadata"].get(key)}
    own = {key: item for key, item in (annotations or {}).items() if key != _LAST_APPLIED}
    metadata = {**placed, **metadata, "annotations": own}
    text = f"{marshal({**written, 'metadata': metadata})}\n"
    return {**written, "metadata": {**metadata, "annotations": {**own, _LAST_APPLIED: text}}}


def _last_applied(stored: dict[str, Any]) -> dict[str, Any]:
    """The file of the last `kubectl apply`, by its annotation; {} if there is none or it cannot be read."""
    try:
        found = orjson.loads(_text(stored))
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _text(stored: dict[str, Any]) -> str:
    """The annotation; "" if there is none."""
    try:
        text = stored["metadata"]["annotations"][_LAST_APPLIED]
    except (KeyError, TypeError):
        return ""
    return text if isinstance(text, str) else ""


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
