"""The clean parts of an object that as a whole is not: the exact walkers pass over them.

A refused object has a few faults, and most of it is valid. The fast check of a part takes a twentieth of the time of
the walkers, which compute the path of every value.
"""

from __future__ import annotations

from typing import Any

from webhook.schema.fast.check import compile_part
from webhook.schema.fast.scalars import Check
from webhook.schema.node import CleanParts, SchemaNode

_META_FIELDS = frozenset({"apiVersion", "kind", "metadata"})


class Parts:
    """The checks of the parts of a schema, each compiled on first use."""

    def __init__(self, root: SchemaNode) -> None:
        self._root = root
        self._checks: dict[int, Check] = {}  # by the identity of nodes, which the root keeps alive

    def clean(self, obj: dict[str, Any]) -> CleanParts:
        """The largest objects and lists in an object that their schemas accept as they are."""
        found: set[tuple[int, int]] = set()
        pending: list[tuple[SchemaNode, Any]] = [(self._root, obj)]
        while pending:
            node, value = pending.pop()
            if value.__class__ is dict:
                children = [(node.child(key), item) for key, item in value.items() if not self._is_meta(node, key)]
            else:
                children = [(node.items, item) for item in value]
            for child, item in children:
                if child is None or (item.__class__ is not dict and item.__class__ is not list):
                    continue
                if self._is_clean(child, item):
                    found.add((id(child), id(item)))
                else:
                    pending.append((child, item))
        return found

    def _is_meta(self, node: SchemaNode, key: str) -> bool:
        return node is self._root and key in _META_FIELDS

    def _is_clean(self, node: SchemaNode, value: Any) -> bool:
        check = self._checks.get(id(node))
        if check is None:
            check = self._checks[id(node)] = compile_part(node)
        return check(value) is True
