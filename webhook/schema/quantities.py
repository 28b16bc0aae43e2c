"""Numbers as quantities: ``cpu: 0.5`` becomes ``cpu: 500m``, as a webhook written in Go makes of it.

Go's type for a quantity reads a number, and writes text. A schema takes only whole numbers and text, so a fraction is
refused where no such webhook runs before the schema is checked.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from webhook.golang.errors import GoError
from webhook.golang.json import marshal
from webhook.golang.quantity import parse
from webhook.golang.strconv import INT64
from webhook.schema.node import SchemaNode
from webhook.schema.prune import with_items

PATTERN: Final = (
    r"^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))"
    r"(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$"
)
"""The pattern that controller-gen writes for ``resource.Quantity``. Other nodes are numbers or names, as of ports."""

Convert = Callable[[Any], Any]


def compile_quantities(node: SchemaNode) -> Convert | None:
    """A function that converts the numbers in one value; None if the schema has no quantity.

    The function returns its argument if it has nothing to convert, else a copy that shares all unchanged parts.
    """
    return _compile(node, {})


def _compile(node: SchemaNode | None, compiled: dict[int, Convert | None]) -> Convert | None:
    """``compiled`` are the functions of the nodes visited so far: many nodes have several places."""
    if node is None:
        return None
    if id(node) not in compiled:
        is_quantity = node.int_or_string and node.pattern == PATTERN
        compiled[id(node)] = _text if is_quantity else _function(node, compiled)
    return compiled[id(node)]


def _function(node: SchemaNode, compiled: dict[int, Convert | None]) -> Convert | None:
    below = {name: _compile(child, compiled) for name, child in node.properties.items()}
    other, items = _compile(node.additional, compiled), _compile(node.items, compiled)
    if other is None and items is None and not any(below.values()):
        return None

    def convert(value: Any) -> Any:
        if type(value) is dict:
            new = value
            for name, item in value.items():
                function = below.get(name, other)
                changed = item if function is None else function(item)
                if changed is not item:
                    new = dict(value) if new is value else new
                    new[name] = changed
            return new
        if type(value) is list and items is not None:
            return with_items(value, list(map(items, value)))
        return value

    return convert


def _text(value: Any) -> Any:
    """A fraction, or a number of more than 64 bits, as text; any other value as it is.

    The API server sends a whole float, such as ``5.0``, as the integer that it is.
    """
    if (type(value) is float and not (value.is_integer() and int(value) in INT64)) or (
        type(value) is int and value not in INT64
    ):
        try:
            return str(parse(marshal(float(value))))
        except (GoError, OverflowError, ValueError):
            return value
    return value
