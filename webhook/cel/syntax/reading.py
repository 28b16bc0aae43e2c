"""The state of one parse: its dialect, and the problems that do not stop it."""

from __future__ import annotations

from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from webhook.cel.syntax.ast import Expr

if TYPE_CHECKING:
    from lark import Token

    from webhook.cel.syntax import macros

__all__ = ["READING", "Dialect", "Reading", "position", "wrong"]


@dataclass(frozen=True, slots=True, eq=False)
class Dialect:
    """The parts of the language that an environment has: macros, ``?`` for optionals, ``a.`quoted` ``."""

    macros: macros.Macros
    optional_syntax: bool = True
    quoted_fields: bool = True


@dataclass(frozen=True, slots=True)
class Reading:
    """The state of one parse: its dialect, and the problems so far other than syntax errors, by position."""

    dialect: Dialect
    problems: list[tuple[int, str]] = field(default_factory=list)


READING: ContextVar[Reading] = ContextVar("reading")


def wrong(pos: int, message: str) -> Expr:
    """Note a problem, and return a placeholder so that parsing can continue."""
    READING.get().problems.append((pos, message))
    return Expr(pos)


def position(token: Token) -> int:
    return token.start_pos or 0
