"""The reserved words of CEL: they cannot be identifiers."""

from typing import Final

__all__ = ["RESERVED"]

RESERVED: Final = frozenset(
    {"as", "break", "const", "continue", "else", "false", "for", "function", "if", "import", "in"}
    | {"let", "loop", "package", "namespace", "null", "return", "true", "var", "void", "while"}
)
