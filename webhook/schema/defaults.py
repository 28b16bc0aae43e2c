"""The default values written in a schema: pruned before they are ever used."""

from __future__ import annotations

from typing import Any

from webhook.schema.default import copy_json
from webhook.schema.node import MISSING, Node
from webhook.schema.objectmeta import coerce
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


def prune_defaults(root: Node) -> Node:
    """The tree with every default pruned as if it stood in an otherwise empty object.

    Unknown fields of a default never reach an object (``defaulting.PruneDefaults``); the tree
    itself comes back where there are none.
    """
    return _prune_below(root, root, ())


def _prune_below(node: Node, root: Node, steps: Steps) -> Node:
    changes: dict[str, Any] = {}
    if node.default is not MISSING:
        pruned = _pruned(node.default, root, steps)
        if pruned != node.default:
            changes["default"] = pruned
    for name, child, step in (("additional", node.additional, "*"), ("items", node.items, None)):
        if child is not None:
            new = _prune_below(child, root, (*steps, step))
            if new is not child:
                changes[name] = new
    pruned_properties = {
        key: new
        for key, child in node.properties.items()
        if (new := _prune_below(child, root, (*steps, key))) is not child
    }
    if pruned_properties:
        changes["properties"] = {**node.properties, **pruned_properties}
    return node.replace(**changes) if changes else node


def _pruned(default: Any, root: Node, steps: Steps) -> Any:
    obj = surround(copy_json(default), steps)
    if not isinstance(obj, dict):
        return default  # the root's default is no object: creating the CRD has refused it
    obj, _ = coerce(root, obj, is_root=True, drop_invalid=True)
    obj, _ = prune(root, obj, is_root=True)
    return _extract(obj, steps)
