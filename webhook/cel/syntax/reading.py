"""A parse that is running: what it may read, and the problems that do not stop it."""

from __future__ import annotations

from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from webhook.cel.syntax.ast import Expr

if TYPE_CHECKING:
    from lark import Token

    from webhook.cel.syntax import macros

__all__ = ["READING", "Dialect", "Reading", "position", "wrong"]


@dataclass(frozen=True, slots=True)
class Dialect:
    """What of the language an environment has: its macros, ``?`` for optionals, ``a.`quoted` ``."""

    macros: macros.Macros
    optional_syntax: bool = True
    quoted_fields: bool = True


@dataclass(frozen=True, slots=True)
class Reading:
    """A parse that is running: its dialect, and what it found wrong that is no error of syntax, by position."""

    dialect: Dialect
    problems: list[tuple[int, str]] = field(default_factory=list)


READING: ContextVar[Reading] = ContextVar("reading")


def wrong(pos: int, message: str) -> Expr:
    """Note a problem; the placeholder returned lets reading go on."""
    READING.get().problems.append((pos, message))
    return Expr(pos)


def position(token: Token) -> int:
    return token.start_pos or 0
