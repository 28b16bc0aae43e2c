"""Manifests: YAML and JSON as Kubernetes tools read it, with the line of every value.

kubectl reads YAML 1.1 through ``sigs.k8s.io/yaml``: ``yes`` and ``on`` are booleans, keys become strings, a date stays
text, ``1e3`` is a number. Duplicate keys are refused, as kubectl does under strict validation. A ``List`` is replaced
by its items.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, NoReturn

import orjson
import yaml

from webhook.admission.errors import DocumentError, Problem
from webhook.golang import yaml as goyaml
from webhook.golang.json import has_unsettled, settle

__all__ = ["Document", "decode", "parse", "read", "scan_file"]

NODES: Final = 2_000_000
"""Limit for the values of a document with its aliases expanded: four times what fits into the API server's 3 MiB, so
that only an alias bomb is refused."""


_MAX_PROBLEMS: Final = 20
"""Stop reading a file after this many unreadable documents: each takes a pass over the rest of the text."""

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


Scan = tuple[list[Document], list[Problem]]


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
    found, problems = scan_file(path)
    if problems:
        raise DocumentError(problems)
    return found


def scan_file(path: Path) -> Scan:
    """The documents of a file that can be read, and the problems of the others."""
    try:
        return decode(path.read_bytes(), str(path))
    except OSError as error:
        return [], [Problem(str(path), "", f"cannot be read: {error.strerror}")]


def decode(content: bytes, source: str) -> Scan:
    """As :func:`scan_text`, for bytes."""
    try:
        return scan_text(content.decode(), source)
    except UnicodeDecodeError:
        return [], [Problem(source, "", "cannot be read: not UTF-8 text")]


def parse(text: str, source: str, *, trusted: bool = False) -> list[Document]:
    """The documents of a text; ``source`` names it in errors. Empty documents are skipped, Lists are expanded.

    ``trusted`` JSON is not checked for duplicate keys, which takes longer than parsing.

    Raises:
        DocumentError: with every problem.
    """
    found, problems = scan_text(text, source, trusted=trusted)
    if problems:
        raise DocumentError(problems)
    return found


def scan_text(text: str, source: str, *, trusted: bool = False) -> Scan:
    """As :func:`parse`, but a document that cannot be read leaves the others: it is one of the problems."""
    if text.lstrip()[:1] in ("{", "["):
        try:
            if trusted or not _repeats_a_key(text):
                return list(_objects(_json(text), None, 1, source)), []
        except DocumentError as error:
            return [], [replace(problem, source=problem.source or source) for problem in error.problems]
        except ValueError:
            pass  # a YAML flow mapping, several documents, or an error for which the YAML reader names the line
    found: list[Document] = []
    problems: list[Problem] = []
    rest: str | None = text
    while rest is not None:
        rest = _scan_yaml(rest, source, found, problems)
        if len(problems) >= _MAX_PROBLEMS:
            break
    return found, problems


def _json(text: str) -> Any:
    """A JSON text. Half of a surrogate pair is read as U+FFFD, as Go does; orjson refuses it.

    Raises:
        ValueError: it is not JSON, or has a number beyond float64.
    """
    try:
        value = orjson.loads(text)
    except orjson.JSONDecodeError as error:
        if "depth" in str(error):
            raise
        try:
            return settle(json.loads(text, parse_constant=_not_json, parse_float=_finite))
        except RecursionError:
            raise ValueError("nested too deeply") from None
    return settle(value) if has_unsettled(text.encode()) else value


def _not_json(text: str) -> NoReturn:
    raise ValueError(f"{text} is not JSON")


def _finite(text: str) -> float:
    if math.isinf(number := float(text)):
        raise DocumentError([Problem("", "", f"{text} is not a JSON number: it is out of range")])
    return number


def _scan_yaml(text: str, source: str, found: list[Document], problems: list[Problem]) -> str | None:
    """Add the documents of a YAML text and its problems; return the text to go on with after a syntax error.

    A document that cannot be constructed is skipped. After a syntax error libyaml cannot go on: the rest of the text
    begins with the next line of ``---``, and keeps its line numbers.
    """
    loader = goyaml.Loader(text)
    try:
        while loader.check_node():
            node = loader.get_node()
            assert node is not None  # check_node was true
            try:
                _check_size(node, source)
                value = settle(loader.construct_document(node))
                if value is not None:
                    found.extend(_objects(value, node, node.start_mark.line + 1, source))
            except yaml.constructor.ConstructorError as error:
                problems.append(_problem(error, source))
            except DocumentError as error:
                problems += error.problems
    except yaml.MarkedYAMLError as error:
        problems.append(_problem(error, source))
        return _rest(text, error.problem_mark.line if error.problem_mark else 0)
    except yaml.YAMLError as error:
        problems.append(Problem(source, "", " ".join(str(error).split())))
    finally:
        loader.dispose()
    return None


def _problem(error: yaml.MarkedYAMLError, source: str) -> Problem:
    mark = error.problem_mark
    where = f"{source}:{mark.line + 1}" if mark else source
    return Problem(where, "", ": ".join(part for part in (error.context, error.problem) if part))


def _rest(text: str, line: int) -> str | None:
    """The documents after a line that stops the parser, with an empty line for each line before them."""
    lines = text.split("\n")
    following = (number for number in range(line, len(lines)) if number and lines[number].startswith("---"))
    start = next(following, None)
    return None if start is None else "\n" * start + "\n".join(lines[start:])


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
