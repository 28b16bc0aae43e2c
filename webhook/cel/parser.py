"""From source text to the syntax tree, macros expanded."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lark.exceptions import UnexpectedInput

from webhook.cel import macros
from webhook.cel.errors import Issue, ParseFailure
from webhook.cel.grammar import parser
from webhook.cel.nesting import NestingError
from webhook.cel.syntaxerrors import problem
from webhook.cel.treebuilder import DIALECT, Dialect, SyntaxIssueError

if TYPE_CHECKING:
    from webhook.cel.ast import Expr

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
    token = DIALECT.set(dialect)
    try:
        return parser().parse(source).expr  # type: ignore[no-any-return, attr-defined]  # a Part, made by TreeBuilder
    except NestingError as error:
        raise ParseFailure(source, [Issue(str(error))]) from None
    except SyntaxIssueError as error:
        raise ParseFailure(source, [Issue.at(source, error.pos, str(error))]) from None
    except UnexpectedInput as error:
        raise ParseFailure(source, _syntax_issues(source, error)) from None
    finally:
        DIALECT.reset(token)


def _syntax_issues(source: str, error: UnexpectedInput) -> list[Issue]:
    """The issue, and those of what is left when its cause is left out."""
    issues: list[Issue] = []
    text = source
    while True:
        found = problem(text, error)
        issues.append(found.issue)
        if found.rest is None or len(text) > _REPAIRED_SIZE or len(issues) == _ERROR_LIMIT:
            return issues
        text = found.rest
        try:
            parser().parse(text)
        except UnexpectedInput as next_error:
            error = next_error
        except (NestingError, SyntaxIssueError):
            return issues
        else:
            return issues
