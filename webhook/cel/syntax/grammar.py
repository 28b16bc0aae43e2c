"""The parser of CEL: cel-python's grammar with the overlay ``kubernetes.lark``, as saved LALR tables.

Building the tables takes twenty times as long as loading them, and every start of the gate or
of its command line would pay for it. ``python -m webhook.cel.syntax.grammar`` writes them beside the
overlay. Their first line is their key: the hashes of both grammar files, the releases of
cel-python and Lark, and the class of the callbacks. Tables with another key are not used; the
parser is then built from the files.
"""

from __future__ import annotations

import io
import sys
from functools import cache
from hashlib import sha256
from pathlib import Path

import lark

from webhook.cel.errors import GrammarUnavailable
from webhook.cel.syntax import celpython
from webhook.cel.syntax.treebuilder import TreeBuilder

__all__ = ["OVERLAY", "TABLES", "build", "fresh", "parser", "save"]

OVERLAY = Path(__file__).with_name("kubernetes.lark")
TABLES = OVERLAY.with_name("kubernetes.lark.tables")


@cache
def parser() -> lark.Lark:
    """The parser, one for the process; many threads may use it at once.

    Raises:
        GrammarUnavailable: cel-python is missing, or its grammar is not the one that the overlay extends.
    """
    celpython.require()
    key, _, tables = _read_tables().partition(b"\n")
    return lark.Lark.load(io.BytesIO(tables)) if key == _key() else build()


def build() -> lark.Lark:
    """The parser, made from the grammar files; raises as :func:`parser`."""
    celpython.require()
    return lark.Lark(
        OVERLAY.read_text("utf-8"),
        parser="lalr",
        lexer="basic",
        maybe_placeholders=False,
        keep_all_tokens=True,  # an operator has a position only if its token is kept
        import_paths=[str(celpython.folder())],
        transformer=TreeBuilder(),  # any object with methods named as the rules; saved with the tables, by name
    )


def fresh() -> bool:
    """Whether the tables are those of both grammar files, this cel-python and this Lark."""
    return _read_tables().partition(b"\n")[0] == _key()


def save() -> None:
    """Write the tables, unless they are fresh: Lark numbers their states differently each time."""
    if fresh():
        return
    buffer = io.BytesIO()
    build().save(buffer, exclude_options=["import_paths"])  # a folder of this machine
    TABLES.write_bytes(_key() + b"\n" + buffer.getvalue())


def _key() -> bytes:
    overlay = sha256(OVERLAY.read_bytes()).hexdigest()
    callbacks = f"{TreeBuilder.__module__}.{TreeBuilder.__qualname__}"
    base = f"cel-python {celpython.version()} {celpython.grammar_hash()}"
    return f"{base} kubernetes.lark {overlay} lark {lark.__version__} {callbacks}".encode()


def _read_tables() -> bytes:
    try:
        return TABLES.read_bytes()
    except OSError:
        return b""


if __name__ == "__main__":
    try:
        save()
    except GrammarUnavailable as error:
        sys.exit(str(error))
