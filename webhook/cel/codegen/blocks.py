"""Questions about pieces of source, and what joins them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from webhook.cel.codegen.code import Block

__all__ = ["assignments", "is_in", "join", "may_raise"]

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
