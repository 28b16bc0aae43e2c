"""Checks ``'%d'.format([x])`` before it runs: the clauses against the types of a literal list of arguments.

The checks of the validator that comes with cel-go's string extension (``ext/formatting.go``).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from webhook.cel.errors import CelError, Issue
from webhook.cel.library.stringformat import CLAUSE_ERRORS, interpolate
from webhook.cel.syntax.ast import Call, Const, Expr, ListExpr, MapExpr
from webhook.cel.values.value import type_name

if TYPE_CHECKING:
    from webhook.cel.typing.checker import Checked

__all__ = ["refused_formats"]

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


def refused_formats(checked: Checked) -> Iterator[Issue]:
    """Invalid format strings, arguments of the wrong type, and too many arguments."""
    for node in checked.expr.walk():
        if isinstance(node, Call) and node.function == "format" and len(node.args) == 1:
            arguments = node.args[0]
            if (
                isinstance(node.target, Const)
                and isinstance(node.target.value, str)
                and isinstance(arguments, ListExpr)
            ):
                yield from _refused(checked, node, node.target.value, arguments)


def _refused(checked: Checked, call: Call, text: str, arguments: ListExpr) -> Iterator[Issue]:
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
        interpolate(text, len(arguments.elements), render, checking=True)
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
