"""Go's ``fmt``: how ``%v`` and ``%#v`` print values in messages."""

from __future__ import annotations

from typing import Any, Final

from webhook.golang.strconv import quote, shortest


class GoStrings(list[str]):
    """A ``[]string`` that prints as Go source (``%#v``) instead of JSON."""

    def __str__(self) -> str:
        return f"[]string{{{', '.join(map(quote, self))}}}"


def value_text(value: Any) -> str:
    """``%v`` of a JSON value; floats have an exponent from one million on."""
    match value:
        case None:
            return "<nil>"
        case bool():
            return "true" if value else "false"
        case float():
            return shortest(value)
        case list():
            return f"[{' '.join(map(value_text, value))}]"
        case dict():
            return f"map[{' '.join(f'{key}:{value_text(value[key])}' for key in sorted(value))}]"
    return str(value)


_TYPES: Final = {
    type(None): "<nil>",
    bool: "bool",
    int: "int64",
    float: "float64",
    str: "string",
    list: "[]interface {}",
    dict: "map[string]interface {}",
}


def type_text(value: Any) -> str:
    """``%T`` of a JSON value, as it stands in the API server's messages. Another value has the name of its class."""
    return str(_TYPES.get(value.__class__, value.__class__.__name__))
