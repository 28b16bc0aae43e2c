"""How deep an expression nests, counted as cel-go's parser counts.

cel-go refuses an expression in which one grammar rule is entered more than 250 times without
being left. Its rules for members, calculations and relations are left-recursive, and ANTLR
leaves none of a chain's rules before the chain's end: ``a.b.c`` is three members deep and
``1+1+1`` four calculations (the chain's three and the last operand's own). After that, its
visitor has a limit of the same size over all operators together.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from webhook.cel.ast import Expr

__all__ = [
    "CALC",
    "EXPR",
    "LIMIT",
    "MEMBER",
    "PRIMARY",
    "RELATION",
    "NestingError",
    "Part",
    "chain",
    "conditional",
    "group",
]

LIMIT = 250
PRIMARY, MEMBER, CALC, RELATION, EXPR = range(5)
_FLAT = (0, 0, 0, 0, 0)  # the greatest depth of member, calc, relation and expr rules, and of visited operators


class NestingError(Exception):
    """The expression nests deeper than cel-go reads; the text is cel-go's."""


@dataclass(slots=True)
class Part:
    """A part of an expression that has been read.

    ``level`` is the grammar rule it was read by, ``length`` the number of that rule's contexts
    its chain has open, ``depths`` the greatest depth of each rule within. ``size`` counts
    the nodes of the tree (a macro may use its target twice). ``name`` is set for a plain
    dotted name, which may name a message type; ``negated`` for ``!`` and ``-`` chains, the
    operand being ``expr`` itself.
    """

    expr: Expr
    level: int = PRIMARY
    length: int = 1
    depths: tuple[int, int, int, int, int] = _FLAT
    size: int = 1
    name: str = ""
    negated: Expr | None = None


def chain(expr: Expr, level: int, left: Part, right: Sequence[Part], right_level: int, *, visited: bool = True) -> Part:
    """One more link of a left-recursive rule: a postfix, an arithmetic or a relational operator."""
    length = (left.length if left.level == level else 1) + 1
    depths = list(_lifted(left, level))
    depths[level - 1] = max(depths[level - 1], length)
    for part in right:
        for index, depth in enumerate(_lifted(part, right_level)):
            below = depth + length if index == level - 1 else depth
            depths[index] = max(depths[index], below)
    depths[4] += visited
    return _checked(Part(expr, level, length, _tuple(depths), 1 + left.size + sum(part.size for part in right)))


def conditional(expr: Expr, condition: Part, then: Part, otherwise: Part) -> Part:
    """``condition ? then : otherwise``, whose last operand is an expression of its own."""
    depths = _deepest([_lifted(condition, RELATION), _lifted(then, RELATION), _lifted(otherwise, EXPR)])
    depths[3] += 1
    depths[4] += 1
    return _checked(Part(expr, EXPR, 1, _tuple(depths), 1 + condition.size + then.size + otherwise.size))


def group(expr: Expr, parts: Sequence[Part], *, inner: int = EXPR, level: int = PRIMARY) -> Part:
    """Parts side by side: expressions in parentheses, literals and calls, relations between ``&&`` or ``||``."""
    depths = _deepest([_lifted(part, inner) for part in parts])
    return _checked(Part(expr, level, 1, _tuple(depths), 1 + sum(part.size for part in parts)))


def _lifted(part: Part, level: int) -> tuple[int, int, int, int, int]:
    """The depths after entering every rule between the part's own and ``level``."""
    start = part.level
    if start >= level:
        return part.depths
    member, calc, relation, expr, visited = part.depths
    return (
        member + (start < MEMBER <= level),
        calc + (start < CALC <= level),
        relation + (start < RELATION <= level),
        expr + (start < EXPR <= level),
        visited,
    )


def _deepest(depths: Sequence[tuple[int, int, int, int, int]]) -> list[int]:
    return [max(column) for column in zip(*depths, strict=True)] if depths else list(_FLAT)


def _tuple(depths: list[int]) -> tuple[int, int, int, int, int]:
    member, calc, relation, expr, visited = depths
    return member, calc, relation, expr, visited


def _checked(part: Part) -> Part:
    if max(part.depths[:4]) > LIMIT:
        raise NestingError(f"expression recursion limit exceeded: {LIMIT}")
    if part.depths[4] > LIMIT:
        raise NestingError("max recursion depth exceeded")
    return part
