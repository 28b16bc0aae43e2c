"""Manifests: YAML and JSON as Kubernetes tools read it, with the line of every value.

kubectl reads YAML 1.1 through ``sigs.k8s.io/yaml``: ``yes`` and ``on`` are booleans, keys become strings, a date stays
text, ``1e3`` is a number. Duplicate keys are refused, as kubectl does under strict validation. A ``List`` is replaced
by its items.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import orjson
import yaml

from webhook.admission.errors import DocumentError, Problem
from webhook.golang import yaml as goyaml
from webhook.golang.json import has_unsettled, settle

__all__ = ["Document", "decode", "parse", "read"]

NODES: Final = 2_000_000
"""Limit for the values of a document with its aliases expanded: four times what fits into the API server's 3 MiB, so
that only an alias bomb is refused."""


_KEY: Final = re.compile(r"\[([^\]]*)\]|([^.\[\]]+)")


@dataclass(frozen=True, slots=True)
class Document:
    """One document of a file. ``line`` counts from 1; ``node`` is the YAML tree, None for JSON."""

    source: str
    line: int
    value: dict[str, Any]
    node: yaml.Node | None = None

    def line_of(self, *path: str | int) -> int:
        """The line of the value at the path, or of its nearest parent in the text."""
        line, node = self.line, self.node
        for key in path:
            node = _child(node, key)
            if node is None:
                break
            line = node.start_mark.line + 1
        return line

    def line_at(self, field: str) -> int:
        """As :meth:`line_of`, for a path in an error: ``spec.files[0]``, ``metadata.labels[a.b/c]``."""
        found = (bracketed or name for bracketed, name in _KEY.findall(field))
        return self.line_of(*(int(key) if key.isdecimal() else key for key in found))


def _child(node: yaml.Node | None, key: str | int) -> yaml.Node | None:
    if isinstance(node, yaml.MappingNode):
        return next((value for name, value in node.value if name.value == str(key)), None)
    if isinstance(node, yaml.SequenceNode) and isinstance(key, int) and key < len(node.value):
        item: yaml.Node = node.value[key]
        return item
    return None


def read(path: Path) -> list[Document]:
    """The documents of a file.

    Raises:
        DocumentError: the file cannot be read, or is not YAML or JSON of objects.
    """
    try:
        return decode(path.read_bytes(), str(path))
    except OSError as error:
        raise DocumentError([Problem(str(path), "", f"cannot be read: {error.strerror}")]) from None


def decode(content: bytes, source: str) -> list[Document]:
    """As :func:`parse`, for bytes."""
    try:
        return parse(content.decode(), source)
    except UnicodeDecodeError:
        raise DocumentError([Problem(source, "", "cannot be read: not UTF-8 text")]) from None


def parse(text: str, source: str, *, trusted: bool = False) -> list[Document]:
    """The documents of a text; ``source`` names it in errors. Empty documents are skipped, Lists are expanded.

    ``trusted`` JSON is not checked for duplicate keys, which takes longer than parsing.
    """
    if text.lstrip()[:1] in ("{", "[") and (trusted or not _repeats_a_key(text)):
        try:
            value = orjson.loads(text)
            return list(_objects(settle(value) if has_unsettled(text.encode()) else value, None, 1, source))
        except orjson.JSONDecodeError:
            pass  # a YAML flow mapping, several documents, or an error for which the YAML reader names the line
    documents: list[Document] = []
    loader = goyaml.Loader(text)
    try:
        while loader.check_node():
            node = loader.get_node()
            assert node is not None  # check_node was true
            _check_size(node, source)
            value = settle(loader.construct_document(node))
            if value is not None:
                documents.extend(_objects(value, node, node.start_mark.line + 1, source))
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        where = f"{source}:{mark.line + 1}" if mark else source
        message = ": ".join(part for part in (error.context, error.problem) if part)
        raise DocumentError([Problem(where, "", message)]) from None
    except yaml.YAMLError as error:
        raise DocumentError([Problem(source, "", " ".join(str(error).split()))]) from None
    finally:
        loader.dispose()
    return documents


def _repeats_a_key(text: str) -> bool:
    """Whether this is JSON with a duplicate key: the YAML reader then reports its line."""
    repeated = False

    def look(pairs: list[tuple[str, Any]]) -> None:
        nonlocal repeated
        repeated = repeated or len({key for key, _ in pairs}) < len(pairs)

    try:
        json.loads(text, object_pairs_hook=look)
    except (ValueError, RecursionError):  # not JSON, or nested too deep
        return False
    return repeated


def _objects(value: Any, node: yaml.Node | None, line: int, source: str) -> Iterator[Document]:
    if not isinstance(value, dict):
        raise DocumentError([Problem(f"{source}:{line}", "", f"expected an object, got {type(value).__name__}")])
    items = value.get("items")
    if str(value.get("kind", "")).endswith("List") and isinstance(items, list):
        for index, item in enumerate(items):
            child = _child(_child(node, "items"), index)
            yield from _objects(item, child, child.start_mark.line + 1 if child else line, source)
        return
    yield Document(source, line, value, node)


def _check_size(root: yaml.Node, source: str) -> None:
    """Refuse a document that aliases make endless or larger than the API server's limit."""
    sizes: dict[int, int] = {}
    stack: list[tuple[yaml.Node, bool]] = [(root, False)]
    while stack:
        node, visited = stack.pop()
        children = _children(node)
        if visited:
            sizes[id(node)] = min(1 + sum(sizes[id(child)] for child in children), NODES + 1)
        elif id(node) not in sizes:
            sizes[id(node)] = 0  # in progress: found again below itself, it is endless
            stack.append((node, True))
            for child in children:
                if sizes.get(id(child)) == 0:
                    line = child.start_mark.line + 1
                    raise DocumentError([Problem(f"{source}:{line}", "", "an alias contains itself")])
                stack.append((child, False))
    if sizes[id(root)] > NODES:
        raise DocumentError([Problem(source, "", f"more than {NODES} values after expanding its aliases")])


def _children(node: yaml.Node) -> list[yaml.Node]:
    if isinstance(node, yaml.MappingNode):
        return [part for pair in node.value for part in pair]
    return list(node.value) if isinstance(node, yaml.SequenceNode) else []
