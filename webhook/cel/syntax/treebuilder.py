"""From the grammar's reductions to the syntax tree, without a parse tree in between.

One method for each rule of cel-python's ``cel.lark`` and of the overlay ``kubernetes.lark``,
called by the LALR parser with all that the rule matched: tokens and :class:`Part` values.
Nothing recurses, so no nesting is too deep to be refused properly. Nodes are placed where
cel-go places them: an operator at its sign, a call at its parenthesis, a macro's expansion at
the call.
"""

from __future__ import annotations

from contextvars import ContextVar
from dataclasses import dataclass, field
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from webhook.cel.syntax import literals, macros
from webhook.cel.syntax.ast import Call, Const, Expr, Ident, ListExpr, MapEntry, MapExpr, Select, StructExpr
from webhook.cel.syntax.nesting import CALC, EXPR, MEMBER, RELATION, Part, chain, conditional, group

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from lark import Token

__all__ = ["READING", "RESERVED", "Dialect", "Reading", "TreeBuilder"]

RESERVED = frozenset(
    {"as", "break", "const", "continue", "else", "false", "for", "function", "if", "import", "in"}
    | {"let", "loop", "package", "namespace", "null", "return", "true", "var", "void", "while"}
)
_SIZE_LIMIT = 100_000  # nodes after macro expansion, as cel-go 0.30
_LITERALS: dict[str, Callable[[str], Any]] = {
    "INT_LIT": literals.int_value,
    "UINT_LIT": literals.uint_value,
    "FLOAT_LIT": literals.float_value,
    "STRING_LIT": literals.string_value,
    "MLSTRING_LIT": literals.string_value,
    "BYTES_LIT": literals.bytes_value,
    "BOOL_LIT": "true".__eq__,
    "NULL_LIT": lambda _: None,
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
    (left, token), right = children
    call = Call(_pos(token), "@in" if token.type == "IN" else f"_{token}_", None, (left.expr, right.expr))
    return chain(call, level, left, (right,), level)


@dataclass(slots=True)
class _Terms:
    """The terms of ``&&`` or ``||`` read so far: their tree is made when all are there."""

    terms: list[Part]
    ops: list[Token]


def _joined(left: Part | _Terms, token: Token, right: Part) -> _Terms:
    if isinstance(left, Part):
        return _Terms([left, right], [token])
    left.terms.append(right)
    left.ops.append(token)
    return left


def _closed(function: str, found: Part | _Terms) -> Part:
    if isinstance(found, Part):
        return found
    expr = _balanced(function, found.terms, found.ops, 0, len(found.ops) - 1)
    return group(expr, found.terms, inner=RELATION, level=RELATION)


def _conditional(token: Token, condition: Part, then: Part, otherwise: Part) -> Part:
    args = (condition.expr, then.expr, otherwise.expr)
    return conditional(Call(_pos(token), "_?_:_", None, args), condition, then, otherwise)


def _balanced(function: str, terms: Sequence[Part], ops: Sequence[Token], low: int, high: int) -> Expr:
    """A tree of logarithmic depth over ``terms[low:high + 2]``, so that long conditions do not nest deeply."""
    middle = (low + high + 1) // 2
    left = terms[middle].expr if middle == low else _balanced(function, terms, ops, low, middle - 1)
    right = terms[middle + 1].expr if middle == high else _balanced(function, terms, ops, middle + 1, high)
    return Call(_pos(ops[middle]), function, None, (left, right))


def _field_name(token: Token) -> str:
    if token.type != "ESC_IDENT":
        return str(token)
    if not READING.get().dialect.quoted_fields:
        _wrong(_pos(token), "unsupported syntax: '`'")
    return str(token)[1:-1]


def _optional(children: list[Any]) -> bool:
    """Whether the children start with a question mark; removes it."""
    if getattr(children[0], "type", "") != "QMARK":
        return False
    _require_optional(children.pop(0), "?")
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


def _appended(children: list[Any]) -> list[Any]:
    """A list in a left-recursive rule: its first item, or the list so far, a comma and the next item."""
    if len(children) == 1:
        return children
    items: list[Any] = children[0]
    items.append(children[2])
    return items


def _members(children: list[Any]) -> list[Any]:
    """The items between two brackets, where there are any; a comma after the last one may follow them."""
    return children[1] if isinstance(children[1], list) else []


class TreeBuilder:
    """The callbacks of the grammar; it has no state, and may serve many parses at once.

    Each operand passes a dozen rules: those that hand on a single child do so in C, or first of all.
    """

    unary = member = primary = staticmethod(itemgetter(0))
    relation_lt = relation_le = relation_gt = relation_ge = relation_eq = relation_ne = relation_in = tuple
    addition_add = addition_sub = multiplication_mul = multiplication_div = multiplication_mod = tuple
    fieldinits = mapinits = listinits = staticmethod(_appended)

    def start(self, children: list[Any]) -> Part:
        return group(children[0].expr, children)

    def expr(self, children: list[Any]) -> Part:
        if len(children) == 1:
            return _closed("_||_", children[0]) if children[0].__class__ is _Terms else children[0]
        condition, token, then, _, otherwise = children
        return _conditional(token, _closed("_||_", condition), _closed("_||_", then), otherwise)

    def conditionalor(self, children: list[Any]) -> Part | _Terms:
        if children[-1].__class__ is _Terms:
            children[-1] = _closed("_&&_", children[-1])
        return children[0] if len(children) == 1 else _joined(*children)

    def conditionaland(self, children: list[Any]) -> Part | _Terms:
        return children[0] if len(children) == 1 else _joined(*children)

    def relation(self, children: list[Any]) -> Part:
        return children[0] if len(children) == 1 else _operator(children, RELATION)

    def addition(self, children: list[Any]) -> Part:
        return children[0] if len(children) == 1 else _operator(children, CALC)

    multiplication = addition

    def unary_not(self, children: list[Any]) -> Part:
        return _negation(children, "!_")

    def unary_neg(self, children: list[Any]) -> Part:
        return _negation(children, "-_")

    def member_dot(self, children: list[Any]) -> Part:
        operand, dot, name = children
        part = chain(Select(_pos(dot), operand.expr, _field_name(name)), MEMBER, operand, (), EXPR)
        part.name = f"{operand.name}.{name}" if operand.name and name.type == "IDENT" else ""
        return part

    def member_dot_opt(self, children: list[Any]) -> Part:
        operand, dot, _, name = children
        _require_optional(dot, ".?")
        field = Const(_pos(name), _field_name(name))
        return chain(Call(_pos(dot), "_?._", None, (operand.expr, field)), MEMBER, operand, (), EXPR)

    def member_dot_arg(self, children: list[Any]) -> Part:
        target, _, name, paren, *rest = children
        args = rest[0] if len(rest) > 1 else ()
        expr, extra = _macro_or_call(_pos(paren), str(name), target, args)
        return _sized(chain(expr, MEMBER, target, args, EXPR), extra, _pos(paren), str(name))

    def member_index(self, children: list[Any]) -> Part:
        target, bracket, index, _ = children
        return chain(Call(_pos(bracket), "_[_]", None, (target.expr, index.expr)), MEMBER, target, (index,), EXPR)

    def member_index_opt(self, children: list[Any]) -> Part:
        target, bracket, _, index, _ = children
        _require_optional(bracket, "[?")
        return chain(Call(_pos(bracket), "_[?_]", None, (target.expr, index.expr)), MEMBER, target, (index,), EXPR)

    def member_object(self, children: list[Any]) -> Part:
        target, brace = children[:2]
        if not target.name:
            _wrong(_pos(brace), "Syntax error: mismatched input '{' expecting <EOF>")
        _allow_reserved(target.expr)
        entries, parts = _entries(_members(children[1:]))
        return group(StructExpr(_pos(brace), target.name, entries), parts)

    def ident(self, children: list[Any]) -> Part:
        name = "".join(children)
        if _is_reserved(children):
            return Part(Expr(_pos(children[0])), name=name)
        return Part(Ident(_pos(children[-1]), name), name=name)

    dot_ident = ident

    def ident_arg(self, children: list[Any]) -> Part:
        return _global_call(children[:1], *children[1:])

    def dot_ident_arg(self, children: list[Any]) -> Part:
        return _global_call(children[:2], *children[2:])

    def exprlist(self, children: list[Any]) -> list[Part]:
        return children[::2]

    def paren_expr(self, children: list[Any]) -> Part:
        inner: Part = children[1]
        return group(inner.expr, (inner,))

    def list_lit(self, children: list[Any]) -> Part:
        elements = _members(children)
        optional = frozenset(index for index, (question, _) in enumerate(elements) if question)
        parts = [part for _, part in elements]
        return group(ListExpr(_pos(children[0]), tuple(part.expr for part in parts), optional), parts)

    def map_lit(self, children: list[Any]) -> Part:
        entries, parts = _entries(_members(children))
        return group(MapExpr(_pos(children[0]), entries), parts)

    def listinit(self, children: list[Any]) -> tuple[bool, Part]:
        return _optional(children), children[-1]

    def mapinit(self, children: list[Any]) -> tuple[MapEntry, Sequence[Part]]:
        optional = _optional(children)
        key, colon, value = children
        return MapEntry(_pos(colon), key.expr, value.expr, optional), (key, value)

    def fieldinit(self, children: list[Any]) -> tuple[MapEntry, Sequence[Part]]:
        optional = _optional(children)
        name, colon, value = children
        return MapEntry(_pos(colon), _field_name(name), value.expr, optional), (value,)

    def literal(self, children: list[Any]) -> Part:
        (token,) = children
        return _literal(_pos(token), token.type, str(token))

    def signed_lit(self, children: list[Any]) -> Part:
        minus, number = children
        part = _literal(_pos(minus), number.type, f"-{number}")
        if isinstance(part.expr, Const):
            part.negated = "-_", Const(_pos(minus), -part.expr.value)
        return part


def _global_call(name: Sequence[Token], paren: Token, *rest: Any) -> Part:
    args = rest[0] if len(rest) > 1 else ()
    if _is_reserved(name):
        return group(Expr(_pos(name[0])), args)
    expr, extra = _macro_or_call(_pos(paren), "".join(name), None, args)
    return _sized(group(expr, args), extra, _pos(paren), "".join(name))


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
