"""Copies of JSON values that share what is unchanged: a value without a change is its own copy, by identity."""

from __future__ import annotations

from typing import Any

from webhook.schema.node import MISSING

__all__ = ["with_fields", "with_items"]


def with_items(value: list[Any], new: list[Any]) -> list[Any]:
    """A list with new items; the list itself if each item is its own."""
    return new if any(a is not b for a, b in zip(new, value, strict=True)) else value


def with_fields(value: dict[str, Any], changed: dict[str, Any]) -> dict[str, Any]:
    """An object with changed fields, in its order and without those that are MISSING; itself if none is changed."""
    if not changed:
        return value
    merged = {key: changed.get(key, item) for key, item in value.items()}
    return {key: item for key, item in merged.items() if item is not MISSING}
