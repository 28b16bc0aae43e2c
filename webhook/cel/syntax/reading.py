"""One parse: its dialect and problems, the parts that have been read, and how deep they nest.

cel-go refuses an expression if its parser enters one grammar rule more than 250 times without
leaving it. In left-recursive rules (members, calculations, relations) a chain counts once,
and an operand on the right once more: ``a - (b - c)`` is four calculations deep. cel-go's
visitor then applies the same limit to all operators, and counts chains in full.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from webhook.cel.syntax.ast import Call, Expr

if TYPE_CHECKING:
    from lark import Token

    from webhook.cel.syntax import macros
    from webhook.cel.syntax.ast import Expr


@dataclass(frozen=True, slots=True, eq=False)
class Dialect:
    """The parts of the language that an environment has: macros, ``?`` for optionals, ``a.`quoted` ``."""

    macros: macros.Macros
    optional_syntax: bool = True
    quoted_fields: bool = True


@dataclass(frozen=True, slots=True)
class Reading:
    """The state of one parse: its dialect, and the problems so far other than syntax errors, by position."""

    dialect: Dialect
    problems: list[tuple[int, str]] = field(default_factory=list)


READING: ContextVar[Reading] = ContextVar("reading")


def wrong(pos: int, message: str) -> Expr:
    """Note a problem, and return a placeholder so that parsing can continue."""
    READING.get().problems.append((pos, message))
    return Expr(pos)


def position(token: Token) -> int:
    return token.start_pos or 0


LIMIT = 250
PRIMARY, MEMBER, CALC, RELATION, EXPR = range(5)
_FLAT = (0, 0, 0, 0, 0)  # the greatest depth of member, calc, relation and expr rules, and of visited operators


class NestingError(Exception):
    """The expression is nested deeper than cel-go allows; the text is cel-go's."""


@dataclass(slots=True)
class Part:
    """A part of an expression that has been read.

    ``level`` is the grammar rule that matched it, ``depths`` the greatest depth of each rule
    within. ``size`` counts the nodes of the tree (a macro may use its target twice). ``name``
    is set for a dotted name, which may denote a message type. ``negated`` is set for a part that
    begins with a sign: the function of the sign, and the expression that remains if another
    sign cancels it.
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


def group(expr: Expr, parts: Sequence[Part], *, inner: int = EXPR, level: int = PRIMARY) -> Part:
    """Sibling parts: expressions in parentheses, literals and calls, relations between ``&&`` or ``||``."""
    depths = _deepest([_lifted(part, inner) for part in parts])
    return _checked(Part(expr, level, _tuple(depths), 1 + sum(part.size for part in parts)))


def _lifted(part: Part, level: int) -> tuple[int, int, int, int, int]:
    """The depths after entering every rule between the part's own level and ``level``."""
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


def operator(children: list[Any], level: int) -> Part:
    (left, token), right = children
    call = Call(position(token), "@in" if token.type == "IN" else f"_{token}_", None, (left.expr, right.expr))
    return chain(call, level, left, (right,), level)


@dataclass(slots=True)
class Terms:
    """The terms of ``&&`` or ``||`` so far: the tree is built when the chain is complete."""

    terms: list[Part]
    ops: list[Token]


def joined(left: Part | Terms, token: Token, right: Part) -> Terms:
    if isinstance(left, Part):
        return Terms([left, right], [token])
    left.terms.append(right)
    left.ops.append(token)
    return left


def closed(function: str, chained: Part | Terms) -> Part:
    if isinstance(chained, Part):
        return chained
    expr = _balanced(function, chained.terms, chained.ops, 0, len(chained.ops) - 1)
    return group(expr, chained.terms, inner=RELATION, level=RELATION)


def conditional(token: Token, condition: Part, then: Part, otherwise: Part) -> Part:
    """``condition ? then : otherwise``, whose last operand is an expression of its own."""
    parts = (condition, then, otherwise)
    depths = _deepest([_lifted(condition, RELATION), _lifted(then, RELATION), _lifted(otherwise, EXPR)])
    depths[3] += 1
    depths[4] += 1
    call = Call(position(token), "_?_:_", None, tuple(part.expr for part in parts))
    return _checked(Part(call, EXPR, _tuple(depths), 1 + sum(part.size for part in parts)))


def _balanced(function: str, terms: Sequence[Part], ops: Sequence[Token], low: int, high: int) -> Expr:
    """A balanced tree over ``terms[low:high + 2]``, so that long conditions do not nest deeply."""
    middle = (low + high + 1) // 2
    left = terms[middle].expr if middle == low else _balanced(function, terms, ops, low, middle - 1)
    right = terms[middle + 1].expr if middle == high else _balanced(function, terms, ops, middle + 1, high)
    return Call(position(ops[middle]), function, None, (left, right))


def negation(children: list[Any], function: str) -> Part:
    """``!x`` and ``-x``; pairs of a sign cancel, as in cel-go (``--5`` is 5, not the negation of a literal)."""
    token, operand = children
    sign, inner = operand.negated or ("", operand.expr)
    if sign == function:
        expr, negated = inner, operand.expr
    else:
        expr, negated = Call(position(token), function, None, (operand.expr,)), operand.expr
    level = max(operand.level, MEMBER)
    return Part(expr, level, operand.depths, operand.size + 1, negated=(function, negated))
