"""Run a policy's expressions over one object: variables and facts are computed once, and only where they are read."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from webhook.cel.errors import CelError
from webhook.cel.program import Budget
from webhook.errors import Fault
from webhook.policy.path import MISSING
from webhook.policy.policy import Expression, FactValue, Policy

__all__ = ["PolicyFault", "Scope"]


class PolicyFault(Fault):
    """A rule of ours failed to evaluate on an object that its schema accepts: our fault, never a denial."""

    def __init__(self, code: str, source: str, error: CelError) -> None:
        super().__init__(f"rule {code} could not be evaluated: {error} (in {source})")


class Scope:
    """Everything the expressions of one policy may see while one object is looked at.

    Shared by all rules of a request, with one cost budget. Not safe for threads: make one per
    request.
    """

    def __init__(
        self,
        policy: Policy,
        bindings: Mapping[str, Any],
        fact: Callable[[str], Any],
        budget: Budget,
    ) -> None:
        self._policy = policy
        self._variables: dict[str, Any] = {}
        self._facts: dict[str, Any] = {}
        self._bindings = {**bindings, "variables": self._variables, "facts": self._facts}
        self._fact = fact
        self._budget = budget

    def at(self, node: Any, stored: Any = MISSING) -> None:
        """Let ``self`` be this node from now on, and ``oldSelf`` the stored one, if there is one."""
        self._bindings["self"] = node
        if stored is MISSING:
            self._bindings.pop("oldSelf", None)
        else:
            self._bindings["oldSelf"] = stored

    def taken(self, value: FactValue) -> Any:
        """What stands at a place of a fact, or MISSING."""
        found: Any = {value.keys[0]: self._known(value.keys[0])}
        for key in value.keys:
            found = found.get(key, MISSING) if isinstance(found, dict) else MISSING
        return MISSING if found is None else found

    def value(self, expression: Expression) -> Any:
        """The value of an expression.

        Raises:
            CelError: as the expression's own evaluation does.
        """
        for name in expression.facts:
            self._known(name)
        for name in expression.variables:
            if name not in self._variables:
                self._variables[name] = self.value(self._policy.variables[name])
        return expression.program.evaluate(self._bindings, self._budget)

    def _known(self, name: str) -> Any:
        if name not in self._facts:
            self._facts[name] = self._fact(name)
        return self._facts[name]
