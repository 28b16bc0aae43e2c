"""Prunes the default values of a schema before their first use."""

from __future__ import annotations

from typing import Any, Final

from webhook.schema.default import copy_json
from webhook.schema.node import MISSING, SchemaNode
from webhook.schema.objectmeta.embedded import coerce, has_embedded
from webhook.schema.prune import prune

__all__ = ["Steps", "prune_defaults", "surround"]

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
