"""The error of what Go cannot read."""

from __future__ import annotations

__all__ = ["GoError"]


class GoError(ValueError):
    """A text that Go's standard library refuses; ``message`` is its error text ("invalid port …")."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message
