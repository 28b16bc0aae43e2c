"""Syntax errors in the words of cel-go.

cel-go uses an ANTLR parser, which has four kinds of error. They differ in the repair: remove the
offending token (*extraneous*), insert one before it (*missing*), neither (*mismatched*), or the
rule is not known yet (*no viable alternative*). ANTLR continues after a repair; here the first error
is the only one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from copy import copy
from typing import Any

from lark import Token
from lark.exceptions import UnexpectedCharacters, UnexpectedInput, UnexpectedToken
from lark.lexer import LexerThread

from webhook.cel.errors import Issue

# in the order of cel-go's token types, with their names in its messages
_TOKENS = {
    "EQUALS": "'=='", "NOT_EQUALS": "'!='", "IN": "'in'", "LESSTHAN": "'<'", "LESS_EQUALS": "'<='",
    "GREATER_EQUALS": "'>='", "MORETHAN": "'>'", "AND": "'&&'", "OR": "'||'", "LSQB": "'['", "RSQB": "']'",
    "LBRACE": "'{'", "RBRACE": "'}'", "LPAR": "'('", "RPAR": "')'", "DOT": "'.'", "COMMA": "','", "MINUS": "'-'",
    "BANG": "'!'", "QMARK": "'?'", "COLON": "':'", "PLUS": "'+'", "STAR": "'*'", "SLASH": "'/'", "PERCENT": "'%'",
    "BOOL_LIT": "'true', 'false'", "NULL_LIT": "'null'", "FLOAT_LIT": "NUM_FLOAT", "INT_LIT": "NUM_INT",
    "UINT_LIT": "NUM_UINT", "STRING_LIT": "STRING", "BYTES_LIT": "BYTES", "IDENT": "IDENTIFIER",
    "ESC_IDENT": "ESC_IDENTIFIER", "$END": "<EOF>",
}  # fmt: skip
_TERMINATORS = frozenset(["RPAR", "RSQB", "RBRACE", "COLON", "COMMA", "$END"])
_BROKEN_LIMIT = 10  # broken tokens to skip in search of the next valid one

# the longest prefix of a token, and the character that does not continue it
_STRING_ESCAPE = r"\\([abfnrtv\"'?`\\]|[0-3][0-7][0-7]|[xX][0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8})"
_BROKEN_TOKEN = re.compile(
    rf"\"([^\\\"\n\r]|{_STRING_ESCAPE})*(\\?.|$)|'([^\\'\n\r]|{_STRING_ESCAPE})*(\\?.|$)|`[\w.\-/ ]*(.|$)|[=&|](.|$)|.",
    re.DOTALL | re.ASCII,
)


def problem(source: str, error: UnexpectedInput) -> Issue:
    """What stopped the parser."""
    if isinstance(error, UnexpectedCharacters):
        start = error.pos_in_stream or 0
        return _issue(source, start, f"token recognition error at: '{_broken_token(source, start)}'")
    assert isinstance(error, UnexpectedToken)
    return _Unexpected(source, error).issue()


def _issue(source: str, at: int, message: str) -> Issue:
    text = f"Syntax error: {message}"
    return Issue.at(source, at, text) if source else Issue(text, 1)


def _broken_token(source: str, start: int) -> str:
    found = _BROKEN_TOKEN.match(source, start)
    return found[0] if found else source[start]


class _Unexpected:
    """A token at a place where it is not allowed."""

    def __init__(self, source: str, error: UnexpectedToken) -> None:
        self.source = source
        self.token = error.token
        self.at_end = self.token.type == "$END"
        self.text = "<EOF>" if self.at_end else str(self.token)
        self.start = len(source) if self.at_end else self.token.start_pos or 0
        self.end = len(source) if self.at_end else self.start + len(self.text)
        self.parser: Any = error.interactive_parser  # Lark does not annotate its type
        self.accepts = frozenset(error.accepts)
        self.before = source[: self.start].rstrip()

    def issue(self) -> Issue:
        return _issue(self.source, self.start, self._message())

    def _message(self) -> str:
        undecided = self._after_point() or self._after_minus()
        if undecided is not None:
            return undecided
        expected = self._expected()
        names = _names(expected)
        if not self.at_end and self._following() in expected:
            return f"extraneous input '{self.text}' expecting {names}"
        if len(expected) == 1 and self._fits_after(*expected):
            return f"missing {names} at '{self.text}'"
        kind = "extraneous" if self.before.endswith("!") else "mismatched"
        return f"{kind} input '{self.text}' expecting {names}"

    def _after_point(self) -> str | None:
        """The message where ANTLR cannot tell a field from a method."""
        if not self.before.endswith(".") or "IDENT" not in self.accepts or "INT_LIT" in self.accepts:
            return None
        text = self.source[len(self.before) - 1 : self.end]
        if text in (".true", ".false", ".null"):
            return f"mismatched input '{self.text}' expecting IDENTIFIER"
        return f"no viable alternative at input '{text}'"

    def _after_minus(self) -> str | None:
        """The message where ANTLR cannot tell a number from an operand."""
        if not self.before.endswith("-") or "INT_LIT" not in self.accepts or "BANG" in self.accepts:
            return None
        return f"no viable alternative at input '{self.source[len(self.before) - 1 : self.end]}'"

    def _expected(self) -> frozenset[str]:
        """The tokens that ANTLR expected; if an operator could also follow, ANTLR no longer lists operators."""
        ends = self.accepts & _TERMINATORS
        if ends and ("IDENT" not in self.accepts or self.before.endswith(",")):
            return frozenset(["RPAR"]) if "RPAR" in ends else ends
        return self.accepts

    def _following(self) -> str | None:
        """The type of the token after the offending one; skips characters that cannot start a token."""
        rest = self.source[self.end :]
        for _ in range(_BROKEN_LIMIT):
            thread: Any = LexerThread.from_text(self.parser.lexer_thread.lexer, rest)
            try:
                token = next(thread.lex(None), None)
            except UnexpectedCharacters as error:
                start = error.pos_in_stream or 0
                rest = rest[start + len(_broken_token(rest, start)) :]
            else:
                return "$END" if token is None else str(token.type)
        return None

    def _fits_after(self, missing: str) -> bool:
        return self.token.type in _after(self.parser, missing)


def _after(parser: Any, missing: str) -> Iterable[str]:
    """The tokens that may follow if the missing token is inserted."""
    probe = parser.copy(deepcopy_values=False)
    probe.parser_state.parse_conf = copy(probe.parser_state.parse_conf)
    probe.parser_state.parse_conf.callbacks = dict.fromkeys(probe.parser_state.parse_conf.callbacks, list)
    if missing == "$END":
        return ()
    try:
        probe.feed_token(Token(missing, ""))
    except UnexpectedInput:
        return ()
    return frozenset(probe.accepts())


def _names(tokens: Iterable[str]) -> str:
    names = [name for token, name in _TOKENS.items() if token in tokens]
    return names[0] if len(names) == 1 else f"{{{', '.join(names)}}}"
