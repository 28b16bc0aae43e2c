"""The error for text that Go cannot read."""

from __future__ import annotations

__all__ = ["GoError"]


class GoError(ValueError):
    """Go's standard library rejects a text; ``message`` is Go's error text ("invalid port …")."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message
