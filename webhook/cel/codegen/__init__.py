"""The fast backend: one generated Python function for an expression."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from webhook.cel.codegen.code import Block, render
    from webhook.cel.codegen.generate import defined
    from webhook.cel.codegen.listing import file_name
    from webhook.cel.codegen.runtime import GLOBALS
    from webhook.cel.codegen.variables import Around

__all__ = [
    "GLOBALS",
    "Around",
    "Block",
    "defined",
    "file_name",
    "render",
]

_MODULES: Final = {
    **dict.fromkeys(("Block", "render"), "code"),
    "defined": "generate",
    "file_name": "listing",
    "GLOBALS": "runtime",
    "Around": "variables",
}
"""The module of each name, which is loaded when the name is first used."""

if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        if name not in _MODULES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        value = globals()[name] = getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
        return value
