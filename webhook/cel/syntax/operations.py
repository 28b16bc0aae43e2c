"""Operators and their operands: relations, calculations, conditions and signs, nested as cel-go nests them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from webhook.cel.syntax import nesting
from webhook.cel.syntax.ast import Call, Expr
from webhook.cel.syntax.nesting import MEMBER, RELATION, Part, chain, group
from webhook.cel.syntax.reading import position

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lark import Token

__all__ = ["Terms", "closed", "conditional", "joined", "negation", "operator"]


def operator(children: list[Any], level: int) -> Part:
    (left, token), right = children
    call = Call(position(token), "@in" if token.type == "IN" else f"_{token}_", None, (left.expr, right.expr))
    return chain(call, level, left, (right,), level)


@dataclass(slots=True)
class Terms:
    """The terms of ``&&`` or ``||`` read so far: their tree is made when all are there."""

    terms: list[Part]
    ops: list[Token]


def joined(left: Part | Terms, token: Token, right: Part) -> Terms:
    if isinstance(left, Part):
        return Terms([left, right], [token])
    left.terms.append(right)
    left.ops.append(token)
    return left


def closed(function: str, found: Part | Terms) -> Part:
    if isinstance(found, Part):
        return found
    expr = _balanced(function, found.terms, found.ops, 0, len(found.ops) - 1)
    return group(expr, found.terms, inner=RELATION, level=RELATION)


def conditional(token: Token, condition: Part, then: Part, otherwise: Part) -> Part:
    args = (condition.expr, then.expr, otherwise.expr)
    return nesting.conditional(Call(position(token), "_?_:_", None, args), condition, then, otherwise)


def _balanced(function: str, terms: Sequence[Part], ops: Sequence[Token], low: int, high: int) -> Expr:
    """A tree of logarithmic depth over ``terms[low:high + 2]``, so that long conditions do not nest deeply."""
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
