"""How deep an expression nests, counted as cel-go's parser counts.

cel-go refuses an expression in which one grammar rule is entered more than 250 times without
being left. In its left-recursive rules (members, calculations, relations) a chain counts once,
and an operand on the right once more: ``a - (b - c)`` is four calculations deep. After that,
its visitor has a limit of the same size over all operators, where chains count in full.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from webhook.cel.syntax.ast import Expr

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

    ``level`` is the grammar rule it was read by, ``depths`` the greatest depth of each rule
    within. ``size`` counts the nodes of the tree (a macro may use its target twice). ``name``
    is set for a plain dotted name, which may name a message type; ``negated``, for what begins
    with a sign, is that sign's function and the expression that one more sign would leave.
    """

    expr: Expr
    level: int = PRIMARY
    depths: tuple[int, int, int, int, int] = _FLAT
    size: int = 1
    name: str = ""
    negated: tuple[str, Expr] | None = None


def chain(expr: Expr, level: int, left: Part, right: Sequence[Part], right_level: int) -> Part:
    """One more link of a left-recursive rule: a postfix, an arithmetic or a relational operator."""
    depths = _deepest([_lifted(part, right_level) for part in right])
    depths[level - 1] += 1
    depths = _deepest([_lifted(left, level), _tuple(depths)])
    depths[4] += 1
    return _checked(Part(expr, level, _tuple(depths), 1 + left.size + sum(part.size for part in right)))


def conditional(expr: Expr, condition: Part, then: Part, otherwise: Part) -> Part:
    """``condition ? then : otherwise``, whose last operand is an expression of its own."""
    depths = _deepest([_lifted(condition, RELATION), _lifted(then, RELATION), _lifted(otherwise, EXPR)])
    depths[3] += 1
    depths[4] += 1
    return _checked(Part(expr, EXPR, _tuple(depths), 1 + condition.size + then.size + otherwise.size))


def group(expr: Expr, parts: Sequence[Part], *, inner: int = EXPR, level: int = PRIMARY) -> Part:
    """Parts side by side: expressions in parentheses, literals and calls, relations between ``&&`` or ``||``."""
    depths = _deepest([_lifted(part, inner) for part in parts])
    return _checked(Part(expr, level, _tuple(depths), 1 + sum(part.size for part in parts)))


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
    if len(depths) < 2:
        return list(depths[0] if depths else _FLAT)
    return list(map(max, *depths))


def _tuple(depths: list[int]) -> tuple[int, int, int, int, int]:
    member, calc, relation, expr, visited = depths
    return member, calc, relation, expr, visited


def _checked(part: Part) -> Part:
    if max(part.depths[:4]) > LIMIT:
        raise NestingError(f"expression recursion limit exceeded: {LIMIT}")
    if part.depths[4] > LIMIT:
        raise NestingError("max recursion depth exceeded")
    return part
