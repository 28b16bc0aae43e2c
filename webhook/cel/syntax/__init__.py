"""From the text of an expression to its syntax tree."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from webhook.cel.syntax.ast import Call, Const, Expr, Ident, ListExpr, MapExpr, Select
    from webhook.cel.syntax.parser import parse
    from webhook.cel.syntax.reading import position
    from webhook.cel.syntax.reserved import RESERVED

__all__ = [
    "RESERVED",
    "Call",
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
    **dict.fromkeys(("Call", "Const", "Expr", "Ident", "ListExpr", "MapExpr", "Select"), "ast"),
    "parse": "parser",
    "position": "reading",
    "RESERVED": "reserved",
}
"""The module of each name, which is loaded when the name is first used."""

if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        if name not in _MODULES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        value = globals()[name] = getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
        return value
