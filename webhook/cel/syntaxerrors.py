"""What is wrong with an expression that does not parse, in the words of cel-go.

cel-go's parser is ANTLR's, which tells four kinds of error apart by what would repair them:
leaving out the offending token (*extraneous*), putting one before it (*missing*), neither
(*mismatched*), or not even knowing which rule it is in (*no viable alternative*). ANTLR goes on
after a repair; here, a token left out and a character that begins no token are blanked and the
rest is read again.
"""

from __future__ import annotations

import re
from copy import copy
from typing import TYPE_CHECKING, Any

from lark import Token
from lark.exceptions import UnexpectedCharacters, UnexpectedInput, UnexpectedToken

from webhook.cel.errors import Issue

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["SyntaxProblem", "problem"]

# in the order of cel-go's token types, with their names in its messages
_TOKENS = {
    "EQUALS": "'=='", "NOT_EQUALS": "'!='", "IN": "'in'", "LESS": "'<'", "LESS_EQUALS": "'<='",
    "GREATER_EQUALS": "'>='", "GREATER": "'>'", "AND": "'&&'", "OR": "'||'", "LBRACKET": "'['", "RSQB": "']'",
    "LBRACE": "'{'", "RBRACE": "'}'", "LPAREN": "'('", "RPAR": "')'", "DOT": "'.'", "COMMA": "','", "MINUS": "'-'",
    "EXCLAM": "'!'", "QUESTION": "'?'", "COLON": "':'", "PLUS": "'+'", "STAR": "'*'", "SLASH": "'/'",
    "PERCENT": "'%'", "TRUE": "'true'", "FALSE": "'false'", "NULL": "'null'", "FLOAT": "NUM_FLOAT",
    "INT": "NUM_INT", "UINT": "NUM_UINT", "STRING": "STRING", "BYTES": "BYTES", "IDENT": "IDENTIFIER",
    "ESC_IDENT": "ESC_IDENTIFIER", "$END": "<EOF>",
}  # fmt: skip
_TERMINATORS = frozenset(["RPAR", "RSQB", "RBRACE", "COLON", "COMMA", "$END"])

# the longest beginning of a token, and the character that shows that it is none
_STRING_ESCAPE = r"\\([abfnrtv\"'?`\\]|[0-3][0-7][0-7]|[xX][0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8})"
_BROKEN_TOKEN = re.compile(
    rf"\"([^\\\"\n\r]|{_STRING_ESCAPE})*(\\?.|$)|'([^\\'\n\r]|{_STRING_ESCAPE})*(\\?.|$)|`[\w.\-/ ]*(.|$)|[=&|](.|$)|.",
    re.DOTALL | re.ASCII,
)


class SyntaxProblem:
    """One syntax error: the issue, and the source without its cause where ANTLR would go on."""

    __slots__ = ("issue", "rest")

    def __init__(self, source: str, start: int, message: str, *, blank: int = 0) -> None:
        self.issue = (
            Issue.at(source, start, f"Syntax error: {message}") if source else Issue(f"Syntax error: {message}", 1)
        )
        end = start + blank
        spaces = re.sub(r"[^\n]", " ", source[start:end])
        self.rest = f"{source[:start]}{spaces}{source[end:]}" if blank else None


def problem(source: str, error: UnexpectedInput) -> SyntaxProblem:
    """The problem that stopped the parser."""
    if isinstance(error, UnexpectedCharacters):
        return _broken_token(source, error.pos_in_stream or 0)
    assert isinstance(error, UnexpectedToken)
    return _Unexpected(source, error).problem()


def _broken_token(source: str, start: int) -> SyntaxProblem:
    found = _BROKEN_TOKEN.match(source, start)
    text = found[0] if found else source[start]
    shown = text.replace("\n", "\\n").replace("\r", "\\r").replace("\t", "\\t")
    return SyntaxProblem(source, start, f"token recognition error at: '{shown}'", blank=len(text))


class _Unexpected:
    """A token that cannot be where it is."""

    def __init__(self, source: str, error: UnexpectedToken) -> None:
        self.source = source
        self.token = error.token
        self.at_end = self.token.type == "$END"
        self.text = "<EOF>" if self.at_end else str(self.token)
        self.start = len(source) if self.at_end else self.token.start_pos or 0
        self.parser: Any = error.interactive_parser  # which has no types
        self.accepts = frozenset(error.accepts)
        self.before = source[: self.start].rstrip()

    def problem(self) -> SyntaxProblem:
        choice = self._undecided()
        if choice is not None:
            return SyntaxProblem(self.source, self.start, choice)
        expected = self._expected()
        names = _names(expected)
        if not self.at_end and self._following() in expected:
            message = f"extraneous input '{self.text}' expecting {names}"
            return SyntaxProblem(self.source, self.start, message, blank=len(self.text))
        if len(expected) == 1 and self._fits_after(*expected):
            return SyntaxProblem(self.source, self.start, f"missing {names} at '{self.text}'")
        kind = "extraneous" if self.at_end and self.before.endswith("!") else "mismatched"
        return SyntaxProblem(self.source, self.start, f"{kind} input '{self.text}' expecting {names}")

    def _undecided(self) -> str | None:
        """After a point or a minus, ANTLR does not know yet what this would have been."""
        shown = "" if self.at_end else self.text
        if self.before.endswith(".") and "IDENT" in self.accepts and "INT" not in self.accepts:
            if self.text in ("true", "false", "null"):
                return f"mismatched input '{self.text}' expecting IDENTIFIER"
            return f"no viable alternative at input '.{shown}'"
        if self.before.endswith("-") and "INT" in self.accepts and "EXCLAM" not in self.accepts:
            return f"no viable alternative at input '-{shown}'"
        return None

    def _expected(self) -> frozenset[str]:
        """What ANTLR was about to match; where an operator might follow too, it has given up on that."""
        ends = self.accepts & _TERMINATORS
        if ends and ("INT" not in self.accepts or self.before.endswith(",")):
            return frozenset(["RPAR"]) if "RPAR" in ends else ends
        return self.accepts

    def _following(self) -> str | None:
        try:
            token = next(self.parser.lexer_thread.lex(self.parser.parser_state), None)
        except UnexpectedInput:
            return None
        return "$END" if token is None else str(token.type)

    def _fits_after(self, missing: str) -> bool:
        return self.token.type in _after(self.parser, missing)


def _after(parser: Any, missing: str) -> Iterable[str]:
    """What may follow if the missing token were there."""
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
