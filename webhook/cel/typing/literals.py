"""What cel-go refuses in an expression whose types are correct.

Literals that a function would refuse whenever it is called (``duration('1x')``), patterns
that do not compile, and literal lists and maps of mixed types. The checks of cel-go's
``cel/validator.go`` with its messages.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import re2

from webhook.cel.errors import CelError, Issue
from webhook.cel.syntax.ast import Call, Const, Expr, ListExpr, MapExpr
from webhook.cel.typing.unify import equivalent, format_type

if TYPE_CHECKING:
    from webhook.cel.types import Type
    from webhook.cel.typing.checker import Checked

__all__ = ["mixed_literals", "refused_literals"]

_MIXED_ALLOWED = "format"  # the list of arguments of string.format
_PATTERN = re2.Options()
_PATTERN.log_errors = False  # re2 would print invalid patterns on stderr
_PATTERN.max_mem = 8 << 20


def refused_literals(checked: Checked) -> Iterator[Issue]:
    """Literal arguments of ``duration``, ``timestamp`` and ``matches`` that always fail."""
    for node in checked.expr.walk():
        if not isinstance(node, Call) or not node.args or not isinstance(node.args[0], Const):
            continue
        literal = node.args[0]
        if node.function in ("duration", "timestamp"):
            refused = node.target is None and not _converts(checked, node, literal)
        else:
            refused = node.function == "matches" and not _is_pattern(literal.value)
        if refused:
            yield Issue.at(checked.source, literal.pos, f"invalid {node.function} argument")


def mixed_literals(checked: Checked) -> Iterator[Issue]:
    """Elements, keys and values whose type differs from that of the first in the same literal."""
    pending: list[tuple[Expr, bool]] = [(checked.expr, False)]
    while pending:
        node, allowed = pending.pop()
        allowed = allowed or (isinstance(node, Call) and node.function == _MIXED_ALLOWED)
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
