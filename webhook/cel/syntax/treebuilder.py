"""From the grammar's reductions to the syntax tree, without a parse tree in between.

One method for each rule of ``cel.lark`` (or alternative, where it has a name), called by the
LALR parser with what the rule matched: tokens and :class:`Part` values. Nothing recurses,
so no nesting is too deep to be refused properly. Nodes are placed where cel-go places
them: an operator at its sign, a call at its parenthesis, a macro's expansion at the call.
"""

from __future__ import annotations

from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from webhook.cel.syntax import literals, macros
from webhook.cel.syntax.ast import Call, Const, Expr, Ident, ListExpr, MapEntry, MapExpr, Select, StructExpr
from webhook.cel.syntax.nesting import CALC, EXPR, MEMBER, RELATION, Part, chain, conditional, group
from webhook.cel.syntax.reserved import RESERVED

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from lark import Token

__all__ = ["READING", "Dialect", "Reading", "TreeBuilder"]

_SIZE_LIMIT = 100_000  # nodes after macro expansion, as cel-go 0.30
_LITERALS: dict[str, Callable[[str], Any]] = {
    "INT": literals.int_value,
    "UINT": literals.uint_value,
    "FLOAT": literals.float_value,
    "STRING": literals.string_value,
    "BYTES": literals.bytes_value,
    "TRUE": lambda _: True,
    "FALSE": lambda _: False,
    "NULL": lambda _: None,
}


@dataclass(frozen=True, slots=True)
class Dialect:
    """What of the language an environment has: its macros, ``?`` for optionals, ``a.`quoted` ``."""

    macros: macros.Macros
    optional_syntax: bool = True
    quoted_fields: bool = True


@dataclass(frozen=True, slots=True)
class Reading:
    """A parse that is running: its dialect, and what it found wrong that is no error of syntax, by position."""

    dialect: Dialect
    problems: list[tuple[int, str]] = field(default_factory=list)


READING: ContextVar[Reading] = ContextVar("reading")


def _wrong(pos: int, message: str) -> Expr:
    """Note a problem; what stands there instead is an expression of no kind, so that reading goes on."""
    READING.get().problems.append((pos, message))
    return Expr(pos)


def _pos(token: Token) -> int:
    return token.start_pos or 0


def _operator(children: list[Any], level: int) -> Part:
    left, token, right = children
    call = Call(_pos(token), "@in" if token.type == "IN" else f"_{token}_", None, (left.expr, right.expr))
    return chain(call, level, left, (right,), level)


def _balanced(function: str, terms: Sequence[Part], ops: Sequence[Token], low: int, high: int) -> Expr:
    """A tree of logarithmic depth over ``terms[low:high + 2]``, so that long conditions do not nest deeply."""
    middle = (low + high + 1) // 2
    left = terms[middle].expr if middle == low else _balanced(function, terms, ops, low, middle - 1)
    right = terms[middle + 1].expr if middle == high else _balanced(function, terms, ops, middle + 1, high)
    return Call(_pos(ops[middle]), function, None, (left, right))


def _logical(function: str, children: list[Any]) -> Part:
    terms, ops = children[::2], children[1::2]
    return group(_balanced(function, terms, ops, 0, len(ops) - 1), terms, inner=RELATION, level=RELATION)


def _field_name(token: Token) -> str:
    if token.type != "ESC_IDENT":
        return str(token)
    if not READING.get().dialect.quoted_fields:
        _wrong(_pos(token), "unsupported syntax: '`'")
    return str(token)[1:-1]


def _optional(children: list[Any], syntax: str = "?") -> bool:
    """Whether the children start with a question mark; removes it."""
    if getattr(children[0], "type", "") != "QUESTION":
        return False
    _require_optional(children.pop(0), syntax)
    return True


def _require_optional(token: Token, syntax: str) -> None:
    if not READING.get().dialect.optional_syntax:
        _wrong(_pos(token), f"unsupported syntax '{syntax}'")


def _negation(children: list[Any], function: str) -> Part:
    """``!x`` and ``-x``; pairs of a sign cancel, as in cel-go (``--5`` is 5, not the negation of a literal)."""
    token, operand = children
    sign, inner = operand.negated or ("", operand.expr)
    if sign == function:
        expr, negated = inner, operand.expr
    else:
        expr, negated = Call(_pos(token), function, None, (operand.expr,)), operand.expr
    level = max(operand.level, MEMBER)
    return Part(expr, level, operand.depths, operand.size + 1, negated=(function, negated))


def _macro_or_call(pos: int, function: str, target: Part | None, args: Sequence[Part]) -> tuple[Expr, int]:
    """The call or what its macro stands for, and how many nodes the expansion adds."""
    receiver = None if target is None else target.expr
    values = tuple(arg.expr for arg in args)
    expander = READING.get().dialect.macros.get((function, len(values), target is not None))
    if expander is None:
        return Call(pos, function, receiver, values), 0
    try:
        expr = expander(pos, receiver, values)
    except macros.MacroError as error:
        return _wrong(error.pos, str(error)), 0
    return expr, 8 + (target.size if target is not None and function in ("optMap", "optFlatMap") else 0)


def _sized(part: Part, extra: int, pos: int, function: str) -> Part:
    part.size += extra
    if extra and part.size > _SIZE_LIMIT:
        message = f"expression count exceeds limit of {_SIZE_LIMIT} while expanding macro '{function}'"
        part.expr, part.size = _wrong(pos, message), 1
    return part


class TreeBuilder:
    """The callbacks of the grammar; it has no state, and may serve many parses at once."""

    def start(self, children: list[Any]) -> Part:
        return group(children[0].expr, children)

    def conditional(self, children: list[Any]) -> Part:
        condition, token, then, otherwise = children
        args = (condition.expr, then.expr, otherwise.expr)
        return conditional(Call(_pos(token), "_?_:_", None, args), condition, then, otherwise)

    def logical_or(self, children: list[Any]) -> Part:
        return _logical("_||_", children)

    def logical_and(self, children: list[Any]) -> Part:
        return _logical("_&&_", children)

    def relation(self, children: list[Any]) -> Part:
        return _operator(children, RELATION)

    def calc(self, children: list[Any]) -> Part:
        return _operator(children, CALC)

    def negate(self, children: list[Any]) -> Part:
        return _negation(children, "-_")

    def select(self, children: list[Any]) -> Part:
        operand, dot, name = children
        part = chain(Select(_pos(dot), operand.expr, _field_name(name)), MEMBER, operand, (), EXPR)
        part.name = f"{operand.name}.{name}" if operand.name and name.type == "IDENT" else ""
        return part

    def optional_select(self, children: list[Any]) -> Part:
        operand, dot, _, name = children
        _require_optional(dot, ".?")
        field = Const(_pos(name), _field_name(name))
        return chain(Call(_pos(dot), "_?._", None, (operand.expr, field)), MEMBER, operand, (), EXPR)

    def member_call(self, children: list[Any]) -> Part:
        target, _, name, paren, *args = children
        expr, extra = _macro_or_call(_pos(paren), str(name), target, args)
        return _sized(chain(expr, MEMBER, target, args, EXPR), extra, _pos(paren), str(name))

    def index(self, children: list[Any]) -> Part:
        target, bracket, index = children
        return chain(Call(_pos(bracket), "_[_]", None, (target.expr, index.expr)), MEMBER, target, (index,), EXPR)

    def optional_index(self, children: list[Any]) -> Part:
        target, bracket, _, index = children
        _require_optional(bracket, "[?")
        return chain(Call(_pos(bracket), "_[?_]", None, (target.expr, index.expr)), MEMBER, target, (index,), EXPR)

    def message(self, children: list[Any]) -> Part:
        target, brace, *fields = children
        if not target.name:
            _wrong(_pos(brace), "Syntax error: mismatched input '{' expecting <EOF>")
        _allow_reserved(target.expr)
        entries, parts = _entries(fields)
        return group(StructExpr(_pos(brace), target.name, entries), parts)

    def ident(self, children: list[Any]) -> Part:
        name = "".join(children)
        if _is_reserved(children):
            return Part(Expr(_pos(children[0])), name=name)
        return Part(Ident(_pos(children[-1]), name), name=name)

    def global_call(self, children: list[Any]) -> Part:
        at = next(index for index, child in enumerate(children) if getattr(child, "type", "") == "LPAREN")
        name, args = children[:at], children[at + 1 :]
        if _is_reserved(name):
            return group(Expr(_pos(name[0])), args)
        expr, extra = _macro_or_call(_pos(children[at]), "".join(name), None, args)
        return _sized(group(expr, args), extra, _pos(children[at]), "".join(name))

    def nested(self, children: list[Any]) -> Part:
        return group(children[0].expr, children)

    def list_literal(self, children: list[Any]) -> Part:
        bracket, *elements = children
        optional = frozenset(index for index, (question, _) in enumerate(elements) if question)
        parts = [part for _, part in elements]
        return group(ListExpr(_pos(bracket), tuple(part.expr for part in parts), optional), parts)

    def map_literal(self, children: list[Any]) -> Part:
        entries, parts = _entries(children[1:])
        return group(MapExpr(_pos(children[0]), entries), parts)

    def element(self, children: list[Any]) -> tuple[bool, Part]:
        return _optional(children), children[-1]

    def entry(self, children: list[Any]) -> tuple[MapEntry, Sequence[Part]]:
        optional = _optional(children)
        key, colon, value = children
        return MapEntry(_pos(colon), key.expr, value.expr, optional), (key, value)

    def field(self, children: list[Any]) -> tuple[MapEntry, Sequence[Part]]:
        optional = _optional(children)
        name, colon, value = children
        return MapEntry(_pos(colon), _field_name(name), value.expr, optional), (value,)

    def literal(self, children: list[Any]) -> Part:
        (token,) = children
        return _literal(_pos(token), token.type, str(token))

    def signed(self, children: list[Any]) -> Part:
        minus, number = children
        part = _literal(_pos(minus), number.type, f"-{number}")
        if isinstance(part.expr, Const):
            part.negated = "-_", Const(_pos(minus), -part.expr.value)
        return part


# a rule called "not" cannot be a method by definition, only by assignment
setattr(TreeBuilder, "not", staticmethod(lambda children: _negation(children, "!_")))


def _is_reserved(name: Sequence[Token]) -> bool:
    """Whether a name is reserved, which is noted as a problem."""
    reserved = str(name[-1]) in RESERVED
    if reserved:
        _wrong(_pos(name[0]), f"reserved identifier: {name[-1]}")
    return reserved


def _allow_reserved(expr: Expr) -> None:
    """A type may be called as nothing else may: take back what was noted of its first name."""
    while isinstance(expr, Select):
        expr = expr.operand
    problems = READING.get().problems
    problems[:] = [(pos, text) for pos, text in problems if pos != expr.pos or not text.startswith("reserved")]


def _literal(pos: int, kind: str, text: str) -> Part:
    try:
        return Part(Const(pos, _LITERALS[kind](text)))
    except ValueError as error:
        return Part(_wrong(pos, str(error)))


def _entries(entries: Sequence[tuple[MapEntry, Sequence[Part]]]) -> tuple[tuple[MapEntry, ...], list[Part]]:
    return tuple(entry for entry, _ in entries), [part for _, parts in entries for part in parts]
