"""What cel-go refuses in an expression whose types are correct.

Literal lists and maps of mixed types, literals that a function would refuse whenever it is called
(``duration('1x')``), patterns that do not compile, and literal formats that do not fit a literal list of
arguments (``'%d'.format(['x'])``). The checks of cel-go's ``cel/validator.go`` and of its string extension
(``ext/formatting.go``) with their messages.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

import re2

from webhook.cel.errors import CelError, Issue
from webhook.cel.library.stringformat import CLAUSE_ERRORS, interpolate
from webhook.cel.syntax.ast import Call, Const, Expr, ListExpr, MapExpr
from webhook.cel.typing.unify import equivalent, format_type
from webhook.cel.values.value import type_name

if TYPE_CHECKING:
    from webhook.cel.types import Type
    from webhook.cel.typing.checker import Checked

_FORMAT: Final = "format"
_PATTERN: Final = re2.Options()
_PATTERN.log_errors = False  # re2 would print invalid patterns on stderr
_PATTERN.max_mem = 8 << 20
_INTEGERS: Final = frozenset({"int", "uint"})
_FLOATS: Final = frozenset({"double", "string"})  # a string may be "NaN" or "Infinity"
_HEXES: Final = frozenset({"int", "uint", "string", "bytes"})
_PRINTABLE: Final = frozenset(
    {"list", "map", "int", "uint", "double", "bool", "string", "timestamp", "bytes", "duration", "type", "null"}
)
_KINDS: Final = {
    "s": _PRINTABLE,
    "d": _INTEGERS,
    "f": _FLOATS,
    "e": _FLOATS,
    "b": _INTEGERS | {"bool"},
    "x": _HEXES,
    "X": _HEXES,
    "o": _INTEGERS,
}


def refused_parts(checked: Checked, *, arguments: bool) -> Iterator[Issue]:
    """Literals of mixed types; with ``arguments`` also literal arguments that always fail."""
    nodes = list(checked.expr.walk())
    if any(isinstance(node, (ListExpr, MapExpr)) for node in nodes):
        yield from _mixed_literals(checked)
    calls = [node for node in nodes if isinstance(node, Call) and node.args] if arguments else []
    for call in calls:
        yield from _refused_literal(checked, call)
    for call in calls:
        if call.function == _FORMAT and len(call.args) == 1:
            yield from _refused_format(checked, call)


def _mixed_literals(checked: Checked) -> Iterator[Issue]:
    """Elements, keys and values whose type differs from that of the first in the same literal.

    The arguments of a format may differ.
    """
    pending: list[tuple[Expr, bool]] = [(checked.expr, False)]
    while pending:
        node, allowed = pending.pop()
        allowed = allowed or (isinstance(node, Call) and node.function == _FORMAT)
        pending += ((child, allowed) for child in node.children)
        if not allowed and isinstance(node, ListExpr):
            types = [
                _element_type(checked, element, optional=index in node.optional)
                for index, element in enumerate(node.elements)
            ]
            yield from _mixed(checked, node.elements, types, once=True)
        elif not allowed and isinstance(node, MapExpr):
            keys = [entry.key for entry in node.entries if isinstance(entry.key, Expr)]
            values = [entry.value for entry in node.entries]
            value_types = [_element_type(checked, entry.value, optional=entry.optional) for entry in node.entries]
            yield from _mixed(checked, keys, [checked.types[key] for key in keys])
            yield from _mixed(checked, values, value_types)


def _element_type(checked: Checked, element: Expr, *, optional: bool) -> Type:
    of = checked.types[element]
    return of.params[0] if optional and of.params else of


def _mixed(checked: Checked, parts: Sequence[Expr], types: Sequence[Type], *, once: bool = False) -> Iterator[Issue]:
    for part, of in zip(parts[1:], types[1:], strict=True):
        if not equivalent(types[0], of):
            message = f"expected type '{format_type(types[0])}' but found '{format_type(of)}'"
            yield Issue.at(checked.source, part.pos, message)
            if once:
                return


def _refused_literal(checked: Checked, call: Call) -> Iterator[Issue]:
    """The first argument of ``duration``, ``timestamp`` or ``matches``, if it always fails."""
    literal = call.args[0]
    if not isinstance(literal, Const):
        return
    if call.function in ("duration", "timestamp"):
        refused = call.target is None and not _converts(checked, call, literal)
    else:
        refused = call.function == "matches" and not _is_pattern(literal.value)
    if refused:
        yield Issue.at(checked.source, literal.pos, f"invalid {call.function} argument")


def _converts(checked: Checked, call: Call, literal: Const) -> bool:
    reference = checked.references.get(call)
    try:
        for overload in reference.overloads if reference else ():
            overload.impl(literal.value)
    except CelError:
        return False
    return True


def _is_pattern(value: object) -> bool:
    try:
        re2.compile(value, _PATTERN)
    except re2.error:
        return False
    return True


def _refused_format(checked: Checked, call: Call) -> Iterator[Issue]:
    """An invalid format, arguments of the wrong type, and too many arguments."""
    template, arguments = call.target, call.args[0]
    if not (isinstance(template, Const) and isinstance(template.value, str) and isinstance(arguments, ListExpr)):
        return
    culprit: Expr = call
    used = 0

    def render(letter: str, _precision: int | None, position: int) -> str:
        nonlocal culprit, used
        used += 1
        bad = _unprintable(checked, letter, arguments.elements[position])
        if bad is not None:
            culprit = bad
            raise CelError(CLAUSE_ERRORS[letter].format(type_name(checked.types[bad])))
        return ""

    try:
        interpolate(template.value, len(arguments.elements), render, checking=True)
    except CelError as error:
        yield Issue.at(checked.source, culprit.pos, error.message)
        return
    given = len(arguments.elements)
    if given > used:
        message = f"too many arguments supplied to string.format (expected {used}, got {given})"
        yield Issue.at(checked.source, call.pos, message)


def _unprintable(checked: Checked, letter: str, argument: Expr) -> Expr | None:
    """The argument, or the part of a literal argument, whose type the clause cannot print."""
    of = checked.types[argument]
    if of.kind != "dyn" and of.kind not in _KINDS[letter]:
        return argument
    if letter != "s":
        return None
    parts = argument.children if isinstance(argument, (ListExpr, MapExpr)) else ()
    return next((bad for part in parts if (bad := _unprintable(checked, letter, part)) is not None), None)
