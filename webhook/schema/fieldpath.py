"""The simple JSON paths of ``fieldPath`` and ``selectableFields``: ``.spec.template['a.b'].name``."""

from __future__ import annotations

import re
from collections.abc import Iterator

from webhook.schema.node import SchemaNode

__all__ = ["PathError", "resolve_path"]


class PathError(ValueError):
    """A path that does not parse, or that is not a field of the schema; the text is the API server's."""


_PART = re.compile(r"[.\[\]]|'(?:.*?(?<!\\))'|'.*|[^.\[\]]+", re.DOTALL)
_ESCAPE = re.compile(r"\\(.)")
_ESCAPES = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v", "'": "'", "\\": "\\"}


def resolve_path(path: str, node: SchemaNode, *, brackets: bool = True) -> tuple[str, SchemaNode]:
    """The field path as errors print it (``spec.template[a.b].name``), and the schema of the field.

    Without ``brackets`` only the dot notation is allowed.

    Raises:
        PathError: the path does not parse, or the schema does not have the field.
    """
    printed = ""
    parts = _parts(path)
    for part in parts:
        if part == "." or (part == "[" and brackets):
            name = _next(parts) if part == "." else _quoted(parts)
            printed, node = _step(printed, node, name)
            if part == "[":
                _close(parts)
        elif part == "[":
            raise PathError("array notation is not allowed")
        else:
            raise PathError(f"expected [ or . but got: {part}")
    return printed, node


def _parts(path: str) -> Iterator[str]:
    for part in _PART.finditer(path):
        if part[0].startswith("'") and (len(part[0]) < 2 or not part[0].endswith("'")):
            yield part[0]  # an unclosed quote contains the rest
            return
        yield part[0]


def _next(parts: Iterator[str]) -> str:
    part = next(parts, None)
    if part is None:
        raise PathError("unexpected end of JSON path")
    return part


def _quoted(parts: Iterator[str]) -> str:
    part = _next(parts)
    if len(part) < 2 or not part.startswith("'") or not part.endswith("'"):
        raise PathError(f"expected single quoted string but got {part}")
    return _ESCAPE.sub(_unescape, part[1:-1])


def _unescape(found: re.Match[str]) -> str:
    if found[1] not in _ESCAPES:
        raise PathError(f"invalid string literal: invalid escape char {found[0]}")
    return _ESCAPES[found[1]]


def _close(parts: Iterator[str]) -> None:
    part = _next(parts)
    if part != "]":
        raise PathError(f"expected ] but got {part}")


def _step(printed: str, node: SchemaNode, name: str) -> tuple[str, SchemaNode]:
    if node.properties:
        child = node.properties.get(name)
        printed = f"{printed}.{name}" if printed else name
    else:
        # additionalProperties: true allows any key, with an unknown schema
        child = node.additional or (SchemaNode({"raw": {}}) if node.additional_known else None)
        printed = f"{printed}[{name}]"
    if child is None:
        raise PathError("does not refer to a valid field")
    return printed, child
