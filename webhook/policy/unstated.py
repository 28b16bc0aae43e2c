"""Data that a definition leaves open (``x-kubernetes-preserve-unknown-fields`` without a type).

An expression can only compare it: everything else fails when it is evaluated, and the type checker does not see it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from webhook.cel import type_of_schema
from webhook.cel.syntax import Call, Comprehension, Expr, Ident
from webhook.cel.types import DYN
from webhook.policy.environments import node_at
from webhook.policy.reads import OBJECT, Keys, Reads

__all__ = ["is_unstated", "unreadable"]

Schema = Mapping[str, Any]

_ALLOWED: Final = frozenset({"_==_", "_!=_", "size"})


def is_unstated(node: Schema) -> bool:
    """Whether expressions have no type for the values of a node, or for the items of such a list or map."""
    return not node.get("x-kubernetes-int-or-string") and type_of_schema(node, name="self") == DYN


def unreadable(tree: Expr, variables: Mapping[str, Expr], schema: Schema, node: Schema) -> Iterator[str]:
    """What an expression reads of data that is left open: names of variables, and paths of fields.

    ``variables`` are the trees of the policy's variables, ``schema`` is that of the object, ``node`` that of ``self``.
    """
    if is_unstated(node):
        yield from dict.fromkeys(_misused(tree, {"self", "oldSelf"}))
    reads = Reads.of([tree], variables, {"oldObject": (OBJECT,)})
    for path in sorted(reads.values | reads.tests):
        if path[0] == OBJECT and (around := _open_node(schema, path[1:])) is not None:
            yield ".".join(around)


def _misused(tree: Expr, names: set[str]) -> Iterator[str]:
    """The names that are used for more than a comparison. Variables of a loop over such data are among them."""
    loops = [node for node in tree.walk() if isinstance(node, Comprehension)]
    for loop in loops:
        if isinstance(loop.iter_range, Ident) and loop.iter_range.name in names:
            names.add(loop.iter_var2 or loop.iter_var)
    for node in tree.walk():
        if not isinstance(node, Comprehension) and not (isinstance(node, Call) and node.function in _ALLOWED):
            yield from (each.name for each in node.children if isinstance(each, Ident) and each.name in names)


def _open_node(schema: Schema, keys: Keys) -> Keys | None:
    """The path of a node without a type above the end of a path."""
    for end in range(1, len(keys)):
        node = node_at(schema, keys[:end])
        if node is None:
            return None
        if is_unstated(node) and not node.get("items") and not node.get("additionalProperties"):
            return keys[:end]
    return None
