"""The helpers that generated functions call: each is exact, or raises so that the interpreter decides."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any, Final

from webhook.cel.values import members, schema_aware
from webhook.cel.values.members import ABSENT
from webhook.cel.values.nodes import Node
from webhook.cel.values.schema_aware import is_whole, schema_aware_value
from webhook.cel.values.value import NONE, Comparison, Opt
from webhook.golang.regexp import matcher

SHORT: Final = 256
"""Characters of a text that is matched here, so that the cost has a static bound: more than the longest DNS name."""

_MATCHERS: Final = 512  # patterns that are new again are compiled again


class Escape(Exception):
    """The generated function cannot be exact here; the interpreter evaluates the expression."""


def _boolean(value: Any) -> bool:
    if value.__class__ is bool:
        return bool(value)
    raise Escape


def _carried(raw: Any, node: Node) -> Any:
    if raw is None:
        raise Escape
    value = schema_aware_value(node.enter(raw), node)
    if not is_whole(value):
        raise Escape  # an element violates its schema; that error belongs where the element is read
    return value


def _strings(items: list[Any]) -> bool:
    """False for a list of strings: the value of ``x in items`` when no element is equal."""
    for item in items:
        if item.__class__ is not str:
            raise Escape
    return False


def _equal(a: Any, b: Any) -> bool:
    if a.__class__ is b.__class__ and a.__class__ in _SCALARS:
        return bool(a == b)
    return Comparison(MOST_MEMBERS).equal(a, b)


MOST_MEMBERS: Final = 1_000
"""Members that are compared here in one ``==``; the interpreter counts those of all."""

_SCALARS: Final = frozenset({str, int, bool, bytes})


def _contains(element: Any, container: Any) -> bool:
    if container.__class__ is list or container.__class__ is dict:
        return members.contains(element, container)
    return schema_aware.contains(container, element)


def _absent(value: Any) -> bool:
    """``has`` of a value of another class than its schema's: null is absence, anything else an error."""
    if value is None:
        return False
    raise Escape


def _fail(*_values: Any) -> Any:
    raise Escape


def _length(value: Any) -> int:
    """At least the size that the cost of a comparison depends on."""
    return len(value) if value.__class__ in _SIZED else getattr(value, "cel_size", 1)


_SIZED: Final = frozenset({str, bytes, list, dict})


@lru_cache(_MATCHERS)
def matching(pattern: str) -> Callable[[str], bool]:
    """Whether a short text has a match; a long one raises :exc:`Escape`.

    Raises:
        GoError: Go's "error parsing regexp: …".
    """
    matches = matcher(pattern, SHORT, Escape)
    vars(matches)["__reduced__"] = (matching, (pattern,))  # how it is pickled
    return matches


def _find(value: Any, key: Any) -> Any:
    """``value.?key``, unwrapped: ABSENT if it does not exist."""
    if value is ABSENT:
        return value
    if value.__class__ is dict:
        return value.get(key, ABSENT)
    if value.__class__ is list or value.__class__ is Opt:
        raise Escape
    return members.find(value, key)


def _optional(found: Any) -> Opt:
    return NONE if found is ABSENT else Opt(True, found)


GLOBALS: Final[dict[str, Any]] = {
    "__builtins__": {
        "len": len,
        "str": str,
        "int": int,
        "bool": bool,
        "dict": dict,
        "list": list,
        "float": float,
        "enumerate": enumerate,
        "Exception": Exception,
    },
    "E": Escape,
    "A": ABSENT,
    "IS": frozenset({int, str}),
    "boolean": _boolean,
    "carried": _carried,
    "strings": _strings,
    "equal": _equal,
    "contains": _contains,
    "fail": _fail,
    "absent": _absent,
    "length": _length,
    "find": _find,
    "optional": _optional,
}
"""The global names of every generated function; shared and never changed."""
