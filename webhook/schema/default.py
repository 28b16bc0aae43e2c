"""Defaulting: fill in the schema's defaults where a value is absent. Before their first use, defaults are pruned."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final

from webhook.schema.node import MISSING, SchemaNode
from webhook.schema.objectmeta.embedded import coerce, has_embedded
from webhook.schema.prune import prune, with_items

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


Steps = tuple[str | None, ...]
"""The path of a value: a key for a property, None for a list item."""


def surround(value: Any, steps: Steps) -> Any:
    """The smallest object that has ``value`` at ``steps``."""
    for step in reversed(steps):
        value = [value] if step is None else {step: value}
    return value


def _extract(value: Any, steps: Steps) -> Any:
    for step in steps:
        if step is None:
            value = value[0]
        elif step in value:
            value = value[step]
        else:
            return MISSING
    return value


def prune_defaults(root: SchemaNode) -> SchemaNode:
    """The tree with every default pruned as if it were in an otherwise empty object.

    So the unknown fields of a default never reach an object (``defaulting.PruneDefaults``). If no default has unknown
    fields, the result is the given tree.
    """
    return _Pruner(root).below(root, ())


class _Pruner:
    def __init__(self, root: SchemaNode) -> None:
        self.root = root
        self.embeds = has_embedded(root)
        self.defaulted: dict[int, bool] = {}
        self._note_defaults(root)

    def _note_defaults(self, node: SchemaNode) -> bool:
        """Note whether a node has a default at or below it. Most nodes have none, and many have several places."""
        if id(node) not in self.defaulted:
            found = [self._note_defaults(child) for child in node.below()]
            self.defaulted[id(node)] = node.default is not MISSING or any(found)
        return self.defaulted[id(node)]

    def below(self, node: SchemaNode, steps: Steps) -> SchemaNode:
        if not self.defaulted[id(node)]:
            return node
        changes: dict[str, Any] = {}
        if node.default is not MISSING and self._may_change(node.default, steps):
            pruned = _pruned(node.default, self.root, steps)
            if pruned != node.default:
                changes["default"] = pruned
        for name, child, step in (("additional", node.additional, "*"), ("items", node.items, None)):
            if child is not None:
                new = self.below(child, (*steps, step))
                if new is not child:
                    changes[name] = new
        pruned_properties = {
            key: new for key, child in node.properties.items() if (new := self.below(child, (*steps, key))) is not child
        }
        if pruned_properties:
            changes["properties"] = {**node.properties, **pruned_properties}
        return node.replace(**changes) if changes else node

    def _may_change(self, default: Any, steps: Steps) -> bool:
        """Whether pruning may change a default. A scalar changes only in metadata: a wrong type is dropped there."""
        return self.embeds or isinstance(default, dict | list) or steps[:1] in _METADATA


_METADATA: Final = (("apiVersion",), ("kind",), ("metadata",))


def _pruned(default: Any, root: SchemaNode, steps: Steps) -> Any:
    obj = surround(copy_json(default), steps)
    if not isinstance(obj, dict):
        return default  # creating a CRD whose root has such a default fails
    obj, _ = coerce(root, obj, is_root=True, drop_invalid=True)
    obj, _ = prune(root, obj, is_root=True)
    return _extract(obj, steps)
