"""The pieces that generated source is put together from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from webhook.cel.syntax.ast import Call, Comprehension, ListExpr, MapExpr, Select, StructExpr
from webhook.cel.values import scalars as leaves

if TYPE_CHECKING:
    from webhook.cel.types import Type
    from webhook.cel.values.nodes import Node

__all__ = ["CLASSES", "CONTAINERS", "Block", "Code", "Unsupported", "children", "is_not_of", "is_of", "render"]

Block = list[Any]
"""Lines of source; a pair is a header with the block below it, a list is a part of the block itself."""

CLASSES: Final[dict[Any, str]] = {
    leaves.text: "str",
    leaves.boolean: "bool",
    leaves.integer: "int",
    leaves.int_or_string: "(str, int)",
}
"""The leaves that are CEL values already, if they are of this class (or one of these)."""

CONTAINERS: Final = {"object": "dict", "map": "dict", "list": "list", "set": "list", "maplist": "list"}


class Unsupported(Exception):
    """An expression that has no generated form."""


@dataclass(frozen=True, slots=True)
class Code:
    """A Python expression and what is known of its value.

    ``node`` is the schema of raw JSON that is not a CEL value yet; ``checked`` says that its
    class was looked at. ``is_name`` marks text that may be repeated for nothing. ``maybe``
    is an optional without its wrapping: the value, or ABSENT.
    """

    text: str
    of: Type
    node: Node | None = None
    checked: bool = False
    is_name: bool = False
    maybe: bool = False
    is_literal: bool = False
    literal: Any = None

    @property
    def atom(self) -> str:
        """The text as what a method may be called on."""
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


def children(expr: Any) -> list[Any]:
    """The parts of an expression, in no particular order."""
    match expr:
        case Select():
            return [expr.operand]
        case Call():
            return [*expr.args] if expr.target is None else [expr.target, *expr.args]
        case ListExpr():
            return [*expr.elements]
        case MapExpr() | StructExpr():
            return [part for entry in expr.entries for part in (entry.key, entry.value)]
        case Comprehension():
            return [expr.iter_range, expr.accu_init, expr.loop_condition, expr.loop_step, expr.result]
    return []
