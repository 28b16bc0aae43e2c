"""The pieces that generated source is put together from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from webhook.cel import leaves

if TYPE_CHECKING:
    from webhook.cel.access import Node
    from webhook.cel.types import Type

__all__ = ["CLASSES", "CONTAINERS", "Block", "Code", "Unsupported", "render"]

Block = list[Any]
"""Lines of source; a pair is a header with the block below it."""

CLASSES: Final = {leaves.text: "str", leaves.boolean: "bool", leaves.integer: "int"}
"""The leaves that are CEL values already, if they are of this class."""

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


def render(block: Block, indent: int, lines: list[str]) -> None:
    """Append the block's lines to ``lines``."""
    for item in block:
        if isinstance(item, str):
            lines.append(" " * indent + item)
        else:
            header, inner = item
            lines.append(" " * indent + header)
            render(inner or ["pass"], indent + 1, lines)
