"""The size of what a mutation makes: an expression can refer to a value many times, and references multiply."""

from __future__ import annotations

from typing import Any, Final

from webhook.cel.values import Opt

__all__ = ["MOST_BYTES", "size_of"]

MOST_BYTES: Final = 3 * 1024 * 1024
"""The API server stores no larger object, and lets the ``copy`` operations of a JSON Patch add no more
(``JSONPatchMaxCopyBytes`` of ``k8s.io/apiserver``)."""

_MOST_VALUES: Final = 200_000
"""Four times what an object may have that the gate judges. Counting so many takes tenths of a second."""


def size_of(value: Any) -> int:
    """Bytes of a value as compact JSON, without escapes; some number over :data:`MOST_BYTES` if it is larger.

    A value of a few references can be larger than any memory, so counting ends there, and after many values. Not
    recursive: it may be nested deeply.
    """
    size, count, nodes = 0, 0, [value]
    while nodes and size <= MOST_BYTES:
        node = nodes.pop()
        count += 1
        if count > _MOST_VALUES:
            return size + MOST_BYTES
        if isinstance(node, str | bytes):
            size += len(node) + 2
        elif isinstance(node, dict):
            size += max(4 * len(node) + 1, 2) + sum(map(len, map(str, node)))
            nodes += node.values()
        elif isinstance(node, list | tuple):
            size += max(len(node) + 1, 2)
            nodes += node
        elif isinstance(node, Opt):
            nodes.append(node.value)
        else:
            size += len(str(node))
    return size
