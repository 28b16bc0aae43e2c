"""The text of one of cel-python's syntax trees.

cel-python's parser drops punctuation and keeps the words with their positions. This module puts
the words back at their positions and the punctuation between them. Blanks before ``&&``, ``.``
or a bracket are lost, so these tokens move to the left.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import cycle
from typing import Any, Final

from lark import Token, Tree

# the tokens of each rule of cel.lark before, between and after its children
_BEFORE: Final = {"dot_ident": ".", "dot_ident_arg": ".", "paren_expr": "(", "list_lit": "[", "map_lit": "{"}
_BETWEEN: Final = {
    "expr": ("?", ":"),
    "conditionalor": ("||",),
    "conditionaland": ("&&",),
    "member_dot": (".",),
    "member_dot_arg": (".", "("),
    "member_index": ("[",),
    "member_object": ("{",),
    "dot_ident_arg": ("(",),
    "ident_arg": ("(",),
    "exprlist": (",",),
    "fieldinits": (":", ","),
    "mapinits": (":", ","),
}
_AFTER: Final = {
    "relation_lt": "<",
    "relation_le": "<=",
    "relation_gt": ">",
    "relation_ge": ">=",
    "relation_eq": "==",
    "relation_ne": "!=",
    "relation_in": "in",
    "addition_add": "+",
    "addition_sub": "-",
    "multiplication_mul": "*",
    "multiplication_div": "/",
    "multiplication_mod": "%",
    "unary_not": "!",
    "unary_neg": "-",
    "member_dot_arg": ")",
    "member_index": "]",
    "member_object": "}",
    "dot_ident_arg": ")",
    "ident_arg": ")",
    "paren_expr": ")",
    "list_lit": "]",
    "map_lit": "}",
}
_WITH_ARGUMENTS: Final = {"member_dot_arg": 3, "member_object": 2, "dot_ident_arg": 2, "ident_arg": 2}
"""The number of children of a rule whose brackets are not empty."""


def spelled(tree: Tree[Any]) -> str:
    """An expression with the same meaning as a tree from ``celpy.Environment.compile``."""
    page = _Page()
    waiting: list[Any] = [tree]
    while waiting:
        item = waiting.pop()
        if isinstance(item, Tree):
            waiting.extend(reversed(list(_pieces(item))))
        else:
            page.add(item)
    return "".join(page.parts)


def _pieces(tree: Tree[Any]) -> Iterator[Any]:
    rule, children = str(tree.data), tree.children
    if rule in _BEFORE:
        yield _BEFORE[rule]
    between = _BETWEEN.get(rule, ("",))
    for index, (child, sign) in enumerate(zip(children, cycle(between), strict=False), 1):
        yield child
        if index < len(children) or index < _WITH_ARGUMENTS.get(rule, 0):
            yield sign
    if rule in _AFTER:
        yield _last(tree, _AFTER[rule])


def _last(tree: Tree[Any], sign: str) -> str:
    """The operator that ends a rule, placed at the end of the rule: ``inx`` must not become ``in x``."""
    meta = tree.meta
    if meta.empty:
        return sign
    return Token("SIGN", sign, meta.end_pos - len(sign), meta.end_line, meta.end_column - len(sign))


class _Page:
    """Text written from left to right, with blanks and line breaks up to the position of each token."""

    def __init__(self) -> None:
        self.parts: list[str] = []
        self.size = 0
        self.line = 1

    def add(self, piece: str) -> None:
        if isinstance(piece, Token) and piece.start_pos is not None and piece.start_pos >= self.size:
            self._put(self._gap(piece, piece.start_pos - self.size))
        elif self.parts and _is_word(self.parts[-1][-1]) and _is_word(piece[:1]):
            self._put(" ")
        self._put(str(piece))

    def _gap(self, token: Token, width: int) -> str:
        breaks = (token.line or 1) - self.line
        indent = (token.column or 1) - 1
        if breaks < 1 or breaks + indent > width:
            return " " * width
        return " " * (width - breaks - indent) + "\n" * breaks + " " * indent

    def _put(self, text: str) -> None:
        if not text:
            return
        self.parts.append(text)
        self.size += len(text)
        self.line += text.count("\n")


def _is_word(char: str) -> bool:
    return char == "_" or char.isalnum()
