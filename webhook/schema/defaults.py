"""The default values written in a schema: pruned before they are ever used."""

from __future__ import annotations

from typing import Any, Final

from webhook.schema.default import copy_json
from webhook.schema.node import MISSING, SchemaNode
from webhook.schema.objectmeta.embedded import coerce, has_embedded
from webhook.schema.prune import prune

__all__ = ["Steps", "prune_defaults", "surround"]

Steps = tuple[str | None, ...]
"""Where a value stands: a key per property, None per list item."""


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
    """The tree with every default pruned as if it stood in an otherwise empty object.

    Unknown fields of a default never reach an object (``defaulting.PruneDefaults``); the tree
    itself comes back where there are none.
    """
    return _Pruner(root).below(root, ())


class _Pruner:
    def __init__(self, root: SchemaNode) -> None:
        self.root = root
        self.embeds = has_embedded(root)
        self.defaulted: dict[int, bool] = {}
        self._look(root)

    def _look(self, node: SchemaNode) -> bool:
        """Note whether there is a default at or below a node: most have none, and stand at many places."""
        if id(node) not in self.defaulted:
            found = [self._look(child) for child in node.below()]
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
        """A scalar has nothing to prune, but in a resource's metadata one of the wrong type is dropped."""
        return self.embeds or isinstance(default, dict | list) or steps[:1] in _METADATA


_METADATA: Final = (("apiVersion",), ("kind",), ("metadata",))


def _pruned(default: Any, root: SchemaNode, steps: Steps) -> Any:
    obj = surround(copy_json(default), steps)
    if not isinstance(obj, dict):
        return default  # the root's default is no object: creating the CRD has refused it
    obj, _ = coerce(root, obj, is_root=True, drop_invalid=True)
    obj, _ = prune(root, obj, is_root=True)
    return _extract(obj, steps)
