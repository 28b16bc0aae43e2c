"""Run a policy's expressions over one object. Variables and facts are computed once, when an expression reads them."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from webhook.admission.errors import Fault
from webhook.cel import Budget, CelError
from webhook.cel.formula import Formula
from webhook.policy.path import MISSING
from webhook.policy.policy import Expression, FactValue, Policy, ValidationRule

__all__ = ["PolicyFault", "PolicyScope", "Suspect"]

Bindings = Mapping[str, Any]
Suspect = tuple[int, bool, str | None]
"""The index of a validation rule; whether it is known to fail, at its only node (otherwise it may fail); and the value
of its message expression, if it was computed.
"""

_NOTES: Final = 10_000
"""Evaluations that a budget may note before it counts their cost: each note keeps its input in memory."""


class PolicyFault(Fault):
    """A rule failed to evaluate on an object that its schema accepts: a fault of Modelgate, never a denial."""

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
        return self[name]  # every variable that an expression names is declared


class PolicyScope:
    """Everything that the expressions of one policy can read, for one object.

    All rules of a request share it, with one cost budget. It is not thread-safe: make one per request.
    """

    def __init__(self, policy: Policy, bindings: Bindings, fact: Callable[[str], Any], budget: Budget) -> None:
        self._facts: dict[str, Any] = {}
        # Weak: a reference cycle would keep the whole request until the collector runs, which is rarely.
        scope = weakref.proxy(self)
        variables = _Variables(lambda name: scope.value(policy.variables[name]))
        self._root = {**bindings, "variables": variables, "facts": self._facts}
        self._fact = fact
        self._budget = budget
        self._policy = policy

    def at(self, node: Any, stored: Any = MISSING) -> Bindings:
        """The bindings at a node: ``self`` is the node, ``oldSelf`` the stored one, if there is one."""
        if len(self._budget.noted) > _NOTES:
            self._budget.settle()
        if stored is MISSING:
            return {**self._root, "self": node}
        return {**self._root, "self": node, "oldSelf": stored}

    def taken(self, value: FactValue) -> Any:
        """The value at a path in a fact, or MISSING."""
        found: Any = {value.keys[0]: self.fact(value.keys[0])}
        for key in value.keys:
            found = found.get(key, MISSING) if isinstance(found, dict) else MISSING
        return MISSING if found is None else found

    def value(self, expression: Expression, bindings: Bindings | None = None) -> Any:
        """The value of an expression: at a node, or (without ``bindings``) of the whole object.

        Raises:
            CelError: as the expression's own evaluation does.
        """
        for name in expression.named_facts:
            if name not in self._facts:
                self.fact(name)
        return expression.program.evaluate(self._root if bindings is None else bindings, self._budget)

    def computed(self, formula: Formula) -> Any:
        """The value of a formula, see there."""
        return formula.run(self._root, self.fact)

    def suspects(self) -> Sequence[Suspect] | None:
        """The validation rules that fail or may fail, in their order; None if only their own evaluation tells."""
        screen = self._policy.screen()
        if screen is None:
            return None
        found = screen.run(self._root, self.fact)
        if found is not None:
            failing, unsure, bound = found
            rules = self._policy.validations
            suspects: list[Suspect] = [(index, rules[index].at.single, message) for index, message in failing]
            if unsure:
                suspects += [(index, False, None) for index in unsure]
                suspects.sort()
            if self._budget.note(_Screened(self._policy, self, suspects), self._root, bound):
                return suspects
        self._policy.count_undecided()
        return None

    def fact(self, name: str) -> Any:
        """The value of a fact."""
        if name not in self._facts:
            self._facts[name] = self._fact(name)
        return self._facts[name]


class _Screened:
    """The cost of the rules that a screen has decided, should the budget need the exact sum."""

    __slots__ = ("_policy", "_scope", "_suspects")

    def __init__(self, policy: Policy, scope: PolicyScope, suspects: Sequence[Suspect]) -> None:
        self._policy, self._scope, self._suspects = policy, scope, suspects

    def cost(self, bindings: Mapping[str, Any]) -> int:
        again = {index for index, fails, _ in self._suspects if not fails}
        explained = {index for index, _, message in self._suspects if message is not None}
        return sum(
            self._cost_at(rule, node, explained=index in explained)
            for index, rule in enumerate(self._policy.validations)
            if index not in again
            for _, node in rule.at.nodes(bindings["object"])
        )

    def _cost_at(self, rule: ValidationRule, node: Any, *, explained: bool) -> int:
        bindings = self._scope.at(node)
        cost = 0
        if rule.when is not None:
            cost = rule.when.program.evaluate_exactly.cost(bindings)
            if rule.when.program.evaluate(bindings) is False:
                return cost
        cost += rule.rule.program.evaluate_exactly.cost(bindings)
        if explained and rule.message_expression is not None:
            cost += rule.message_expression.program.evaluate_exactly.cost(bindings)
        return cost
