"""Every error of the CEL engine.

    CelError              an evaluation failed: cel-go's message
    └── BudgetExceeded      … because it cost too much
    CompileFailure        an expression cannot be compiled: all issues
    ├── ParseFailure        … because its syntax is invalid
    ├── ResultFailure       … because its result has the wrong type
    └── FoldingFailure      … because a constant part of it fails
    GrammarUnavailable    no expression can be parsed: cel-python is missing, or has another grammar

``str`` of a failure is what the API server prints: one ``ERROR: <input>:line:column: message``
per issue with the source line and a caret below it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

_SNIPPET_LIMIT = 16_384  # bytes; cel-go does not print longer source lines


class CelError(Exception):
    """An evaluation failed; ``message`` is cel-go's text ("no such key: b", "division by zero")."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


class BudgetExceeded(CelError):
    """An evaluation was stopped: the cost budget of the call or of the object is spent."""


@dataclass(frozen=True, slots=True)
class Issue:
    """One fault of an expression; ``line`` counts from 1 and ``column`` from 0.

    An issue without a location (a limit on the whole expression) has line and column -1, as
    cel-go's ``NoLocation``.
    """

    message: str
    line: int = -1
    column: int = -1

    @classmethod
    def at(cls, source: str, offset: int, message: str) -> Issue:
        """The issue at a code point offset of ``source``."""
        line_start = source.rfind("\n", 0, offset) + 1
        return cls(message, source.count("\n", 0, offset) + 1, offset - line_start)

    def display(self, source: str) -> str:
        """The text cel-go prints: position, message, source line, caret."""
        text = f"ERROR: <input>:{self.line}:{self.column + 1}: {self.message}"
        lines = source.split("\n")
        if (
            not source
            or not 1 <= self.line <= len(lines)
            or len(lines[self.line - 1].encode(errors="replace")) > _SNIPPET_LIMIT
        ):
            return text
        line = lines[self.line - 1].replace("\t", " ")
        pointer = "".join("\uff0e" if ord(char) > 0x7F else "." for char in line[: self.column])
        caret = "\uff3e" if ord(line[self.column : self.column + 1] or " ") > 0x7F else "^"
        return f"{text}\n | {line}\n | {pointer}{caret}"


class CompileFailure(Exception):
    """An expression cannot be compiled; ``issues`` lists all that was found.

    ``stage`` is what the API server writes before the text.
    """

    stage = "compilation failed"

    def __init__(self, source: str, issues: Iterable[Issue]) -> None:
        self.source = source
        self.issues = tuple(sorted(issues, key=lambda issue: (issue.line, issue.column)))
        super().__init__(source, self.issues)

    def __str__(self) -> str:
        return "\n".join(issue.display(self.source) for issue in self.issues)


class ParseFailure(CompileFailure):
    """The syntax is invalid, or the expression is too large or nested too deeply."""


class ResultFailure(CompileFailure):
    """The expression does not evaluate to (one of) the ``expected`` types; the text is the API server's."""

    stage = ""

    def __init__(self, source: str, expected: tuple[object, ...]) -> None:
        names = ", ".join(map(str, expected))
        super().__init__(source, [Issue(f"must evaluate to {names if len(expected) == 1 else f'one of [{names}]'}")])

    def __str__(self) -> str:
        return self.issues[0].message


class FoldingFailure(CompileFailure):
    """A constant part of the expression fails, so every evaluation would fail."""

    stage = "program instantiation failed"

    def __str__(self) -> str:
        return self.issues[0].message


class GrammarUnavailable(Exception):
    """No expression can be read: cel-python is not installed, or its grammar is not the one that ours extends."""
