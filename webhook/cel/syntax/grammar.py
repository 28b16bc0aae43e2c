"""The parser of CEL, from the grammar saved beside this module.

Building LALR tables takes ten times as long as loading them, and every start of the gate or
of its command line would pay for it. So ``cel.lark`` is kept with its tables
(``cel.lark.tables``, written by ``python -m webhook.cel.syntax.grammar``). The tables' first line
names the Lark release and the grammar they were made from; tables of another are not used.
"""

from __future__ import annotations

import io
from functools import cache
from hashlib import sha256
from pathlib import Path

import lark

from webhook.cel.syntax.treebuilder import TreeBuilder

__all__ = ["GRAMMAR", "TABLES", "fresh", "parser", "save"]

GRAMMAR = Path(__file__).with_name("cel.lark")
TABLES = GRAMMAR.with_name("cel.lark.tables")


@cache
def parser() -> lark.Lark:
    """The parser, one for the process; it may be used by many threads at once."""
    header, _, tables = _read_tables().partition(b"\n")
    if header != _header():
        return _build(TreeBuilder())
    # Lark.load takes no transformer; what it calls does, and the header says that it is this Lark
    return lark.Lark.__new__(lark.Lark)._load(io.BytesIO(tables), transformer=TreeBuilder())  # noqa: SLF001


def fresh() -> bool:
    """Whether the tables are those of this grammar and this Lark."""
    return _read_tables().partition(b"\n")[0] == _header()


def save() -> None:
    """Write the tables, unless they are fresh: Lark numbers their states differently each time."""
    if fresh():
        return
    buffer = io.BytesIO()
    _build(None).save(buffer)
    TABLES.write_bytes(_header() + b"\n" + buffer.getvalue())


def _build(transformer: TreeBuilder | None) -> lark.Lark:
    return lark.Lark(
        GRAMMAR.read_text("utf-8"),
        parser="lalr",
        lexer="basic",
        maybe_placeholders=False,
        transformer=transformer,  # any object with methods named as the rules
    )


def _header() -> bytes:
    return f"lark {lark.__version__} {sha256(GRAMMAR.read_bytes()).hexdigest()}".encode()


def _read_tables() -> bytes:
    try:
        return TABLES.read_bytes()
    except OSError:
        return b""


if __name__ == "__main__":
    save()
