"""From source text to the syntax tree, macros expanded."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lark.exceptions import UnexpectedCharacters, UnexpectedInput, UnexpectedToken

from webhook.cel import macros
from webhook.cel.errors import Issue, ParseFailure
from webhook.cel.grammar import parser
from webhook.cel.nesting import NestingError
from webhook.cel.treebuilder import DIALECT, Dialect, SyntaxIssueError

if TYPE_CHECKING:
    from webhook.cel.ast import Expr

__all__ = ["FULL", "SIZE_LIMIT", "Dialect", "parse"]

SIZE_LIMIT = 100_000  # code points, cel-go's default
FULL = Dialect(macros.macros(macros.STANDARD, macros.OPTIONAL, macros.TWO_VARIABLE, macros.LISTS))

# the order of cel-go's token types, and their names in its messages
_TOKENS = {
    "EQUALS": "'=='", "NOT_EQUALS": "'!='", "IN": "'in'", "LESS": "'<'", "LESS_EQUALS": "'<='",
    "GREATER_EQUALS": "'>='", "GREATER": "'>'", "AND": "'&&'", "OR": "'||'", "LBRACKET": "'['", "RSQB": "']'",
    "LBRACE": "'{'", "RBRACE": "'}'", "LPAREN": "'('", "RPAR": "')'", "DOT": "'.'", "COMMA": "','", "MINUS": "'-'",
    "EXCLAM": "'!'", "QUESTION": "'?'", "COLON": "':'", "PLUS": "'+'", "STAR": "'*'", "SLASH": "'/'",
    "PERCENT": "'%'", "TRUE": "'true'", "FALSE": "'false'", "NULL": "'null'", "FLOAT": "NUM_FLOAT",
    "INT": "NUM_INT", "UINT": "NUM_UINT", "STRING": "STRING", "BYTES": "BYTES", "IDENT": "IDENTIFIER",
    "ESC_IDENT": "ESC_IDENTIFIER", "$END": "<EOF>",
}  # fmt: skip


def parse(source: str, dialect: Dialect = FULL) -> Expr:
    """The expression that ``source`` is.

    Raises :class:`ParseFailure` with the first thing wrong, its line and column, in cel-go's
    words. Linear in the size of the source, which may have 100,000 code points; nesting is
    limited to cel-go's 250.
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
        raise ParseFailure(source, [_syntax_issue(source, error)]) from None
    finally:
        DIALECT.reset(token)


def _syntax_issue(source: str, error: UnexpectedInput) -> Issue:
    if isinstance(error, UnexpectedCharacters):
        at = error.pos_in_stream or 0
        return Issue.at(source, at, f"Syntax error: token recognition error at: '{source[at]}'")
    assert isinstance(error, UnexpectedToken)
    token = error.token
    at_end = token.type == "$END"
    found = "<EOF>" if at_end else str(token)
    offset = len(source) if at_end else token.start_pos or 0
    return Issue.at(source, offset, f"Syntax error: mismatched input '{found}' expecting {_expected(error)}")


def _expected(error: UnexpectedToken) -> str:
    names = [name for token, name in _TOKENS.items() if token in error.accepts]
    return names[0] if len(names) == 1 else f"{{{', '.join(names)}}}"
