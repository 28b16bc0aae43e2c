"""The sizes of the parts of an expression, as far as literals, macros and schemas determine them, and sums of them.

This is the part of cel-go's ``checker/cost.go`` that does not compute costs. Sizes and costs are ranges in 64 bits,
which saturate at their maximum instead of overflowing.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Container, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

from webhook.cel.syntax.ast import Const, Expr, Ident, ListExpr, MapExpr

if TYPE_CHECKING:
    from webhook.cel.types import Type
    from webhook.cel.typing.checker import Checked
    from webhook.cel.typing.schematypes import Declared

MAX: Final = 2**64 - 1


def saturated(value: int) -> int:
    return min(value, MAX)


class Bounds(NamedTuple):
    """At least ``min`` and at most ``max``."""

    min: int
    max: int

    def plus(self, other: Bounds) -> Bounds:
        return Bounds(saturated(self.min + other.min), saturated(self.max + other.max))

    def times(self, other: Bounds) -> Bounds:
        return Bounds(saturated(self.min * other.min), saturated(self.max * other.max))

    def scaled(self, factor: float) -> Bounds:
        """Multiplied and rounded up, computed in floating point as cel-go does."""
        return Bounds(_scaled(self.min, factor), _scaled(self.max, factor))

    def union(self, other: Bounds) -> Bounds:
        return Bounds(min(self.min, other.min), max(self.max, other.max))


def fixed(value: int) -> Bounds:
    return Bounds(value, value)


def _scaled(value: int, factor: float) -> int:
    product = math.ceil(float(value) * factor)
    return MAX if product >= 2**64 else product


ZERO: Final = fixed(0)
UNKNOWN: Final = Bounds(0, MAX)


_SCALARS = frozenset(["bool", "double", "duration", "int", "timestamp", "uint"])
Path = tuple[str, ...]
SizeHint = Callable[[Path, "Type"], Bounds | None]
"""Returns the size of a value, by its path (a variable and names; empty if computed) and type; None if unknown."""


@dataclass(frozen=True, slots=True)
class Entries:
    """The sizes of the elements of a list, or the keys and values of a map."""

    kind: str
    key: Bounds
    value: Bounds

    def union(self, other: Entries) -> Entries:
        return Entries(self.kind, self.key.union(other.key), self.value.union(other.value))


@dataclass(frozen=True, slots=True)
class Local:
    """A variable of a macro."""

    path: Path
    size: Bounds | None
    entries: Entries | None = None


class Sizes:
    """The sizes and paths of the expression's parts; the estimator adds them one by one."""

    def __init__(self, checked: Checked, hint: SizeHint) -> None:
        self.checked = checked
        self.hint = hint
        self.paths: dict[Expr, Path] = {}
        self.sizes: dict[Expr, Bounds] = {}
        self.entry_sizes: dict[Expr, Entries] = {}
        self.locals: dict[str, list[Local]] = {}

    @contextmanager
    def scope(self, variables: Mapping[str, Local]) -> Iterator[None]:
        """A context in which the variables of a macro are visible."""
        for name, local in variables.items():
            self.locals.setdefault(name, []).append(local)
        yield
        for name in variables:
            self.locals[name].pop()

    def local(self, name: str) -> Local | None:
        stack = self.locals.get(name)
        return stack[-1] if stack else None

    def path(self, expr: Expr) -> Path:
        """The names from a variable to the value; empty for a computed value."""
        if isinstance(expr, Ident) and (local := self.local(expr.name)) is not None:
            return local.path
        return self.paths.get(expr, ())

    def size(self, expr: Expr) -> Bounds | None:
        if expr in self.sizes:
            return self.sizes[expr]
        literal = _literal_size(expr)
        if literal is not None:
            return literal
        of = self.checked.types[expr]
        hinted = self.hint(self.path(expr), of)
        if hinted is not None:
            self.sizes[expr] = hinted
            return hinted
        if _is_scalar(of):
            return fixed(1)
        local = self.local(expr.name) if isinstance(expr, Ident) else None
        return None if local is None else local.size

    def known_size(self, expr: Expr) -> Bounds:
        size = self.size(expr)
        return UNKNOWN if size is None else size

    def count(self, expr: Expr) -> Bounds:
        """The number of items of what a loop runs over."""
        return self.known_size(expr)

    def entries(self, expr: Expr) -> Entries | None:
        found = self.entry_sizes.get(expr)
        if found is None and isinstance(expr, Ident) and (local := self.local(expr.name)) is not None:
            return local.entries
        return found

    def set(self, expr: Expr, size: Bounds | None, entries: Entries | None = None) -> None:
        """Store the sizes of a part; None changes nothing."""
        if size is not None:
            self.sizes[expr] = size
        if entries is not None:
            self.entry_sizes[expr] = entries


def _literal_size(expr: Expr) -> Bounds | None:
    if isinstance(expr, Const):
        return fixed(len(expr.value) if isinstance(expr.value, (str, bytes)) else 1)
    if isinstance(expr, ListExpr):
        return fixed(len(expr.elements))
    return fixed(len(expr.entries)) if isinstance(expr, MapExpr) else None


def _is_scalar(of: Type) -> bool:
    return of.kind in _SCALARS or (of.kind == "optional" and _is_scalar(of.params[0]))


def schema_hint(roots: Mapping[str, Declared], variables: Container[str]) -> SizeHint:
    """The sizes that the schemas of variables declare.

    The API server's estimator looks up every path in the schema of ``self``, even the path of a
    type name or a computed value. So does this one, except for ``variables`` without a schema.
    """

    def hint(path: Path, _of: Type) -> Bounds | None:
        root = path[0] if path else ""
        declared = roots.get(root if root in variables else "self") if path else None
        for name in path[1:]:
            if declared is None:
                return None
            if name == "@keys":
                return ZERO if declared.type.kind == "map" else None
            declared = declared.element if name in ("@items", "@values") else declared.fields.get(name)
        return None if declared is None else Bounds(0, declared.max_elements)

    return hint
