"""The pieces that generated source is put together from."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from webhook.cel.values import scalars

if TYPE_CHECKING:
    from webhook.cel.types import Type
    from webhook.cel.values.nodes import Node

Block = list[Any]
"""Lines of source. A pair is a header and the block below it; a list is a part of the block itself."""

CLASSES: Final[dict[Any, str]] = {
    scalars.text: "str",
    scalars.boolean: "bool",
    scalars.integer: "int",
    scalars.int_or_string: "(str, int)",
    scalars.whole: "int",
    scalars.whole_or_string: "(str, int)",
}
"""The scalars whose JSON is already a CEL value, by the class (or classes) it must have."""

CONTAINERS: Final = {"object": "dict", "map": "dict", "list": "list", "set": "list", "maplist": "list"}


def class_of(node: Node) -> str | None:
    """The class (or classes) that JSON under a schema must have to be used as it is; None if it must be converted."""
    return CLASSES.get(node.enter) or CONTAINERS.get(node.kind)


class Unsupported(Exception):
    """The expression has no generated form."""


@dataclass(frozen=True, slots=True)
class Code:
    """A Python expression and what is known about its value.

    ``node`` is the schema of raw JSON that is not yet a CEL value; ``checked`` says that its
    class was checked. ``is_name`` marks text that costs nothing to repeat. ``maybe`` marks an
    unwrapped optional: the value, or what ``absent`` names. ``proven``: a value, where there is
    one, is of the type ``of``, which the checker only infers: what is inferred of ``dyn`` need not
    be true.
    """

    text: str
    of: Type
    node: Node | None = None
    checked: bool = False
    is_name: bool = False
    maybe: bool = False
    is_literal: bool = False
    literal: Any = None
    proven: bool = False
    absent: str = "A"

    @property
    def atom(self) -> str:
        """The text in parentheses if a method call on it needs them."""
        return self.text if self.is_name else f"({self.text})"


def render(block: Block, indent: int, lines: list[str]) -> None:
    """Append the block's lines to ``lines``."""
    for item in block:
        if isinstance(item, str):
            lines.append(" " * indent + item)
        elif isinstance(item, list):
            render(item, indent, lines)
        else:
            header, inner = item
            lines.append(" " * indent + header)
            before = len(lines)
            render(inner, indent + 1, lines)
            if len(lines) == before:
                lines.append(" " * (indent + 1) + "pass")


def is_of(value: str, wanted: str) -> str:
    """Whether a value is of a class; ``isinstance`` would take a bool for an int."""
    return f"{value}.__class__ {'in IS' if wanted.startswith('(') else f'is {wanted}'}"


def is_not_of(value: str, wanted: str) -> str:
    return f"{value}.__class__ {'not in IS' if wanted.startswith('(') else f'is not {wanted}'}"


_LITERAL: Final = re.compile(r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"")
_PRESENT: Final = re.compile(r"if t\d+ is not None:")
_RAISES: Final = re.compile(r"\braise\b|\bfor\b|\w\(|[\[\].+\0]")


def may_raise(block: Block) -> bool:
    """Whether something in a block may raise: anything but comparisons and sizes of values whose class is known."""
    return any(_RAISES.search(_LITERAL.sub("''", line).replace("len(", "(")) for line in _lines(block))


def assignments(block: Block, local: str) -> int:
    """How often a local is set in a block."""
    return sum(len(re.findall(rf"(?<!\w){local} :?= ", line)) for line in _lines(block))


def is_in(block: Block, part: Block) -> bool:
    """Whether a block contains another."""
    for item in block:
        inner = item[1] if isinstance(item, tuple) else item
        if inner is part or (isinstance(inner, list) and is_in(inner, part)):
            return True
    return False


def join(block: Block, other: Block) -> None:
    """Append a block; what depends on the presence that the first tests last is put below that test."""
    for item in other:
        last = block[-1] if block else None
        if isinstance(item, tuple) and isinstance(last, tuple) and last[0] == item[0] and _PRESENT.fullmatch(item[0]):
            join(last[1], item[1])
        else:
            block.append(item)


def _lines(block: Block) -> Iterator[str]:
    for item in block:
        if isinstance(item, str):
            yield item
        elif isinstance(item, list):
            yield from _lines(item)
        else:
            yield item[0]
            yield from _lines(item[1])
