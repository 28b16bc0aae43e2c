"""What an expression may cost at a stretch over a review of so many bytes, whose object has no schema.

A loop can be interrupted before each round, so that its cost is that of one. A call cannot.

The API server's estimate knows no size of a value without a schema, so every loop over one is endless to it. Here the
bytes of the review bound all its values together: a list of lists has as many items in all as a single list may have.
Where an expression is a product of two sizes of one value, the worst review has either many items or one long item:
the cost is therefore estimated for each level of nesting, with all bytes at that level, and summed up.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from webhook.cel.cost.estimate import Estimator
from webhook.cel.cost.sizes import Bounds, Path, Sizes
from webhook.cel.syntax.ast import Call, Const, Expr

if TYPE_CHECKING:
    from webhook.cel.types import Type
    from webhook.cel.typing.checker import Checked

__all__ = ["ITEM", "stretch_over"]

ITEM: Final = 16
"""Bytes of a review for each item of its lists and maps."""

LEVELS: Final = 3
"""Levels of nesting that are told apart: an object, the items of its lists, and theirs."""

_KEEPS: Final = frozenset({"orValue", "or", "value", "optional.of", "dyn"})
"""Functions whose result is their argument, or as large."""
_SELECTS: Final = frozenset({"_?._", "_[?_]"})
_ITEMS: Final = frozenset({"@items", "@keys"})
"""Steps of a path to each item in turn. The value of one key is not one of these: it may be the largest."""


def stretch_over(checked: Checked, size: int, variables: Mapping[str, int]) -> tuple[int, int]:
    """The most that an expression may cost without an interrupt, and the size of its value, over a review.

    Args:
        checked: the expression.
        size: the bytes of the review.
        variables: the sizes of the policy's variables.
    """
    cost = largest = 0
    for level in range(LEVELS):
        sizes = _Reviewed(checked, size, level, variables)
        cost += _Stretches(checked, sizes).cost(checked.expr).max
        largest = max(largest, sizes.known_size(checked.expr).max)
        if sizes.deepest <= level:
            break
    return cost, largest


class _Stretches(Estimator):
    def rounds(self, count: Bounds, once: Bounds) -> Bounds:
        """That of one round. All rounds that do next to nothing are one stretch: a generated loop does not look up."""
        return Bounds(0, max(count.max, once.max))


class _Reviewed(Sizes):
    """The sizes of a review's values, where all bytes are at one level of nesting."""

    def __init__(self, checked: Checked, size: int, level: int, variables: Mapping[str, int]) -> None:
        super().__init__(checked, self._hinted)
        self._size, self._level, self._variables = size, level, variables
        self._items = max(size // ITEM, 1)
        self.deepest = 0

    def count(self, expr: Expr) -> Bounds:
        """As many items as the review has room for, if it is a value of the review and not a computed one."""
        found, path = self.known_size(expr), self.path(expr)
        is_read = self.checked.types[expr].kind == "dyn" and path and path[0] != "variables"
        return Bounds(0, min(found.max, self._items)) if is_read else found

    def path(self, expr: Expr) -> Path:
        """Also through optionals: the value of ``a.?b.orValue("")`` is that of ``a.b``."""
        found = super().path(expr)
        if found or not isinstance(expr, Call):
            return found
        operand = expr.args[0] if expr.target is None and expr.args else expr.target
        if operand is None or expr.function not in _KEEPS | _SELECTS:
            return ()
        key = expr.args[1] if expr.function in _SELECTS else None
        name = (str(key.value),) if isinstance(key, Const) else ("@values",) if key is not None else ()
        return (*self.path(operand), *name)

    def _hinted(self, path: Path, of: Type) -> Bounds:
        if path[:1] == ("variables",) and len(path) > 1:
            most = self._variables.get(path[1], self._size)
        else:
            most = self._items if of.kind in ("list", "map") else self._size
        depth = min(sum(step in _ITEMS for step in path), LEVELS - 1)
        self.deepest = max(self.deepest, depth)
        return Bounds(0, most if depth == self._level else 1)
