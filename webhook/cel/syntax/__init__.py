"""From the text of an expression to its syntax tree."""

from __future__ import annotations

from typing import TYPE_CHECKING

from webhook.ground.later import later

if TYPE_CHECKING:
    from webhook.cel.syntax.ast import RESERVED, Call, Comprehension, Const, Expr, Ident, ListExpr, MapExpr, Select
    from webhook.cel.syntax.parser import parse
    from webhook.cel.syntax.reading import position

if not TYPE_CHECKING:
    __getattr__ = later(__name__)
