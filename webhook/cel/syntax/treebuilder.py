"""Build the syntax tree directly from the grammar's reductions, without a parse tree.

The class has one method for each rule of cel-python's ``cel.lark`` and of the overlay
``kubernetes.lark``. The LALR parser calls it with everything that the rule matched: tokens and
:class:`Part` values. Nothing recurses, so that any nesting is refused with a proper error. Nodes
have cel-go's positions: an operator that of its sign, a call that of its parenthesis, a macro's
expansion that of the call.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from webhook.cel.syntax import literals, macros
from webhook.cel.syntax.ast import RESERVED, Call, Const, Expr, Ident, ListExpr, MapEntry, MapExpr, Select, StructExpr
from webhook.cel.syntax.reading import (
    CALC,
    EXPR,
    MEMBER,
    READING,
    RELATION,
    Part,
    Terms,
    chain,
    closed,
    conditional,
    group,
    joined,
    negation,
    operator,
    position,
    wrong,
)

if TYPE_CHECKING:
    from lark import Token

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


def _field_name(token: Token) -> str:
    if token.type != "ESC_IDENT":
        return str(token)
    if not READING.get().dialect.quoted_fields:
        wrong(position(token), "unsupported syntax: '`'")
    return str(token)[1:-1]


def _optional(children: list[Any]) -> bool:
    """Whether the children start with a question mark, which is removed."""
    if getattr(children[0], "type", "") != "QMARK":
        return False
    _require_optional(children.pop(0), "?")
    return True


def _require_optional(token: Token, syntax: str) -> None:
    if not READING.get().dialect.optional_syntax:
        wrong(position(token), f"unsupported syntax '{syntax}'")


def _macro_or_call(pos: int, function: str, target: Part | None, args: Sequence[Part]) -> tuple[Expr, int]:
    """The call or the expansion of its macro, and the number of nodes that the expansion adds."""
    receiver = None if target is None else target.expr
    values = tuple(arg.expr for arg in args)
    expander = READING.get().dialect.macros.get((function, len(values), target is not None))
    if expander is None:
        return Call(pos, function, receiver, values), 0
    try:
        expr = expander(pos, receiver, values)
    except macros.MacroError as error:
        return wrong(error.pos, str(error)), 0
    return expr, 8 + (target.size if target is not None and function in ("optMap", "optFlatMap") else 0)


def _sized(part: Part, extra: int, pos: int, function: str) -> Part:
    part.size += extra
    if extra and part.size > _SIZE_LIMIT:
        message = f"expression count exceeds limit of {_SIZE_LIMIT} while expanding macro '{function}'"
        part.expr, part.size = wrong(pos, message), 1
    return part


def _appended(children: list[Any]) -> list[Any]:
    """A list in a left-recursive rule: its first item, or the list so far, a comma and the next item."""
    if len(children) == 1:
        return children
    items: list[Any] = children[0]
    items.append(children[2])
    return items


def _members(children: list[Any]) -> list[Any]:
    """The items between two brackets, possibly none; a trailing comma is allowed."""
    return children[1] if isinstance(children[1], list) else []


class TreeBuilder:
    """The callbacks of the grammar; stateless, so many parses may use it at once.

    Each operand passes a dozen rules. Rules that pass on a single child do so in C, or in their first line.
    """

    unary = member = primary = staticmethod(itemgetter(0))
    relation_lt = relation_le = relation_gt = relation_ge = relation_eq = relation_ne = relation_in = tuple
    addition_add = addition_sub = multiplication_mul = multiplication_div = multiplication_mod = tuple
    fieldinits = mapinits = listinits = staticmethod(_appended)

    def start(self, children: list[Any]) -> Part:
        return group(children[0].expr, children)

    def expr(self, children: list[Any]) -> Part:
        if len(children) == 1:
            return closed("_||_", children[0]) if children[0].__class__ is Terms else children[0]
        condition, token, then, _, otherwise = children
        return conditional(token, closed("_||_", condition), closed("_||_", then), otherwise)

    def conditionalor(self, children: list[Any]) -> Part | Terms:
        if children[-1].__class__ is Terms:
            children[-1] = closed("_&&_", children[-1])
        return children[0] if len(children) == 1 else joined(*children)

    def conditionaland(self, children: list[Any]) -> Part | Terms:
        return children[0] if len(children) == 1 else joined(*children)

    def relation(self, children: list[Any]) -> Part:
        return children[0] if len(children) == 1 else operator(children, RELATION)

    def addition(self, children: list[Any]) -> Part:
        return children[0] if len(children) == 1 else operator(children, CALC)

    multiplication = addition

    def unary_not(self, children: list[Any]) -> Part:
        return negation(children, "!_")

    def unary_neg(self, children: list[Any]) -> Part:
        return negation(children, "-_")

    def member_dot(self, children: list[Any]) -> Part:
        operand, dot, name = children
        part = chain(Select(position(dot), operand.expr, _field_name(name)), MEMBER, operand, (), EXPR)
        part.name = f"{operand.name}.{name}" if operand.name and name.type == "IDENT" else ""
        return part

    def member_dot_opt(self, children: list[Any]) -> Part:
        operand, dot, _, name = children
        _require_optional(dot, ".?")
        field = Const(position(name), _field_name(name))
        return chain(Call(position(dot), "_?._", None, (operand.expr, field)), MEMBER, operand, (), EXPR)

    def member_dot_arg(self, children: list[Any]) -> Part:
        target, _, name, paren, *rest = children
        args = rest[0] if len(rest) > 1 else ()
        expr, extra = _macro_or_call(position(paren), str(name), target, args)
        return _sized(chain(expr, MEMBER, target, args, EXPR), extra, position(paren), str(name))

    def member_index(self, children: list[Any]) -> Part:
        target, bracket, index, _ = children
        return chain(Call(position(bracket), "_[_]", None, (target.expr, index.expr)), MEMBER, target, (index,), EXPR)

    def member_index_opt(self, children: list[Any]) -> Part:
        target, bracket, _, index, _ = children
        _require_optional(bracket, "[?")
        return chain(Call(position(bracket), "_[?_]", None, (target.expr, index.expr)), MEMBER, target, (index,), EXPR)

    def member_object(self, children: list[Any]) -> Part:
        target, brace = children[:2]
        if not target.name:
            wrong(position(brace), "Syntax error: mismatched input '{' expecting <EOF>")
        _allow_reserved(target.expr)
        entries, parts = _entries(_members(children[1:]))
        return group(StructExpr(position(brace), target.name, entries), parts)

    def ident(self, children: list[Any]) -> Part:
        name = "".join(children)
        if _is_reserved(children):
            return Part(Expr(position(children[0])), name=name)
        return Part(Ident(position(children[-1]), name), name=name)

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
        return group(ListExpr(position(children[0]), tuple(part.expr for part in parts), optional), parts)

    def map_lit(self, children: list[Any]) -> Part:
        entries, parts = _entries(_members(children))
        return group(MapExpr(position(children[0]), entries), parts)

    def listinit(self, children: list[Any]) -> tuple[bool, Part]:
        return _optional(children), children[-1]

    def mapinit(self, children: list[Any]) -> tuple[MapEntry, Sequence[Part]]:
        optional = _optional(children)
        key, colon, value = children
        return MapEntry(position(colon), key.expr, value.expr, optional), (key, value)

    def fieldinit(self, children: list[Any]) -> tuple[MapEntry, Sequence[Part]]:
        optional = _optional(children)
        name, colon, value = children
        return MapEntry(position(colon), _field_name(name), value.expr, optional), (value,)

    def literal(self, children: list[Any]) -> Part:
        (token,) = children
        return _literal(position(token), token.type, str(token))

    def signed_lit(self, children: list[Any]) -> Part:
        minus, number = children
        part = _literal(position(minus), number.type, f"-{number}")
        if isinstance(part.expr, Const):
            part.negated = "-_", Const(position(minus), -part.expr.value)
        return part


def _global_call(name: Sequence[Token], paren: Token, *rest: Any) -> Part:
    args = rest[0] if len(rest) > 1 else ()
    if _is_reserved(name):
        return group(Expr(position(name[0])), args)
    expr, extra = _macro_or_call(position(paren), "".join(name), None, args)
    return _sized(group(expr, args), extra, position(paren), "".join(name))


def _is_reserved(name: Sequence[Token]) -> bool:
    """Whether a name is reserved; if so, note a problem."""
    reserved = str(name[-1]) in RESERVED
    if reserved:
        wrong(position(name[0]), f"reserved identifier: {name[-1]}")
    return reserved


def _allow_reserved(expr: Expr) -> None:
    """A type name may start with a reserved word: remove the problem noted for its first name."""
    while isinstance(expr, Select):
        expr = expr.operand
    problems = READING.get().problems
    problems[:] = [(pos, text) for pos, text in problems if pos != expr.pos or not text.startswith("reserved")]


def _literal(pos: int, kind: str, text: str) -> Part:
    try:
        return Part(Const(pos, _LITERALS[kind](text)))
    except ValueError as error:
        return Part(wrong(pos, str(error)))


def _entries(entries: Sequence[tuple[MapEntry, Sequence[Part]]]) -> tuple[tuple[MapEntry, ...], list[Part]]:
    return tuple(entry for entry, _ in entries), [part for _, parts in entries for part in parts]
