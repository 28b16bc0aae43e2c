"""Defaulting: fill in the schema's defaults where a value is absent, without changing the caller's object."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from webhook.schema.node import MISSING, SchemaNode
from webhook.schema.prune import with_items

__all__ = ["compile_default", "copy_json"]

Fill = Callable[[Any], Any]


def copy_json(value: Any) -> Any:
    """A deep copy of a JSON value; scalars are shared."""
    if type(value) is dict:
        return {key: copy_json(item) for key, item in value.items()}
    if type(value) is list:
        return [copy_json(item) for item in value]
    return value


def compile_default(node: SchemaNode) -> Fill | None:
    """A function that defaults one value; None if the schema has no defaults.

    The function returns its argument if there is nothing to fill in, else a copy that shares all unchanged parts. An
    explicit null counts as absent unless the field is nullable (apiextensions ``defaulting.Default``).
    """
    return _compile(node, {})


def _compile(node: SchemaNode, compiled: dict[int, Fill | None]) -> Fill | None:
    """``compiled`` are the functions of the nodes visited so far: many nodes have several places."""
    if id(node) not in compiled:
        compiled[id(node)] = _function(node, compiled)
    return compiled[id(node)]


def _function(node: SchemaNode, compiled: dict[int, Fill | None]) -> Fill | None:
    own = tuple(
        (name, child.default, child.nullable) for name, child in node.properties.items() if child.default is not MISSING
    )
    functions = ((name, _compile(child, compiled)) for name, child in node.properties.items())
    below = {name: function for name, function in functions if function is not None}
    entries = _element(node.additional, compiled)
    items = _element(node.items, compiled)
    if not own and not below and entries is None and items is None:
        return None

    def fill(value: Any) -> Any:
        if type(value) is dict:
            filled = _fill_own(value, own) if own else value
            filled = _fill_fields(value, filled, below.items()) if below else filled
            if entries is None:
                return filled
            others = [(name, entries) for name in filled if name not in node.properties]
            return _fill_fields(value, filled, others)
        if type(value) is list and items is not None:
            return with_items(value, list(map(items, value)))
        return value

    return fill


def _element(node: SchemaNode | None, compiled: dict[int, Fill | None]) -> Fill | None:
    """The function for list items or map entries: a null item becomes the default first."""
    if node is None:
        return None
    below = _compile(node, compiled)
    default = node.default
    if default is MISSING or node.nullable:
        return below

    def fill(value: Any) -> Any:
        value = copy_json(default) if value is None else value
        return value if below is None else below(value)

    return fill


def _fill_own(value: dict[str, Any], own: tuple[tuple[str, Any, bool], ...]) -> dict[str, Any]:
    filled = value
    for name, default, nullable in own:
        if name not in value or (value[name] is None and not nullable):
            if filled is value:
                filled = dict(value)
            filled[name] = copy_json(default)
    return filled


def _fill_fields(
    value: dict[str, Any], filled: dict[str, Any], functions: Iterable[tuple[str, Fill]]
) -> dict[str, Any]:
    """Apply the function of each field. ``filled`` is ``value`` or its copy; the first change makes the copy."""
    for name, fill in functions:
        if name in filled:
            old = filled[name]
            new = fill(old)
            if new is not old:
                if filled is value:
                    filled = dict(value)
                filled[name] = new
    return filled
