"""Terraform: ``helm_release``, as far as its version and values are literals; a variable is a variable.

Blocks of HCL, its language, are read as far as they are written in literals: a string, a number, a list, an object, a
text between marks (``<<EOT``), ``yamlencode`` and ``file``. Everything else is an expression: only Terraform knows its
value, so it is the text ``${…}``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, NamedTuple, cast

from webhook.admission.errors import Problem
from webhook.library.pins.collector import Collector, PlacedRelease
from webhook.library.pins.objects import Values, set_values
from webhook.manifests.documents import Document

_TOKEN: Final = re.compile(
    r"(?P<space>[ \t\r]++|(?:\#|//)[^\n]*+)|(?P<line>\n)"
    r'|"(?P<string>(?>[^"\\\n$]++|\\.|\$\{[^}\n]{0,200}\}|\$)*+)"'
    r"|<<-?(?P<heredoc>\w{1,60})[ \t\r]*\n|(?P<comment>/\*)"
    r"|(?P<word>[A-Za-z_][\w-]*+|-?\d[\w.]*+)|(?P<mark>.)",
    re.DOTALL,
)
_ESCAPES: Final = {"n": "\n", "t": "\t", "r": "\r", '"': '"', "\\": "\\"}
_NUMBER: Final = re.compile(r"-?[0-9]{1,18}(\.[0-9]{1,18})?")
_DEPTH: Final = 50
_WORDS: Final = {"true": True, "false": False, "null": None}
_OPEN, _CLOSE = "{[(", "}])"
_NONE: Final = object()
"""Anything but a literal."""
_MODULE: Final = "${path.module}/"
_SETS: Final = ("set", "set_list", "set_sensitive")


class HclError(Exception):
    """A text that is not HCL, or is nested too deeply."""


class File(NamedTuple):
    """The content of a file, by its path."""

    path: str


@dataclass(slots=True)
class Block:
    """A block: its type and labels, the line where it begins (from 1), and what is in it.

    ``lines`` are those of the attributes.
    """

    names: tuple[str, ...]
    line: int
    attributes: dict[str, Any] = field(default_factory=dict)
    lines: dict[str, int] = field(default_factory=dict)
    blocks: list[Block] = field(default_factory=list)


class _Token(NamedTuple):
    kind: str
    text: str
    line: int


def blocks(text: str) -> list[Block]:
    """The outermost blocks of a text.

    Raises:
        HclError: it cannot be read.
    """
    return _Parser(list(_tokens(text))).body(Block((), 1)).blocks


def _tokens(text: str) -> Iterator[_Token]:
    """The tokens, with the ends of lines."""
    at, line = 0, 1
    while at < len(text):
        match = cast("re.Match[str]", _TOKEN.match(text, at))  # its last part matches anything
        kind, end = str(match.lastgroup), match.end()
        value = match[kind]
        if kind == "comment":
            close = text.find("*/", end)
            kind, end = "space", close + 2 if close >= 0 else -1
        elif kind == "heredoc":
            mark = re.compile(rf"^[ \t]*{value}[ \t\r]*$", re.MULTILINE).search(text, end)
            value, end = (text[end : mark.start()], mark.end()) if mark else ("", -1)
        if end < 0:
            raise HclError(f"line {line}: what begins here does not end")
        if kind != "space":
            yield _Token(kind, value, line)
        line += text.count("\n", at, end)
        at = end


class _Parser:
    def __init__(self, tokens: list[_Token]) -> None:
        self._tokens = tokens
        self._at = 0
        self._depth = 0

    def body(self, block: Block) -> Block:
        """Read attributes and blocks until the brace that closes this one, or the end."""
        while (token := self._next()) and token.text != "}":
            if token.kind == "line":
                continue
            if self._peek() == "=":
                self._next()
                block.lines[token.text] = token.line
                block.attributes[token.text] = self._value()
            else:
                self._block(token, block)
        return block

    def _block(self, first: _Token, outer: Block) -> None:
        """A block, from its type to its closing brace; anything else of a line is left out."""
        names = [first.text]
        while (token := self._next()) and token.kind in {"word", "string"}:
            names.append(token.text)
        if token and token.text == "{" and token.kind == "mark":
            self._enter(first.line)
            outer.blocks.append(self.body(Block(tuple(names), first.line)))
            self._depth -= 1

    def _enter(self, line: int) -> None:
        self._depth += 1
        if self._depth > _DEPTH:
            raise HclError(f"line {line}: nested more than {_DEPTH} levels deep")

    def _next(self) -> _Token | None:
        self._at += 1
        return self._tokens[self._at - 1] if self._at <= len(self._tokens) else None

    def _peek(self) -> str:
        token = self._tokens[self._at] if self._at < len(self._tokens) else None
        return token.text if token and token.kind in {"mark", "line", "word"} else ""

    def _value(self) -> Any:
        """A literal; an expression, which ends with the line or before a comma or a closing bracket, as a text."""
        start = self._at
        value = self._literal()
        if self._peek() in {"", "\n", ",", *_CLOSE} and self._at > start and value is not _NONE:
            return value
        self._rest()
        text = "".join(token.text for token in self._tokens[start : self._at])
        return f"${{{text[:60]}}}"

    def _rest(self) -> None:
        """Go to the end of an expression."""
        depth = 0
        while self._at < len(self._tokens):
            text = self._peek()
            depth += (text in _OPEN) - (text in _CLOSE) if text else 0
            if depth < 0 or (depth == 0 and text in {"\n", ","}):
                return
            self._at += 1

    def _literal(self) -> Any:
        token = self._next()
        if token is None:
            return _NONE
        if token.kind == "string":
            return re.sub(r"\\(.)", lambda match: _ESCAPES.get(match[1], match[0]), token.text)
        if token.kind == "heredoc":
            return token.text
        if token.kind == "mark" and token.text in {"[", "{"}:
            self._enter(token.line)
            value = self._list() if token.text == "[" else self._object()
            self._depth -= 1
            return value
        if token.kind == "word":
            return self._call(token.text) if self._peek() == "(" else _WORDS.get(token.text, _number(token.text))
        return _NONE

    def _call(self, name: str) -> Any:
        """A call of a function with one literal that can be read without Terraform."""
        if name not in {"yamlencode", "file", "tostring"}:
            return _NONE
        token = self._next()
        self._enter(token.line if token else 0)
        argument = self._value()
        self._depth -= 1
        if self._peek() != ")":
            return _NONE
        self._next()
        return File(str(argument)) if name == "file" else argument

    def _list(self) -> list[Any]:
        items = list[Any]()
        while self._more("]"):
            items.append(self._value())
        return items

    def _object(self) -> dict[str, Any]:
        entries = dict[str, Any]()
        while self._more("}"):
            key = self._next()
            if key is None or self._peek() not in {"=", ":"}:
                raise HclError(f"line {key.line if key else 0}: a key without a value")
            self._next()
            entries[key.text] = self._value()
        return entries

    def _more(self, close: str) -> bool:
        """Whether another item follows, behind commas and ends of lines."""
        while self._peek() in {"\n", ","}:
            self._at += 1
        if self._at >= len(self._tokens):
            raise HclError("the end of the text is in brackets")
        if self._peek() == close:
            self._at += 1
            return False
        return True


def _number(text: str) -> Any:
    """A number; a digit begins it, so that no name is one."""
    if _NUMBER.fullmatch(text) is None:
        return _NONE
    return float(text) if "." in text else int(text)


def read_terraform(file: Path, text: str, collector: Collector) -> None:
    """Collect the pins of a file of Terraform."""
    try:
        outermost = blocks(text)
    except HclError as error:
        why = f"not read for the release of an operator: {error}"
        collector.remarks.append(Problem(collector.tree.name(file), "", why))
        return
    for block in outermost:
        if block.names[:2] == ("resource", "helm_release"):
            _release(block, file, collector)


def _release(block: Block, file: Path, collector: Collector) -> None:
    operators, written = collector.operators, block.attributes
    if api := operators.of_chart(written.get("chart")):
        at = Document(str(file), block.lines.get("version", block.line), {})
        where = Document(str(file), block.line, {"metadata": {"name": " ".join(block.names[2:])}})
        release = PlacedRelease(operators.of_chart_version(api, written.get("version")), at, ())
        collector.deploy(api, release, where, [*_values(block, file, collector)])


def _values(block: Block, file: Path, collector: Collector) -> Iterator[Values]:
    """The values of a release: texts and files in their order, then what is set."""
    at = Document(str(file), block.lines.get("values", block.line), {})
    values = block.attributes.get("values")
    for value in values if isinstance(values, list) else ():
        if isinstance(value, File):
            yield from collector.file_values(file.parent / value.path.removeprefix(_MODULE))
        elif isinstance(value, dict):
            yield Values(at, (), value, is_inside=False)
        elif isinstance(value, str) and not value.startswith("${"):
            yield from collector.values_in(at, (), value)
    for key in _SETS:
        items = [inner.attributes for inner in block.blocks if inner.names == (key,)]
        listed = block.attributes.get(key)
        items += [pair for pair in listed if isinstance(pair, dict)] if isinstance(listed, list) else []
        yield from set_values(at, (), [(pair.get("name"), pair.get("value")) for pair in items])
