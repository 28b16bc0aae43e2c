"""The error for text that Go cannot read, and several errors as one."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any


class GoError(ValueError):
    """Go's standard library rejects a text; ``message`` is Go's error text ("invalid port …")."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


def readable(read: Callable[[str], Any], refusal: type[Exception] = GoError) -> Callable[[str], bool]:
    """Whether a function reads a text, or raises the refusal."""

    def check(text: str) -> bool:
        try:
            read(text)
        except refusal:
            return False
        return True

    return check


def aggregate(errors: Iterable[object]) -> str:
    """Several errors as one text, each once (``utilerrors.NewAggregate``)."""
    distinct = list(dict.fromkeys(map(str, errors)))
    return distinct[0] if len(distinct) == 1 else f"[{', '.join(distinct)}]"
