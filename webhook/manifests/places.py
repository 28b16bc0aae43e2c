"""Places in the text of a document: where the key or the value of a field begins and ends."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import yaml

__all__ = ["Place", "child", "find", "keys"]

_KEY: Final = re.compile(r"\[([^\]]*)\]|([^.\[\]]+)")
_MERGE: Final = "tag:yaml.org,2002:merge"
_BOOLEAN: Final = "tag:yaml.org,2002:bool"
_TRUE: Final = frozenset({"y", "yes", "true", "on"})


@dataclass(frozen=True, slots=True, order=True)
class Place:
    """A range on one line. Lines and columns count from 1, columns in characters; ``end`` is the column behind it."""

    line: int
    column: int
    end: int

    @classmethod
    def of(cls, node: yaml.Node) -> Place:
        """The range of a scalar; of a mapping or a list, its first key, item or bracket."""
        while isinstance(node, yaml.CollectionNode) and node.value and not node.flow_style:
            first = node.value[0][0] if isinstance(node, yaml.MappingNode) else node.value[0]
            if (first.start_mark.line, first.start_mark.column) != (node.start_mark.line, node.start_mark.column):
                break
            node = first
        start, end = node.start_mark, node.end_mark
        last = end.column if end.line == start.line else start.column + 1
        return cls(start.line + 1, start.column + 1, max(last, start.column + 1) + 1)


def keys(field: str) -> list[str | int]:
    """The keys of a path in an error: ``spec.files[0]``, ``metadata.labels[a.b/c]``."""
    found = (bracketed or name for bracketed, name in _KEY.findall(field))
    return [int(key) if key.isdecimal() else key for key in found]


def find(root: yaml.Node | None, path: Sequence[str | int]) -> tuple[yaml.Node | None, yaml.Node | None, bool]:
    """The key and the value at a path, and whether all of it is there: otherwise those of its nearest parent.

    An item of a list has no key, nor has the document itself: the value stands for it.
    """
    node, named = root, root
    for step in path:
        found = _entry(node, step)
        if found is None:
            return named, node, False
        named, node = found
    return named, node, True


def child(node: yaml.Node | None, step: str | int) -> yaml.Node | None:
    """The value of a key, or an item of a list."""
    found = _entry(node, step)
    return None if found is None else found[1]


def _entry(node: yaml.Node | None, step: str | int) -> tuple[yaml.Node, yaml.Node] | None:
    if isinstance(node, yaml.MappingNode):
        return _member(node, str(step))
    if isinstance(node, yaml.SequenceNode) and isinstance(step, int) and step < len(node.value):
        return node.value[step], node.value[step]
    return None


def _member(node: yaml.MappingNode, wanted: str) -> tuple[yaml.Node, yaml.Node] | None:
    """The key and the value of a name; that of the mapping itself before those that it merges."""
    merged: list[yaml.Node] = []
    for name, value in node.value:
        if wanted in (name.value, _boolean(name)):
            return name, value
        if name.tag == _MERGE:
            merged += value.value if isinstance(value, yaml.SequenceNode) else [value]
    found = (_member(each, wanted) for each in merged if isinstance(each, yaml.MappingNode))
    return next((each for each in found if each is not None), None)


def _boolean(name: yaml.Node) -> str | None:
    """A key that is read as a boolean, as it is read: ``on`` without quotes is ``true``."""
    if name.tag != _BOOLEAN:
        return None
    return "true" if str(name.value).lower() in _TRUE else "false"
