"""Run a policy's expressions over one object: variables and facts are computed once, and only where they are read."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Mapping
from typing import Any, Final

from webhook.admission.errors import Fault
from webhook.cel import Budget, CelError
from webhook.policy.path import MISSING
from webhook.policy.policy import Expression, FactValue, Policy

__all__ = ["PolicyFault", "Scope"]

Bindings = Mapping[str, Any]

_NOTES: Final = 10_000
"""Evaluations that a budget may remember before it counts what they cost: each keeps what it was given."""


class PolicyFault(Fault):
    """A rule of ours failed to evaluate on an object that its schema accepts: our fault, never a denial."""

    def __init__(self, code: str, source: str, error: CelError) -> None:
        super().__init__(f"rule {code} could not be evaluated: {error} (in {source})")


class _Variables(dict[str, Any]):
    """``variables`` while expressions are evaluated: each is computed when it is first read."""

    def __init__(self, compute: Callable[[str], Any]) -> None:
        super().__init__()
        self._compute = compute

    def __missing__(self, name: str) -> Any:
        self[name] = value = self._compute(name)
        return value

    def get(self, name: str, _default: Any = None) -> Any:
        return self[name]  # there is no variable that is not declared


class Scope:
    """Everything the expressions of one policy may see while one object is looked at.

    Shared by all rules of a request, with one cost budget. Not safe for threads: make one per
    request.
    """

    def __init__(self, policy: Policy, bindings: Bindings, fact: Callable[[str], Any], budget: Budget) -> None:
        self._facts: dict[str, Any] = {}
        # Weak: a circle would keep the whole request until the collector comes by, which is rarely.
        known = weakref.proxy(self)
        variables = _Variables(lambda name: known.value(policy.variables[name]))
        self._root = {**bindings, "variables": variables, "facts": self._facts}
        self._fact = fact
        self._budget = budget

    def at(self, node: Any, stored: Any = MISSING) -> Bindings:
        """What expressions see where ``self`` is this node, and ``oldSelf`` the stored one, if there is one."""
        if len(self._budget.noted) > _NOTES:
            self._budget.settle()
        if stored is MISSING:
            return {**self._root, "self": node}
        return {**self._root, "self": node, "oldSelf": stored}

    def taken(self, value: FactValue) -> Any:
        """What stands at a place of a fact, or MISSING."""
        found: Any = {value.keys[0]: self._known(value.keys[0])}
        for key in value.keys:
            found = found.get(key, MISSING) if isinstance(found, dict) else MISSING
        return MISSING if found is None else found

    def value(self, expression: Expression, bindings: Bindings | None = None) -> Any:
        """The value of an expression, at a node if it is about one.

        Raises:
            CelError: as the expression's own evaluation does.
        """
        for name in expression.named_facts:
            if name not in self._facts:
                self._known(name)
        return expression.program.evaluate(self._root if bindings is None else bindings, self._budget)

    def _known(self, name: str) -> Any:
        if name not in self._facts:
            self._facts[name] = self._fact(name)
        return self._facts[name]
