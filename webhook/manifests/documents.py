"""Manifests: YAML and JSON as Kubernetes tools read it, with the line of every value.

kubectl reads YAML 1.1 through ``sigs.k8s.io/yaml``: ``yes`` and ``on`` are booleans, keys become strings, a date stays
text, ``1e3`` is a number. Duplicate keys are refused, as kubectl does under strict validation. A ``List`` is replaced
by its items.
"""

from __future__ import annotations

import json
import math
import re
from codecs import BOM_UTF16_BE, BOM_UTF16_LE, BOM_UTF32_BE, BOM_UTF32_LE
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, NoReturn

import orjson
import yaml

from webhook.admission.errors import DocumentError, Problem
from webhook.golang import yaml as goyaml
from webhook.golang.json import has_unsettled, settle
from webhook.manifests import jsontext
from webhook.manifests.document import Document, Scan
from webhook.manifests.links import content
from webhook.manifests.places import child

__all__ = ["Document", "Scan", "decode", "parse", "read", "scan_file", "scan_text"]

NODES: Final = 2_000_000
"""Limit for the values of a document with its aliases expanded: four times what fits into the API server's 3 MiB, so
that only an alias bomb is refused."""


_MAX_PROBLEMS: Final = 20
"""Stop reading a file after this many unreadable documents: each takes a pass over the rest of the text."""

_TEMPLATE: Final = re.compile(r"\{\{-?\s*(?:[.$/\"]|(?:if|range|with|include|define|template|end|else|toYaml)\b)")
_ENCODINGS: Final = {
    BOM_UTF32_LE: "UTF-32",
    BOM_UTF32_BE: "UTF-32",
    BOM_UTF16_LE: "UTF-16",
    BOM_UTF16_BE: "UTF-16",
}


def read(path: Path) -> list[Document]:
    """The documents of a file.

    Raises:
        DocumentError: the file cannot be read, or is not YAML or JSON of objects.
    """
    found = scan_file(path)
    if found.faults:
        raise DocumentError(found.faults)
    return found.documents


def scan_file(path: Path, *, pipe: bool = False) -> Scan:
    """The documents of a file that can be read, and the problems of the others; see :func:`content`."""
    try:
        return decode(content(path, pipe=pipe), str(path))
    except OSError as error:
        return Scan([], [Problem(str(path), "", f"cannot be read: {error.strerror}")], [])


def decode(content: bytes, source: str) -> Scan:
    """As :func:`scan_text`, for bytes."""
    try:
        return scan_text(content.decode("utf-8-sig"), source)
    except UnicodeDecodeError:
        seen = next((name for mark, name in _ENCODINGS.items() if content.startswith(mark)), "")
        but = f" but {seen}: save it as UTF-8" if seen else ""
        return Scan([], [Problem(source, "", f"cannot be read: not UTF-8 text{but}")], [])


def parse(text: str, source: str, *, trusted: bool = False) -> list[Document]:
    """The documents of a text; ``source`` names it in errors. Empty documents are skipped, Lists are expanded.

    ``trusted`` JSON is not checked for duplicate keys, which takes longer than parsing.

    Raises:
        DocumentError: with every problem.
    """
    found = scan_text(text, source, trusted=trusted)
    if found.faults:
        raise DocumentError(found.faults)
    return found.documents


def scan_text(text: str, source: str, *, trusted: bool = False) -> Scan:
    """As :func:`parse`, but a document that cannot be read leaves the others: it is one of the problems."""
    scan = Scan([], [], [])
    if text.lstrip()[:1] in ("{", "[") and _scan_json(text, source, scan, trusted=trusted):
        return scan
    rest: str | None = text
    while rest is not None and len(scan.problems) + len(scan.others) < _MAX_PROBLEMS:
        rest = _scan_yaml(rest, source, scan, "" if trusted else text)
    if scan.problems and (template := _TEMPLATE.search(text)):
        where = f"{source}:{text.count(chr(10), 0, template.start()) + 1}"
        advice = "looks like a Helm template: pipe `helm template` into `modelgate check -`"
        scan.problems[:] = [Problem(where, "", advice)]
    return scan


def _scan_json(text: str, source: str, scan: Scan, *, trusted: bool) -> bool:
    """Read a text as JSON, or as a stream of it; return False if it is neither, so that it may be YAML."""
    pieces = [(0, len(text))]
    if not _scan_value(text, 0, text, source, scan, trusted=trusted):
        pieces = jsontext.stream(text)
        for start, end in pieces:
            if len(scan.problems) + len(scan.others) >= _MAX_PROBLEMS:
                break
            piece = text[start:end]
            if not _scan_value(piece, start, text, source, scan, trusted=trusted):  # YAML names the line of the error
                _scan_yaml("\n" * text.count("\n", 0, start) + piece, source, scan, text)
    return bool(pieces)


def _scan_value(piece: str, start: int, text: str, source: str, scan: Scan, *, trusted: bool) -> bool:
    """Read a text of one JSON value; return False if it is not JSON, or repeats a key, whose line YAML knows."""
    try:
        if not trusted and _repeats_a_key(piece):
            return False
        value = _json(piece)
    except DocumentError as error:
        scan.problems.extend(replace(problem, source=problem.source or source) for problem in error.problems)
        return True
    except ValueError:
        return False
    if trusted:
        origin = Document(source, 1, {})
    else:
        start += len(piece) - len(piece.lstrip())
        origin = Document(source, text.count("\n", 0, start) + 1, {}, None, text, start)
    _add(value, origin, scan)
    return True


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


def _scan_yaml(text: str, source: str, scan: Scan, whole: str) -> str | None:
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
                    _add(value, Document(source, node.start_mark.line + 1, {}, node, whole), scan)
            except yaml.constructor.ConstructorError as error:
                scan.problems.append(_problem(error, source))
            except DocumentError as error:
                scan.problems.extend(error.problems)
    except yaml.MarkedYAMLError as error:
        scan.problems.append(_problem(error, source))
        return _rest(text, error.problem_mark.line if error.problem_mark else 0)
    except yaml.YAMLError as error:
        scan.problems.append(Problem(source, "", " ".join(str(error).split())))
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


def _add(value: Any, origin: Document, scan: Scan) -> None:
    """Add the objects of a document: itself, or the items of a List."""
    if not isinstance(value, dict):
        where = f"{origin.source}:{origin.line}"
        scan.others.append(Problem(where, "", f"expected an object, got {type(value).__name__}"))
        return
    items = value.get("items")
    if not (str(value.get("kind", "")).endswith("List") and isinstance(items, list)):
        scan.documents.append(replace(origin, value=value))
        return
    nodes = child(origin.tree, "items")
    for index, item in enumerate(items):
        node = child(nodes, index)
        line = origin.line if node is None else node.start_mark.line + 1
        _add(item, replace(origin, line=line, node=node), scan)


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
