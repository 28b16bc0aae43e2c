"""What a policy may cost, told from the size of a review before anything of it is evaluated."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Final

from webhook.cel.cost.reviewed import ITEM, cost_over
from webhook.vap.expressions import Expression, VariableSet

__all__ = ["SIZES", "costs", "weight"]

CostOver = Callable[[int, Mapping[str, int]], tuple[int, int]]
"""The cost of an expression and the size of its value, by the size of a review and those of the variables."""

SIZES: Final = tuple(1024 << power for power in range(7))
"""Bytes of reviews for which costs are known: up to 64 KiB."""

_FEW: Final = 100
"""A policy that costs no more for the largest review is as cheap for all others."""


def weight(body: bytes) -> int:
    """The bytes of a review that has as many items as this one, or as many bytes."""
    return max(len(body), sum(map(body.count, (b",", b"[", b"{"))) * ITEM)


def costs(
    conditions: Sequence[Expression], variables: VariableSet, scopes: Sequence[Sequence[Expression]], limit: int
) -> tuple[int, ...]:
    """The most that a policy may cost for reviews of each of :data:`SIZES`; from the ``limit`` on, the same for all.

    Each of ``scopes`` is a group of expressions that computes the variables once.
    """
    policy = _Policy(conditions, variables, scopes)
    most = policy.cost(SIZES[-1])
    if most <= _FEW:
        return (most,) * len(SIZES)
    found: list[int] = []
    for size in SIZES[:-1]:
        found.append(most if found and found[-1] > limit else policy.cost(size))
    return (*found, most)


class _Policy:
    """The expressions of a policy with their types, which are made once for all sizes."""

    def __init__(
        self, conditions: Iterable[Expression], variables: VariableSet, scopes: Iterable[Sequence[Expression]]
    ) -> None:
        self._conditions = _checked(conditions)
        self._variables = {name: _checked([each]) for name, each in variables.compiled.items()}
        self._scopes = [_checked(each) for each in scopes if each]

    def cost(self, size: int) -> int:
        sizes: dict[str, int] = {}
        once = 0
        for name, checked in self._variables.items():
            for each in checked:
                cost, sizes[name] = each(size, sizes)
                once += cost
        return _sum(self._conditions, size, {}) + sum(once + _sum(each, size, sizes) for each in self._scopes)


def _checked(expressions: Iterable[Expression]) -> list[CostOver]:
    return [partial(cost_over, each.program.checked()) for each in expressions if each.program is not None]


def _sum(expressions: Iterable[CostOver], size: int, variables: Mapping[str, int]) -> int:
    return sum(each(size, variables)[0] for each in expressions)
