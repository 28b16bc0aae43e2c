"""The syntax tree of a CEL expression, after macro expansion.

Small frozen nodes with a source position (offset in code points), the same seven shapes as
cel-spec's ``syntax.proto``; ``Comprehension`` is the two-variable form of cel-go 0.22+.
Operators are calls to the functions cel-go names: ``_&&_``, ``_||_``, ``!_``, ``-_``,
``_+_``, ``_-_``, ``_*_``, ``_/_``, ``_%_``, ``_==_``, ``_!=_``, ``_<_``, ``_<=_``, ``_>_``,
``_>=_``, ``@in``, ``_?_:_``, ``_[_]``, and for optionals ``_?._`` (target, string constant)
and ``_[?_]``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

__all__ = ["Call", "Comprehension", "Const", "Expr", "Ident", "ListExpr", "MapEntry", "MapExpr", "Select", "StructExpr"]


@dataclass(frozen=True, slots=True, eq=False)
class Expr:
    """Any expression. Nodes compare by identity, so they can key the checker's tables."""

    pos: int


@dataclass(frozen=True, slots=True, eq=False)
class Const(Expr):
    """A literal; ``value`` is a native CEL value (see :mod:`webhook.cel.values.value`)."""

    value: Any


@dataclass(frozen=True, slots=True, eq=False)
class Ident(Expr):
    name: str


@dataclass(frozen=True, slots=True, eq=False)
class Select(Expr):
    """``operand.field``, or with ``test_only`` the macro ``has(operand.field)``."""

    operand: Expr
    field: str
    test_only: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Call(Expr):
    """A function or operator; ``target`` is the receiver of a method call, else None."""

    function: str
    target: Expr | None
    args: tuple[Expr, ...]


@dataclass(frozen=True, slots=True, eq=False)
class ListExpr(Expr):
    """``[a, ?b]``; ``optional`` holds the indices of the ``?`` elements."""

    elements: tuple[Expr, ...]
    optional: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True, eq=False)
class MapEntry(Expr):
    """One entry of a map (``key`` is an Expr) or of an object (``key`` is a field name)."""

    key: Expr | str
    value: Expr
    optional: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class MapExpr(Expr):
    entries: tuple[MapEntry, ...]


@dataclass(frozen=True, slots=True, eq=False)
class StructExpr(Expr):
    """``Object.spec{replicas: 1}``; ``name`` is the type name as written."""

    name: str
    entries: tuple[MapEntry, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Comprehension(Expr):
    """The fold that every macro expands to.

    ``accu_var = accu_init; for iter_var[, iter_var2] in iter_range: if not loop_condition:
    break; accu_var = loop_step; return result``. With one variable it runs over list
    elements or map keys, with two over (index, element) or (key, value). ``macro`` is the
    name of the macro that made it ("all", "exists", "exists_one", "map", "filter",
    "transformList" …), a hint for the compiler.
    """

    iter_range: Expr
    iter_var: str
    iter_var2: str | None
    accu_var: str
    accu_init: Expr
    loop_condition: Expr
    loop_step: Expr
    result: Expr
    macro: str = ""
