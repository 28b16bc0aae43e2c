"""Values that stand for unknown ones: valid in the schema where they are, as far as one can be found."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from contextlib import suppress
from functools import reduce
from operator import getitem
from typing import Any, Final

from webhook.golang.regexp import matcher
from webhook.library.unknown.substitution import Keys
from webhook.policy import node_at

Schema = Mapping[str, Any]
_DEEP: Final = 32
"""Levels of required fields that a stand-in has."""


def filled(value: Any, unknown: Mapping[Keys, str], schema: Schema | None) -> Any:
    """The object with stand-ins at these paths; equal texts of equal places get equal stand-ins."""
    for path, text in unknown.items():
        node = None if schema is None else node_at(schema, ["*" if isinstance(key, int) else key for key in path])
        value = _set(value, path, stand_in(node, path, text))
    return value


def restored(value: Any, paths: Iterable[Keys], written: Any) -> Any:
    """The object with what the file has at these paths, where it still has a value there."""
    for path in paths:
        with suppress(LookupError, TypeError, AttributeError):  # it has no value there any more
            value = _set(value, path, reduce(getitem, path, written))
    return value


def stand_in(schema: Schema | None, path: Keys, text: str, depth: int = 0) -> Any:
    """A value for a place; ``schema`` is None where the definition says nothing."""
    if path[:1] == ("metadata",):
        return _in_metadata(path, text)
    if schema is None or depth > _DEEP:
        return text
    if schema.get("enum"):
        return schema["enum"][0]
    kind = schema.get("type")
    if kind == "object":
        below = schema.get("properties") or {}
        names = schema.get("required") or ()
        return {name: stand_in(below.get(name), (*path, name), text, depth + 1) for name in names}
    if kind == "array":
        item = stand_in(schema.get("items"), (*path, 0), text, depth + 1)
        return [item] * int(schema.get("minItems") or 0)
    if kind in ("integer", "number"):
        return _number(schema)
    if kind == "boolean":
        return True
    return _text(schema, text) if kind == "string" else 1 if schema.get("x-kubernetes-int-or-string") else text


def name_of(text: str) -> str:
    """A valid name, the same for the same text."""
    return f"x{hashlib.sha256(text.encode(errors='replace')).hexdigest()[:12]}"


def _in_metadata(path: Keys, text: str) -> Any:
    if len(path) == 1:
        return {"name": name_of(text)}
    if len(path) == 2 and path[1] in ("labels", "annotations"):
        return {}
    return name_of(text)


def _number(schema: Schema) -> int | float:
    least, most = schema.get("minimum"), schema.get("maximum")
    value: int | float = 1
    if least is not None and value <= least:
        value = least + (1 if schema.get("exclusiveMinimum") else 0)
    elif most is not None and value >= most:
        value = most - (1 if schema.get("exclusiveMaximum") else 0)
    return value


def _text(schema: Schema, text: str) -> str:
    """The text itself if it is valid, else a similar one, else one that is only not too long."""
    longest = schema.get("maxLength")
    candidates = [text, name_of(text), "1", "a", "A", "2000-01-01T00:00:00Z", "1s", "http://x"]
    pattern = schema.get("pattern")
    for each in candidates:
        fits = longest is None or len(each) <= longest
        if fits and len(each) >= (schema.get("minLength") or 0) and (not pattern or matcher(pattern)(each)):
            return each
    return text if longest is None else text[:longest]


def _set(value: Any, path: Keys, new: Any) -> Any:
    """A copy with another value at a path that is there."""
    if not path:
        return new
    copy = value.copy()
    copy[path[0]] = _set(value[path[0]], path[1:], new)
    return copy
