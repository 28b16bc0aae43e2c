"""Go's ``fmt``: how ``%v`` and ``%#v`` print values in messages."""

from __future__ import annotations

from typing import Any

from webhook.golang.strconv import quote, shortest

__all__ = ["GoStrings", "value_text"]


class GoStrings(list[str]):
    """A ``[]string`` that prints as Go source (``%#v``) instead of JSON."""

    def __str__(self) -> str:
        return f"[]string{{{', '.join(map(quote, self))}}}"


def value_text(value: Any) -> str:
    """``%v`` of a scalar JSON value: floats have an exponent from a million on."""
    match value:
        case bool():
            return "true" if value else "false"
        case float():
            return shortest(value)
    return str(value)
