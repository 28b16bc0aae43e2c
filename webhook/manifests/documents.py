"""Manifests: YAML and JSON as kubectl reads them, with the line of every value.

kubectl splits a file at its lines ``---`` before it reads any YAML, and reads each piece by itself, as YAML 1.1 through
``sigs.k8s.io/yaml``: ``yes`` and ``on`` are booleans, keys become strings, a date stays text, ``1e3`` is a number. What
begins with ``{`` is read as JSON first. A list is replaced by its items. Stricter than kubectl: a key that is written
twice in one mapping is a fault, as kustomize and strict field validation do, and so is text that is not UTF-8, and what
kubectl leaves out without a word.
"""

from __future__ import annotations

import json
import re
from codecs import BOM_UTF16_BE, BOM_UTF16_LE, BOM_UTF32_BE, BOM_UTF32_LE
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, Final, NamedTuple

from webhook.admission.errors import DocumentError, Problem
from webhook.golang.json import ValueFault
from webhook.golang.json import decode as decode_json
from webhook.golang.strconv import SPACE
from webhook.ground.fieldpath import field_keys
from webhook.manifests.composer import NESTING, Composed, YamlError, compose
from webhook.manifests.files import content
from webhook.manifests.places import BREAK, Piece, Place, Remark, Spot, Text, find

_MAX_PROBLEMS: Final = 20
"""Stop reading a file after this many unreadable documents: one cause may make all of them unreadable."""

_PEEKED: Final = 4096
"""kubectl looks for a brace in so many bytes."""
_BRACE: Final = re.compile(rf"[{SPACE}]*\{{")
_JSON_SPACE: Final = re.compile(r"[ \t\r\n]*")
_LINE_REST: Final = re.compile(rf"[{SPACE.replace(chr(10), '')}]*\n?")
_NEXT_OBJECT: Final = re.compile(r"\n(?=\{)")
_TEMPLATE: Final = re.compile(r"\{\{-?\s*(?:[.$/\"]|(?:if|range|with|include|define|template|end|else|toYaml)\b)")
_NEAR: Final = 2
"""The lines around a fault that may be its cause."""
_ADVICE: Final = "looks like a Helm template: pipe `helm template` into `modelgate check -`"
_ENCODINGS: Final = {
    BOM_UTF32_LE: "UTF-32",
    BOM_UTF32_BE: "UTF-32",
    BOM_UTF16_LE: "UTF-16",
    BOM_UTF16_BE: "UTF-16",
}


@dataclass(frozen=True, slots=True)
class Document:
    """One object of a file. ``line`` counts from 1; ``remarks`` are what the reader has to say about it, and
    ``repeats`` the keys that are written twice in one mapping: the value has the last one, as for kubectl.

    ``piece`` is the part of the file that it is in, and ``at`` its path there, if it is an item of a list. ``built`` is
    the folder of the kustomization that it is built of.
    """

    source: str
    line: int
    value: dict[str, Any]
    piece: Piece | None = field(default=None, repr=False, compare=False)
    at: tuple[str | int, ...] = ()
    remarks: tuple[Remark, ...] = field(default=(), compare=False)
    repeats: tuple[Remark, ...] = field(default=(), compare=False)
    built: Path | None = field(default=None, compare=False)

    @property
    def where(self) -> str:
        """Its file and line, as messages name it."""
        return f"{self.source}:{self.line}"

    @property
    def applied(self) -> Path:
        """What is applied to a cluster: the folder that it is built of, or its file."""
        return self.built or Path(self.source)

    @property
    def text(self) -> str:
        """The whole file; "" if it is not kept."""
        return self.piece.text if self.piece else ""

    @property
    def is_yaml(self) -> bool:
        """Whether there is a text, and it is not JSON: many objects may be on one line of that."""
        return self.piece is not None and not self.text.startswith("{", self.piece.start)

    @property
    def tree(self) -> Spot | None:
        """The spots of the object, if there is a text."""
        return find(_spots(self.piece), self.at)[1] if self.piece else None

    def place(self, path: str) -> Place:
        """The place of the key of a field, or of its nearest parent in the text."""
        named, _, _ = find(self.tree, field_keys(path))
        return Place(self.line, 1, 2) if named is None else Place.of(named)

    def written(self, path: str) -> Spot | None:
        """The value that the text has at a field."""
        _, value, complete = find(self.tree, field_keys(path))
        return value if complete else None

    def text_of(self, line: int) -> str:
        """A line of the file; "" if there is no text."""
        lines = _lines(self.text)
        return lines[line - 1] if 0 < line <= len(lines) else ""

    def line_of(self, *path: str | int) -> int:
        """The line of the key at the path, or of its nearest parent in the text."""
        named, _, _ = find(self.tree, path)
        return self.line if named is None else named.line + 1

    def line_at(self, field: str) -> int:
        """As :meth:`line_of`, for a path in an error: ``spec.files[0]``, ``metadata.labels[a.b/c]``."""
        return self.line_of(*field_keys(field))


@lru_cache(maxsize=4)
def _lines(text: str) -> list[str]:
    return BREAK.split(text)


@lru_cache(maxsize=4)
def _spots(piece: Piece) -> Spot | None:
    """The spots of a piece: they are read when they are needed, since most documents have no fault."""
    try:
        composed = compose(piece.yaml, piece.line, places=True)
    except YamlError:  # JSON that YAML refuses, such as a key of more than 1,024 characters
        return None
    return composed.spot if composed else None


def _item_lines(piece: Piece | None, count: int) -> list[int]:
    """The lines of the items of a list in JSON."""
    try:
        composed = compose(piece.yaml, piece.line) if piece and count else None
    except YamlError:
        composed = None
    return composed.items if composed else [piece.line if piece else 0] * count


class Scan(NamedTuple):
    """What a text holds: objects, what cannot be read, and ``others``: YAML or JSON that is not an object.

    ``repeating`` are the objects with a key that is written twice: most readers refuse them.
    """

    documents: list[Document]
    problems: list[Problem]
    others: list[Problem]
    repeating: list[Document]

    @property
    def faults(self) -> list[Problem]:
        """Why the text is not a text of objects."""
        return [*self.problems, *(fault for each in self.repeating for fault in repeats_of(each)), *self.others]


def repeats_of(document: Document) -> list[Problem]:
    """The keys that are written twice, as problems."""
    return [Problem(f"{document.source}:{each.place.line}", "", each.message) for each in document.repeats]


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
        return _unreadable(str(path), str(error.strerror))


def decode(content: bytes, source: str) -> Scan:
    """As :func:`scan_text`, for bytes."""
    try:
        return scan_text(content.decode("utf-8-sig"), source)
    except UnicodeDecodeError as error:
        seen = next((name for mark, name in _ENCODINGS.items() if content.startswith(mark)), "")
        if seen:
            return _unreadable(source, f"not UTF-8 text but {seen}: save it as UTF-8")
        line = content.count(b"\n", 0, error.start) + 1
        said = "not UTF-8 text: kubectl replaces such bytes without a word: save it as UTF-8"
        return _unreadable(f"{source}:{line}", said)


def _unreadable(where: str, why: str) -> Scan:
    return Scan([], [Problem(where, "", f"cannot be read: {why}")], [], [])


def parse(text: str, source: str) -> list[Document]:
    """The documents of a text; ``source`` names it in errors. Empty documents are skipped, lists are expanded.

    Raises:
        DocumentError: with every problem.
    """
    found = scan_text(text, source)
    if found.faults:
        raise DocumentError(found.faults)
    return found.documents


def scan_text(text: str, source: str) -> Scan:
    """As :func:`parse`, but a document that cannot be read leaves the others: it is one of the problems."""
    reader = _Reader(text, source)
    reader.read()
    return reader.scan


class _Reader:
    """Reads one text."""

    def __init__(self, text: str, source: str) -> None:
        self._text = text
        self._cut = Text(text)
        self._source = source
        self._template: Problem | None = None
        self.scan = Scan([], [], [], [])

    def read(self) -> None:
        """Read everything: a text that begins with a brace as JSON, until it is none."""
        is_json = _BRACE.match(self._text[:_PEEKED]) is not None
        rest: int | None = 0
        while rest is not None:
            begin = self._read_json(rest) if is_json else rest
            rest = None if begin is None else self._read_pieces(begin, is_json=is_json)
        if self._template:
            self.scan.problems.append(self._template)

    def _is_given_up(self) -> bool:
        return len(self.scan.problems) + len(self.scan.others) >= _MAX_PROBLEMS

    def _fault(self, line: int, message: str) -> None:
        self.scan.problems.append(Problem(f"{self._source}:{line + 1}", "", message))

    def _read_json(self, position: int) -> int | None:
        """Read a stream of JSON; return where kubectl goes on with YAML, or None at the end of the text."""
        count = 0
        while not self._is_given_up():
            start = _JSON_SPACE.match(self._text, position).end()  # type: ignore[union-attr]  # it matches anything
            if start == len(self._text):
                return None
            try:
                value, end = decode_json(self._text, start, NESTING)
            except (json.JSONDecodeError, RecursionError) as error:
                if count < 2:  # so far it may be YAML
                    return _LINE_REST.match(self._text, position).end()  # type: ignore[union-attr]
                self._fault(self._cut.line_at(start), f"not JSON behind {count} values that are JSON: {error}")
                following = _NEXT_OBJECT.search(self._text, start)
                if following is None:
                    return None
                position = following.end()
                continue
            except ValueFault as error:
                end = error.end
                self._bad_json(self._cut.piece(start, end), error)
            else:
                self._add_json(value, start, end)
            count, position = count + 1, end
        return None

    def _bad_json(self, piece: Piece, error: ValueFault) -> None:
        """Name the line of what makes JSON unreadable, unless that is a key that is there twice."""
        try:
            composed = compose(piece.yaml, piece.line)
        except YamlError as found:
            self._fault(found.line, str(found))
            return
        if composed is None or not composed.repeats:
            self._fault(piece.line, str(error))
        else:
            self._add_yaml(composed, piece)

    def _add_json(self, value: Any, start: int, end: int) -> None:
        line = self._cut.line_at(start)
        if value is not None:
            self._add(value, Document(self._source, line + 1, {}, self._cut.piece(start, end)))

    def _read_pieces(self, start: int, *, is_json: bool) -> int | None:
        """Read the pieces of YAML; return where JSON goes on behind a broken value, or None at the end."""
        for piece in self._cut.pieces(start):
            if not self._read_yaml(piece) and is_json:
                following = _NEXT_OBJECT.search(self._text, piece.start, piece.end)
                if following and not self._is_given_up():
                    return following.end()
            if self._is_given_up():
                return None
        return None

    def _read_yaml(self, piece: Piece) -> bool:
        """Read a piece; return whether it is YAML."""
        if piece.fault:
            self._fault(piece.line, piece.fault)
            return False
        body = piece.body
        try:
            composed = compose(body, piece.line)
        except YamlError as error:
            self._broken(error, body.split("\n"), piece.line)
            return False
        if composed is not None and composed.value is not None:
            self._add_yaml(composed, piece)
        return True

    def _add_yaml(self, composed: Composed, piece: Piece) -> None:
        found = tuple(composed.remarks), tuple(composed.repeats)
        self._add(composed.value, Document(self._source, composed.line + 1, {}, piece, (), *found), composed.items)

    def _broken(self, error: YamlError, lines: list[str], begin: int) -> None:
        """Add a fault. A file for Helm has one for each of its expressions: one piece of advice is enough."""
        first = max(error.line - begin - _NEAR, 0)
        near = lines[first : error.line - begin + _NEAR]
        for number, line in enumerate(near, begin + first):
            if error.may_be_a_template and (found := _TEMPLATE.search(line)) and not _is_quoted(line[: found.start()]):
                self._template = self._template or Problem(f"{self._source}:{number + 1}", "", _ADVICE)
                return
        quotes = ": a variable in { } or [ ] needs quotes" if "flow" in str(error) and "${" in "".join(near) else ""
        self._fault(error.line, f"{error}{quotes}")

    def _add(self, value: Any, document: Document, lines: list[int] | None = None) -> None:
        """Add an object, or the items of a list."""
        if not isinstance(value, dict):
            said = f"expected an object, got {type(value).__name__}"
            self.scan.others.append(Problem(f"{self._source}:{document.line}", "", said))
        elif _is_list(value):
            self._add_items(value, document, lines)
        else:
            found = self.scan.repeating if document.repeats else self.scan.documents
            found.append(replace(document, value=value))

    def _add_items(self, value: dict[str, Any], document: Document, lines: list[int] | None) -> None:
        """Add the items of a list. Those of a typed list may leave out their kind: it is that of the list."""
        items, where = value["items"], f"{self._source}:{document.line}"
        if not isinstance(items, list | None):
            said = "kubectl reads every object with items as a list: expected a list"
            self.scan.problems.append(Problem(where, "items", said))
            return
        above = tuple(each for each in document.repeats if each.path[:1] != ("items",) or len(each.path) < 2)
        self.scan.problems.extend(repeats_of(replace(document, repeats=above)))
        kind = value["kind"].removesuffix("List")
        if lines is None:
            lines = _item_lines(document.piece, len(items or ()))
        for index, item in enumerate(items or ()):
            at = ("items", index)
            remarks, repeats = _below(document.remarks, at), _below(document.repeats, at)
            own = replace(document, line=lines[index] + 1, at=at, remarks=remarks, repeats=repeats)
            if isinstance(item, dict) and isinstance(item.get("items"), list):
                problem = Problem(f"{self._source}:{own.line}", "", "kubectl refuses a list in a list")
                self.scan.problems.append(problem)
            elif isinstance(item, dict) and kind and not (item.get("kind") or item.get("apiVersion")):
                given = {"apiVersion": value["apiVersion"]} if "apiVersion" in value else {}
                self._add({**item, **given, "kind": kind}, own)
            else:
                self._add(item, own)


def _is_list(value: dict[str, Any]) -> bool:
    """Whether kubectl takes an object for a list. Files of other programs may have items, but no kind and version."""
    kind = value.get("kind")
    return (
        "items" in value and isinstance(kind, str) and bool(kind) and ("apiVersion" in value or kind.endswith("List"))
    )


def _below(remarks: tuple[Remark, ...], at: tuple[str | int, ...]) -> tuple[Remark, ...]:
    """The remarks on what is at a path or below it, with the rest of their paths."""
    return tuple(each._replace(path=each.path[len(at) :]) for each in remarks if each.path[: len(at)] == at)


def _is_quoted(before: str) -> bool:
    """Whether what follows a part of a line is in quotes or in a comment."""
    return before.count('"') % 2 == 1 or before.count("'") % 2 == 1 or before.lstrip().startswith("#")
