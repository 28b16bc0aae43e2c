"""From the grammar's reductions to the syntax tree, without a parse tree in between.

One method for each rule of ``cel.lark`` (or alternative, where it has a name), called by the
LALR parser with what the rule matched: tokens and :class:`Part` values. Nothing recurses,
so no nesting is too deep to be refused properly. Nodes are placed where cel-go places
them: an operator at its sign, a call at its parenthesis, a macro's expansion at the call.
"""

from __future__ import annotations

from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from webhook.cel import literals, macros
from webhook.cel.ast import Call, Const, Expr, Ident, ListExpr, MapEntry, MapExpr, Select, StructExpr
from webhook.cel.nesting import CALC, EXPR, MEMBER, RELATION, Part, chain, conditional, group

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from lark import Token

__all__ = ["DIALECT", "Dialect", "SyntaxIssueError", "TreeBuilder"]

_RESERVED = frozenset(
    {"as", "break", "const", "continue", "else", "false", "for", "function", "if", "import", "in"}
    | {"let", "loop", "package", "namespace", "null", "return", "true", "var", "void", "while"}
)
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


DIALECT: ContextVar[Dialect] = ContextVar("dialect")  # of the parse that is running


class SyntaxIssueError(Exception):
    """The expression is refused at ``pos``."""

    def __init__(self, pos: int, message: str) -> None:
        super().__init__(message)
        self.pos = pos


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
    if not DIALECT.get().quoted_fields:
        raise SyntaxIssueError(_pos(token), "unsupported syntax: '`'")
    return str(token)[1:-1]


def _optional(children: list[Any], syntax: str = "?") -> bool:
    """Whether the children start with a question mark; removes it."""
    if getattr(children[0], "type", "") != "QUESTION":
        return False
    _require_optional(children.pop(0), syntax)
    return True


def _require_optional(token: Token, syntax: str) -> None:
    if not DIALECT.get().optional_syntax:
        raise SyntaxIssueError(_pos(token), f"unsupported syntax '{syntax}'")


def _negation(children: list[Any], function: str) -> Part:
    """``!x`` and ``-x``; pairs cancel, as in cel-go (``--5`` is 5, not the negation of a literal)."""
    token, operand = children
    if operand.negated is not None:
        expr, inner = operand.negated, None
    else:
        expr, inner = Call(_pos(token), function, None, (operand.expr,)), operand.expr
    return Part(expr, max(operand.level, MEMBER), operand.depths, operand.size + 1, "", inner or operand.expr)


def _macro_or_call(pos: int, function: str, target: Part | None, args: Sequence[Part]) -> tuple[Expr, int]:
    """The call or what its macro stands for, and how many nodes the expansion adds."""
    receiver = None if target is None else target.expr
    values = tuple(arg.expr for arg in args)
    expander = DIALECT.get().macros.get((function, len(values), target is not None))
    if expander is None:
        return Call(pos, function, receiver, values), 0
    try:
        expr = expander(pos, receiver, values)
    except macros.MacroError as error:
        raise SyntaxIssueError(error.pos, str(error)) from None
    return expr, 8 + (target.size if target is not None and function in ("optMap", "optFlatMap") else 0)


def _sized(part: Part, extra: int, pos: int, function: str) -> Part:
    part.size += extra
    if extra and part.size > _SIZE_LIMIT:
        message = f"expression count exceeds limit of {_SIZE_LIMIT} while expanding macro '{function}'"
        raise SyntaxIssueError(pos, message)
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
        operand, dot, question, name = children
        _require_optional(question, ".?")
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
        target, bracket, question, index = children
        _require_optional(question, "[?")
        return chain(Call(_pos(bracket), "_[?_]", None, (target.expr, index.expr)), MEMBER, target, (index,), EXPR)

    def message(self, children: list[Any]) -> Part:
        target, brace, *fields = children
        if not target.name:
            raise SyntaxIssueError(_pos(brace), "Syntax error: mismatched input '{' expecting <EOF>")
        entries, parts = _entries(fields)
        return group(StructExpr(_pos(brace), target.name, entries), parts)

    def ident(self, children: list[Any]) -> Part:
        name = "".join(children)
        return Part(Ident(_pos(children[-1]), _unreserved(children)), name=name)

    def global_call(self, children: list[Any]) -> Part:
        at = next(index for index, child in enumerate(children) if getattr(child, "type", "") == "LPAREN")
        expr, extra = _macro_or_call(_pos(children[at]), _unreserved(children[:at]), None, children[at + 1 :])
        return _sized(group(expr, children[at + 1 :]), extra, _pos(children[at]), str(children[at - 1]))

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
        part.negated = Const(_pos(minus), -part.expr.value)  # type: ignore[attr-defined]  # a Const, just built
        return part


# a rule called "not" cannot be a method by definition, only by assignment
setattr(TreeBuilder, "not", staticmethod(lambda children: _negation(children, "!_")))


def _unreserved(tokens: Sequence[Token]) -> str:
    if tokens[-1] in _RESERVED:
        raise SyntaxIssueError(_pos(tokens[0]), f"reserved identifier: {tokens[-1]}")
    return "".join(tokens)


def _literal(pos: int, kind: str, text: str) -> Part:
    try:
        return Part(Const(pos, _LITERALS[kind](text)))
    except ValueError as error:
        raise SyntaxIssueError(pos, str(error)) from None


def _entries(entries: Sequence[tuple[MapEntry, Sequence[Part]]]) -> tuple[tuple[MapEntry, ...], list[Part]]:
    return tuple(entry for entry, _ in entries), [part for _, parts in entries for part in parts]
