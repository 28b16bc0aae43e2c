"""The syntax tree of a CEL expression, after macro expansion.

Small frozen nodes with a source position (offset in code points), the same seven shapes as
cel-spec's ``syntax.proto``; ``Comprehension`` is the two-variable form of cel-go 0.22+.
Operators are calls to the functions cel-go names: ``_&&_``, ``_||_``, ``!_``, ``-_``,
``_+_``, ``_-_``, ``_*_``, ``_/_``, ``_%_``, ``_==_``, ``_!=_``, ``_<_``, ``_<=_``, ``_>_``,
``_>=_``, ``@in``, ``_?_:_``, ``_[_]``, and for optionals ``_?._`` (target, string constant)
and ``_[?_]``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final


@dataclass(frozen=True, slots=True, eq=False)
class Expr:
    """Any expression. Nodes compare by identity, so they can key the checker's tables."""

    pos: int

    @property
    def children(self) -> Sequence[Expr]:
        """The nodes directly below, in the order of the source."""
        return ()

    def walk(self) -> Iterator[Expr]:
        """This node and all below, each once, parents first."""
        pending, seen = [self], {self}
        while pending:
            node = pending.pop()
            yield node
            below = [child for child in node.children if child not in seen]
            seen.update(below)
            pending += reversed(below)


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

    @property
    def children(self) -> Sequence[Expr]:
        return (self.operand,)


@dataclass(frozen=True, slots=True, eq=False)
class Call(Expr):
    """A function or operator; ``target`` is the receiver of a method call, else None."""

    function: str
    target: Expr | None
    args: tuple[Expr, ...]

    @property
    def children(self) -> Sequence[Expr]:
        return self.args if self.target is None else (self.target, *self.args)

    def terms(self) -> list[Expr]:
        """The terms of ``a && b && c``, in order; parentheses do not matter."""
        terms: list[Expr] = []
        pending: list[Expr] = [self]
        while pending:
            term = pending.pop()
            if isinstance(term, Call) and term.function == self.function:
                pending += reversed(term.args)
            else:
                terms.append(term)
        return terms


@dataclass(frozen=True, slots=True, eq=False)
class ListExpr(Expr):
    """``[a, ?b]``; ``optional`` holds the indices of the ``?`` elements."""

    elements: tuple[Expr, ...]
    optional: frozenset[int] = frozenset()

    @property
    def children(self) -> Sequence[Expr]:
        return self.elements


@dataclass(frozen=True, slots=True, eq=False)
class MapEntry(Expr):
    """One entry of a map (``key`` is an Expr) or of an object (``key`` is a field name)."""

    key: Expr | str
    value: Expr
    optional: bool = False

    @property
    def children(self) -> Sequence[Expr]:
        return (self.key, self.value) if isinstance(self.key, Expr) else (self.value,)


@dataclass(frozen=True, slots=True, eq=False)
class MapExpr(Expr):
    entries: tuple[MapEntry, ...]

    @property
    def children(self) -> Sequence[Expr]:
        return [part for entry in self.entries for part in entry.children]


@dataclass(frozen=True, slots=True, eq=False)
class StructExpr(Expr):
    """``Object.spec{replicas: 1}``; ``name`` is the type name as written."""

    name: str
    entries: tuple[MapEntry, ...]

    @property
    def children(self) -> Sequence[Expr]:
        return [part for entry in self.entries for part in entry.children]


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

    @property
    def children(self) -> Sequence[Expr]:
        return (self.iter_range, self.accu_init, self.loop_condition, self.loop_step, self.result)


def qualified_name(expr: Expr) -> str | None:
    """The name of an expression that is only a qualified identifier: ``a.b.c``."""
    names: list[str] = []
    while isinstance(expr, Select) and not expr.test_only:
        names.append(expr.field)
        expr = expr.operand
    return ".".join((expr.name, *reversed(names))) if isinstance(expr, Ident) else None


RESERVED: Final = frozenset(
    {"as", "break", "const", "continue", "else", "false", "for", "function", "if", "import", "in"}
    | {"let", "loop", "package", "namespace", "null", "return", "true", "var", "void", "while"}
)
