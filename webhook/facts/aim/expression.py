"""Evaluate the JSONPath expressions of a routeTemplate, where the result is certain before the operator runs them.

The operator evaluates them with client-go over Go structures. There an unset string is empty, an unset block or number
is nil, and keys in brackets are supported after labels and annotations only.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final


@dataclass(frozen=True, slots=True)
class Type:
    """Any other type: its value is unknown, or not useful in a path."""


@dataclass(frozen=True, slots=True)
class Scalar(Type):
    """``zero`` is the value of an unset field, or None if the API server sets the field."""

    zero: str | int | bool | None = ""


@dataclass(frozen=True, slots=True)
class Pointer(Type):
    """A pointer to a value that may be absent."""

    to: Type


@dataclass(frozen=True, slots=True)
class Struct(Type):
    fields: Mapping[str, Type]


@dataclass(frozen=True, slots=True)
class Entries(Type):
    """A map of strings."""


@dataclass(frozen=True, slots=True)
class Items(Type):
    of: Type


LATER: Final = Type()
"""Also the type of fields that the API server or the operator sets after admission."""

_TEXT: Final = Scalar()
_OPTIONAL: Final = Pointer(_TEXT)
_METADATA: Final = Struct(
    {
        **dict.fromkeys(("name", "namespace", "selfLink"), _TEXT),
        **dict.fromkeys(("labels", "annotations"), Entries()),
        **dict.fromkeys(("uid", "resourceVersion", "generateName"), Scalar(zero=None)),
        **dict.fromkeys(("generation", "creationTimestamp", "deletionTimestamp", "ownerReferences"), LATER),
        **dict.fromkeys(("deletionGracePeriodSeconds", "finalizers", "managedFields"), LATER),
    }
)
_GPUS: Final = Struct({"count": Scalar(0), "model": _TEXT})
_OVERRIDES: Final = Struct({"metric": _OPTIONAL, "precision": _OPTIONAL, "gpuSelector": Pointer(_GPUS)})
_GATEWAY: Final = Struct(
    {
        "name": _TEXT,
        **dict.fromkeys(("group", "kind", "namespace", "sectionName"), _OPTIONAL),
        "port": Pointer(Scalar(0)),
    }
)
_ROUTING: Final = Struct(
    {
        "enabled": Scalar(zero=False),
        "gatewayRef": Pointer(_GATEWAY),
        "annotations": Entries(),
        "routeTemplate": _TEXT,
    }
)
_SPEC: Final = Struct(
    {
        **dict.fromkeys(("aimImageName", "templateRef", "runtimeConfigName"), _TEXT),
        "cacheModel": Scalar(zero=False),
        "replicas": Pointer(Scalar(0)),
        "resources": Pointer(Struct(dict.fromkeys(("requests", "limits", "claims"), LATER))),
        "overrides": Pointer(_OVERRIDES),
        "env": Items(Struct({"name": _TEXT, "value": _TEXT, "valueFrom": LATER})),
        "imagePullSecrets": Items(Struct({"name": _TEXT})),
        "routing": Pointer(_ROUTING),
    }
)

SERVICE: Final = Struct(
    {"apiVersion": LATER, "kind": LATER, "metadata": _METADATA, "spec": _SPEC, "status": LATER},
)


_ENTRY: Final = re.compile(r"""\.metadata\.(label|annotation)s\[['"]([^'"]+)['"]\]\Z""")
_FIELD: Final = re.compile(r"\.((?:\\.|[^\\\s.,\[\]$@{}])+)")
_BRACKET: Final = re.compile(r"\[([^\]]*)\]")
_QUOTED: Final = re.compile(r"\['([^']*)'\]")
_SELECTION: Final = re.compile(r"[\d:*-]*\Z|.*,|\?\(")
_WORD: Final = re.compile(r"(?!(?:range|end|true|false)\b)[A-Za-z_][^\s.,\[\]$@{}]*")

Step = str | int
"""A field name, or the index of an item."""


class Unreadable(Exception):
    """The operator's error for an expression that has no value for any service."""


class Missing(Unreadable):
    """The operator's error for an expression that has no value for this service."""


@dataclass(frozen=True, slots=True)
class Value:
    """``raw`` values are inserted unchanged. Only annotations are raw, so that they keep their slashes."""

    text: str
    raw: bool = False


def evaluate(expression: str, service: dict[str, Any]) -> Value | None:
    """Return the value, or None if it is not certain.

    Raises:
        Unreadable: the expression has no value; the text is the operator's.
    """
    if not expression:
        raise Unreadable("jsonpath expression is empty")
    if match := _ENTRY.match(expression):
        return _entry(match[1], match[2], service)
    expression = _QUOTED.sub(r'["\1"]', expression)  # as the operator does, since client-go only supports single quotes
    word = _WORD.match(expression)
    path = expression[word.end() :] if word else expression.lstrip("$@")
    steps = _steps(path)
    if steps is None or not (steps or word):
        return None
    if word:
        raise Unreadable(f"jsonpath evaluation error: unrecognized identifier {word[0]}")
    return _walk(steps, service)


def _entry(kind: str, key: str, service: dict[str, Any]) -> Value:
    value = _member(_member(_member(service, "metadata"), f"{kind}s"), key)
    if not isinstance(value, str):
        raise Missing(f'jsonpath evaluation error: {kind} "{key}" not found')
    return Value(value, raw=kind == "annotation")


def _steps(path: str) -> list[Step] | None:
    """The steps of a plain path, or None for other paths, such as a filter or a Go field name."""
    steps: list[Step] = []
    position = 0
    while position < len(path):
        if field := _FIELD.match(path, position):
            steps.append(field[1].replace("\\", ""))
            position = field.end()
        elif bracket := _BRACKET.match(path, position):
            if (place := _place(bracket[1])) is None:
                return None
            steps.append(place)
            position = bracket.end()
        elif path[position] == "[":
            raise Unreadable("invalid jsonpath expression: unterminated array")
        else:
            return None
    uncertain = any(isinstance(step, str) and (step == "*" or step[0].isupper()) for step in steps)
    return None if uncertain else steps


def _place(text: str) -> int | None:
    """The index in brackets, or None if the brackets select several items."""
    if re.fullmatch(r"-?[0-9]{1,9}", text):
        return int(text)
    if _SELECTION.match(text):
        return None
    raise Unreadable(f"invalid jsonpath expression: invalid array index {text}")


def _walk(steps: list[Step], node: Any) -> Value | None:
    kind: Type = SERVICE
    for step in steps:
        if kind is LATER:
            return None
        kind, node = _field(kind, node, step) if isinstance(step, str) else _item(kind, node, step)
    return _leaf(kind, node)


def _field(kind: Type, node: Any, name: str) -> tuple[Type, Any]:
    absent = f"jsonpath evaluation error: {name} is not found"
    if isinstance(kind, Pointer):
        inner = _field(kind.to, node, name)
        if node is None:
            raise Missing(absent)
        return inner
    if isinstance(kind, Struct) and name in kind.fields:
        return kind.fields[name], _member(node, name)
    if not isinstance(kind, Entries):
        raise Unreadable(absent)
    value = _member(node, name)
    if not isinstance(value, str):
        raise Missing(absent)
    return Scalar(), value


def _item(kind: Type, node: Any, place: int) -> tuple[Type, Any]:
    if not isinstance(kind, Items):
        return LATER, None
    items = node if isinstance(node, list) else []
    index = place + len(items) if place < 0 else place
    if not 0 <= index < len(items):
        raise Missing(f"jsonpath evaluation error: array index out of bounds: index {index}, length {len(items)}")
    return kind.of, items[index]


def _leaf(kind: Type, node: Any) -> Value | None:
    if isinstance(kind, Pointer):
        if node is None:
            raise Missing("jsonpath returned nil value")
        return _leaf(kind.to, node)
    if not isinstance(kind, Scalar):
        return None
    value = kind.zero if node is None else node
    if isinstance(value, bool):
        return Value(str(value).lower())
    return Value(str(value)) if isinstance(value, str | int) else None


def _member(node: Any, key: str) -> Any:
    return node.get(key) if isinstance(node, dict) else None
