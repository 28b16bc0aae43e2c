"""From the text of an expression to its syntax tree."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from webhook.ground.later import later

if TYPE_CHECKING:
    from webhook.cel.syntax.ast import RESERVED, Call, Comprehension, Const, Expr, Ident, ListExpr, MapExpr, Select
    from webhook.cel.syntax.parser import parse
    from webhook.cel.syntax.reading import position

__all__ = [
    "RESERVED",
    "Call",
    "Comprehension",
    "Const",
    "Expr",
    "Ident",
    "ListExpr",
    "MapExpr",
    "Select",
    "parse",
    "position",
]

_MODULES: Final = {
    **dict.fromkeys(
        ("RESERVED", "Call", "Comprehension", "Const", "Expr", "Ident", "ListExpr", "MapExpr", "Select"), "ast"
    ),
    "parse": "parser",
    "position": "reading",
}
"""The module of each name, which is loaded when the name is first used."""

if not TYPE_CHECKING:
    __getattr__ = later(__name__, _MODULES)
