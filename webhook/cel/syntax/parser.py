"""From source text to the syntax tree, macros expanded: cel-python's grammar with the overlay ``kubernetes.lark``.

Building the LALR tables of the parser takes twenty times as long as loading them, too long for every start of the
gate and of the command line. ``python -m webhook.cel.syntax.parser`` writes the tables beside the overlay. Their first
line is the key: the hashes of both grammar files, the releases of cel-python and Lark, and the class of the callbacks.
Tables with another key are ignored, and the parser is built from the files.
"""

from __future__ import annotations

import io
import sys
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

import lark
from lark.exceptions import UnexpectedInput

from webhook.cel.errors import GrammarUnavailable, Issue, ParseFailure
from webhook.cel.syntax import celpython, macros
from webhook.cel.syntax.errors import problem
from webhook.cel.syntax.reading import READING, Dialect, NestingError, Reading
from webhook.cel.syntax.treebuilder import TreeBuilder

if TYPE_CHECKING:
    from webhook.cel.syntax.ast import Expr

__all__ = ["FULL", "OVERLAY", "SIZE_LIMIT", "TABLES", "Dialect", "build", "fresh", "parse", "parser", "save"]

OVERLAY = Path(__file__).with_name("kubernetes.lark")
TABLES = OVERLAY.with_name("kubernetes.lark.tables")
SIZE_LIMIT = 100_000  # code points, cel-go's default
FULL = Dialect(macros.macros(macros.STANDARD, macros.OPTIONAL, macros.TWO_VARIABLE, macros.LISTS))


def parse(source: str, dialect: Dialect = FULL) -> Expr:
    """Parse an expression.

    Raises :class:`ParseFailure` with the line and column of the first syntax error, in cel-go's words. The time
    is linear in the size of the source, which may have 100,000 code points. Nesting is limited
    to 250 levels, as in cel-go.
    """
    if len(source) > SIZE_LIMIT:
        message = f"expression code point size exceeds limit: size: {len(source)}, limit {SIZE_LIMIT}"
        raise ParseFailure(source, [Issue(message)])
    reading = Reading(dialect)
    token = READING.set(reading)
    try:
        expr: Expr = parser().parse(source).expr  # type: ignore[attr-defined]  # a Part, made by TreeBuilder
    except NestingError as error:
        raise ParseFailure(source, [Issue(str(error))]) from None
    except UnexpectedInput as error:
        raise ParseFailure(source, [problem(source, error), *_issues(source, reading)]) from None
    finally:
        READING.reset(token)
    if reading.problems:
        raise ParseFailure(source, _issues(source, reading))
    return expr


def _issues(source: str, reading: Reading) -> list[Issue]:
    return [Issue.at(source, pos, message) for pos, message in reading.problems]


@cache
def parser() -> lark.Lark:
    """The parser, one for the process; many threads may use it at once.

    Raises:
        GrammarUnavailable: cel-python is missing, or has another grammar than the one that the overlay extends.
    """
    celpython.require()
    key, _, tables = _read_tables().partition(b"\n")
    return lark.Lark.load(io.BytesIO(tables)) if key == _key() else build()


def build() -> lark.Lark:
    """The parser, built from the grammar files; raises as :func:`parser`."""
    celpython.require()
    return lark.Lark(
        OVERLAY.read_text("utf-8"),
        parser="lalr",
        lexer="basic",
        maybe_placeholders=False,
        keep_all_tokens=True,  # an operator has a position only if its token is kept
        import_paths=[str(celpython.folder())],
        transformer=TreeBuilder(),  # any object with methods named like the rules; the tables refer to it by name
    )


def fresh() -> bool:
    """Whether the tables were built from these grammar files, with this cel-python and this Lark."""
    return _read_tables().partition(b"\n")[0] == _key()


def save() -> None:
    """Write the tables unless they are up to date: Lark numbers their states differently each time."""
    if fresh():
        return
    buffer = io.BytesIO()
    build().save(buffer, exclude_options=["import_paths"])  # a path of this machine
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
