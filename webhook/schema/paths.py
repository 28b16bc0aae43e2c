"""Nodes of a schema by text: the simple JSON path of a ``fieldPath`` or selectable field, and the field of an error."""

from __future__ import annotations

import re
from collections.abc import Iterator

from webhook.ground.fieldpath import ROOT, FieldPath
from webhook.schema.fielderror import FieldError
from webhook.schema.node import SchemaNode


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
    field = ROOT
    parts = _parts(path)
    for part in parts:
        if part == "." or (part == "[" and brackets):
            name = _next(parts) if part == "." else _quoted(parts)
            field, node = _step(field, node, name)
            if part == "[":
                _close(parts)
        elif part == "[":
            raise PathError("array notation is not allowed")
        else:
            raise PathError(f"expected [ or . but got: {part}")
    return str(field), node


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


def _step(field: FieldPath, node: SchemaNode, name: str) -> tuple[FieldPath, SchemaNode]:
    if node.properties:
        field, child = field.child(name), node.properties.get(name)
    else:
        # additionalProperties: true allows any key, with an unknown schema
        field, child = field.key(name), node.additional or (SchemaNode({"raw": {}}) if node.additional_known else None)
    if child is None:
        raise PathError("does not refer to a valid field")
    return field, child


Keys = tuple[str, ...]
"""A path in a schema: ``*`` is an item of a list or an entry of a map."""


def keys_of(root: SchemaNode, error: FieldError) -> Keys:
    """The path of the field that an error names, or of a node around it where the text leaves more than one reading.

    The keys of a map are a user's, and may have any character: the path ends at the entry.
    """
    text, node, keys = _text(error), root, list[str]()
    while text and node is not None:
        if text.startswith("[") and node.items is not None:
            key, child, text = "*", node.items, text.partition("]")[2]
        else:
            text = text.removeprefix(".")
            name = max((name for name in node.properties if _is_first(name, text)), key=len, default=None)
            if name is None:
                return (*keys, "*") if node.additional is not None else tuple(keys)
            key, child, text = name, node.properties[name], text[len(name) :]
        keys.append(key)
        node = child
    return tuple(keys)


def _text(error: FieldError) -> str:
    text = error.place or error.field
    return "" if text == "<nil>" else text


def _is_first(name: str, text: str) -> bool:
    return text == name or text.startswith((f"{name}.", f"{name}["))
