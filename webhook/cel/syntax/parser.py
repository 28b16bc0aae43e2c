"""From source text to the syntax tree, macros expanded."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lark.exceptions import UnexpectedInput

from webhook.cel.errors import Issue, ParseFailure
from webhook.cel.syntax import macros
from webhook.cel.syntax.errors import problem
from webhook.cel.syntax.grammar import parser
from webhook.cel.syntax.nesting import NestingError
from webhook.cel.syntax.reading import READING, Dialect, Reading

if TYPE_CHECKING:
    from webhook.cel.syntax.ast import Expr

__all__ = ["FULL", "SIZE_LIMIT", "Dialect", "parse"]

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
