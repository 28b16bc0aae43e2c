"""What a policy may cost at a stretch: between two places where its evaluation can be interrupted.

It is told from the size of a review, before anything is evaluated. The caller compares :func:`weight` of a body with
the largest review that the policies about its resource can afford
(:meth:`webhook.vap.dispatch.BoundPolicies.affordable`), and judges a heavier one where no other review waits.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from webhook.cel.cost.reviewed import ITEM, stretch_over
from webhook.vap.expressions import Expression, VariableSet

SIZES: Final = tuple(1024 << power for power in range(7))
"""Bytes of reviews for which costs are known: up to 64 KiB."""

_FEW: Final = 100
"""A policy that costs no more for the largest review is as cheap for all others."""


def weight(body: bytes) -> int:
    """The bytes of a review that has as many items as this one, or as many bytes."""
    return max(len(body), sum(map(body.count, (b",", b"[", b"{"))) * ITEM)


def stretches(expressions: Iterable[Expression], variables: VariableSet, limit: int) -> tuple[int, ...]:
    """The most that a policy may cost between two interrupts, for reviews of each of :data:`SIZES`.

    There is one before each evaluation of an expression or a variable. From the ``limit`` on, the costs are the same.
    """
    policy = _Policy(expressions, variables)
    most = policy.stretch(SIZES[-1])
    if most <= _FEW:
        return (most,) * len(SIZES)
    found: list[int] = []
    for size in SIZES[:-1]:
        found.append(most if found and found[-1] > limit else policy.stretch(size))
    return (*found, most)


class _Policy:
    """The expressions of a policy with their types, which are made once for all sizes."""

    def __init__(self, expressions: Iterable[Expression], variables: VariableSet) -> None:
        self._expressions = [each.program.checked() for each in expressions if each.program is not None]
        compiled = variables.compiled.items()
        self._variables = {name: each.program.checked() for name, each in compiled if each.program is not None}

    def stretch(self, size: int) -> int:
        sizes: dict[str, int] = {}
        most = 0
        for name, checked in self._variables.items():
            cost, sizes[name] = stretch_over(checked, size, sizes)
            most = max(most, cost)
        return max([most, *(stretch_over(checked, size, sizes)[0] for checked in self._expressions)])
