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
_ERROR_LIMIT = 30  # cel-go repairs no more often
_REPAIRED_SIZE = 4_096  # code points; what is larger is read once only, so that no input takes long


def parse(source: str, dialect: Dialect = FULL) -> Expr:
    """The expression that ``source`` is.

    Raises :class:`ParseFailure` with line and column of what is wrong, in cel-go's words. Time is
    linear in the size of the source, which may have 100,000 code points; nesting is limited
    to cel-go's 250.
    """
    if len(source) > SIZE_LIMIT:
        message = f"expression code point size exceeds limit: size: {len(source)}, limit {SIZE_LIMIT}"
        raise ParseFailure(source, [Issue(message)])
    found, issues = _read(source, dialect)
    if found is None or issues:
        raise ParseFailure(source, issues)
    return found


def _read(source: str, dialect: Dialect) -> tuple[Expr | None, list[Issue]]:
    """The expression, or what is wrong; after an error of syntax also of what is left when its cause is left out."""
    issues: list[Issue] = []
    text = source
    while True:
        reading = Reading(dialect)
        token = READING.set(reading)
        try:
            expr: Expr = parser().parse(text).expr  # type: ignore[attr-defined]  # a Part, made by TreeBuilder
        except NestingError as error:
            return None, [*issues, Issue(str(error))]
        except UnexpectedInput as error:
            found = problem(text, error)
        else:
            return expr, [*issues, *_issues(source, reading)]
        finally:
            READING.reset(token)
        issues.append(found.issue)
        if found.rest is None or len(text) > _REPAIRED_SIZE or len(issues) == _ERROR_LIMIT:
            return None, [*issues, *_issues(source, reading)]
        text = found.rest


def _issues(source: str, reading: Reading) -> list[Issue]:
    return [Issue.at(source, pos, message) for pos, message in reading.problems]
