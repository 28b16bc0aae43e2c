"""Paths into an object as policies write them: ``spec.files[*]``, ``metadata.labels['a.b/c']``."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Final

from webhook.ground.fieldpath import field_path

MISSING: Final[Any] = type("Missing", (), {"__repr__": lambda _: "MISSING"})()
"""What :meth:`Path.get` returns for an absent node: None is a value."""

_SEGMENT = re.compile(r"\.?([A-Za-z_$][\w$-]*)|\['((?:[^'\\]|\\.)*)'\]|(\[\*\])")


@dataclass(frozen=True, slots=True)
class Path:
    """A parsed path: field names, and ``*`` for every item of a list or every value of a map.

    The empty path is the object itself. ``single``: it matches at most one node. ``text``: the path as written.
    ``around``: the keys of the object that has the leaf.
    """

    keys: tuple[str, ...]
    single: bool = field(init=False, compare=False, repr=False)
    text: str = field(init=False, compare=False, repr=False)
    around: tuple[str, ...] = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "single", "*" not in self.keys)
        object.__setattr__(self, "around", self.keys[:-1])
        object.__setattr__(self, "text", field_path(self.keys).replace(".*", "[*]"))

    @classmethod
    def parse(cls, text: str) -> Path:
        """Parse; ValueError names the column of the error."""
        keys: list[str] = []
        position = 0
        while position < len(text):
            match = _SEGMENT.match(text, position)
            if match is None or (position == 0 and text[0] == "."):
                raise ValueError(f"{text!r} is not a valid path at column {position + 1}; use a.b, a['b.c'] or a[*]")
            name, quoted, star = match.groups()
            keys.append("*" if star else name if name is not None else re.sub(r"\\(.)", r"\1", quoted))
            position = match.end()
        return cls(tuple(keys))

    def __str__(self) -> str:
        return self.text

    def get(self, root: Any) -> Any:
        """The value of a single path, or MISSING."""
        for key in self.keys:
            if not isinstance(root, dict) or key not in root:
                return MISSING
            root = root[key]
        return root

    def nodes(self, root: Any) -> Iterable[tuple[tuple[str | int, ...], Any]]:
        """Every value that the path matches, with its concrete path. Absent and null nodes are skipped."""
        if not self.single:
            return _walk(root, self.keys, ())
        value = self.get(root)
        return () if value is MISSING or value is None else ((self.keys, value),)

    def parent(self, root: Any) -> Any:
        """The object that has the leaf, or would have it; None if it is absent, MISSING if there is another value."""
        for key in self.around:
            if root.__class__ is not dict:
                break
            root = root.get(key)
        return root if root is None or root.__class__ is dict else MISSING

    def set(self, root: dict[str, Any], value: Any) -> dict[str, Any]:
        """``root`` with the leaf set; its parents are copied, or created if absent."""
        copy = parent = root.copy()
        for key in self.around:
            child = parent.get(key)
            parent[key] = child = child.copy() if child.__class__ is dict else {}
            parent = child
        parent[self.keys[-1]] = value
        return copy

    def delete(self, root: dict[str, Any]) -> dict[str, Any]:
        """``root`` without the leaf; ``root`` itself if the leaf is absent."""
        return root if self.get(root) is MISSING else _without(root, self.keys)


def _walk(node: Any, keys: tuple[str, ...], at: tuple[str | int, ...]) -> Iterator[tuple[tuple[str | int, ...], Any]]:
    if node is None:
        return
    if not keys:
        yield at, node
        return
    key, rest = keys[0], keys[1:]
    if key == "*":
        children = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
        for name, child in children:
            yield from _walk(child, rest, (*at, name))
    elif isinstance(node, dict) and key in node:
        yield from _walk(node[key], rest, (*at, key))


def _without(node: dict[str, Any], keys: tuple[str, ...]) -> dict[str, Any]:
    copy, key = node.copy(), keys[0]
    if len(keys) > 1:
        copy[key] = _without(copy[key], keys[1:])
    else:
        del copy[key]
    return copy
