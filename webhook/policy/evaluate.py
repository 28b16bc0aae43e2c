"""Run a policy's expressions over one object. Variables and facts are computed once, when an expression reads them."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final

from webhook.admission.errors import Fault
from webhook.cel import Budget, CelError
from webhook.cel.batch import Formula, Suspect
from webhook.policy.path import MISSING
from webhook.policy.policy import DefaultRule, FactValue, ValidationRule
from webhook.policy.prepared import Prepared
from webhook.policy.reads import Expression

Bindings = Mapping[str, Any]
_NONE: Final[Mapping[str, str]] = MappingProxyType({})
_NOTES: Final = 10_000
"""Evaluations that a budget may note before it counts their cost: each note keeps its input in memory."""


class PolicyFault(Fault):
    """A rule failed to evaluate on an object that its schema accepts: a fault of the rule, never a denial.

    ``code`` is the rule's, ``place`` the field, and ``detail`` says what is wrong.
    """

    def __init__(self, code: str, place: str, source: str, error: CelError) -> None:
        self.code, self.place = code, place
        self.detail = f"rule {code} could not be evaluated: {error} (in {source})"
        super().__init__(self.detail)


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

    All rules of a request share it, with one cost budget. It is not thread-safe: make one per request. ``fact``
    computes a fact, and puts it among the ``hidden_facts`` if it may be wrong, with a reason for the user, or "". Where
    it is MISSING, an expression that needs the fact fails.
    """

    def __init__(
        self,
        prepared: Prepared,
        bindings: Bindings,
        fact: Callable[[str], Any],
        budget: Budget,
        hidden_facts: Mapping[str, str] = _NONE,
    ) -> None:
        self._prepared, self._bindings, self._fact, self._budget = prepared, bindings, fact, budget
        self.hidden_facts = hidden_facts
        self._facts: dict[str, Any] = {}
        self._made: Bindings | None = None
        self._suspects: Sequence[Suspect] = ()

    @property
    def _root(self) -> Bindings:
        """The bindings at the root; most objects need no single evaluation, and so none of these."""
        if self._made is None:
            # Weak: a reference cycle would keep the whole request until the collector runs, which is rarely.
            scope, declared = weakref.proxy(self), self._prepared.policy.variables
            variables = _Variables(lambda name: scope.value(declared[name]))
            self._made = {**self._bindings, "variables": variables, "facts": self._facts}
        return self._made

    @property
    def object(self) -> Any:
        """The object that the expressions are about."""
        return self._bindings["object"]

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
        return formula.run(self._bindings, self)

    def suspects(self) -> Sequence[Suspect] | None:
        """The validation rules that fail or may fail, in their order; None if only their own evaluation tells."""
        found = self._prepared.suspects(self._bindings, self)
        if found is None:
            return None
        self._suspects, bound = found
        # Weak, as above: the budget belongs to this scope.
        if self._budget.note(weakref.proxy(self), self._bindings, bound):
            return self._suspects
        self._prepared.undecided += 1
        return None

    def fact(self, name: str) -> Any:
        """The value of a fact."""
        if name not in self._facts:
            if (value := self._fact(name)) is MISSING:
                return value
            self._facts[name] = value
        return self._facts[name]

    def reads_hidden_fact(self, rule: ValidationRule | DefaultRule) -> bool:
        """Whether a rule has read a hidden fact, so that it cannot be judged."""
        return not rule.facts.isdisjoint(self.hidden_facts.keys())

    def reads_unseen_fact(self, rule: DefaultRule) -> bool:
        """Whether a rule has read a hidden fact that may be seen again."""
        return any(self.hidden_facts.get(name) for name in rule.facts)

    def variable(self, name: str) -> Any:
        """The value of a variable."""
        return self._root["variables"][name]

    def cost(self, bindings: Bindings) -> int:
        """What the rules cost that the screen has decided, should the budget need the exact sum."""
        again = {index for index, certain, _ in self._suspects if not certain}
        explained = {index for index, _, message in self._suspects if message is not None}
        return sum(
            self._cost_at(rule, node, stored, explained=index in explained)
            for index, rule in enumerate(self._prepared.policy.validations)
            if index not in again
            for stored in (rule.at.get(bindings["oldObject"]) if rule.transition else MISSING,)
            if not rule.transition or not (stored is MISSING or stored is None)
            for _, node in rule.at.nodes(bindings["object"])
        )

    def _cost_at(self, rule: ValidationRule, node: Any, stored: Any, *, explained: bool) -> int:
        bindings = self.at(node, stored)
        cost = 0
        if rule.when is not None:
            cost = rule.when.program.evaluate_exactly.cost(bindings)
            if rule.when.program.evaluate(bindings) is False:
                return cost
        cost += rule.rule.program.evaluate_exactly.cost(bindings)
        if explained and rule.message_expression is not None:
            cost += rule.message_expression.program.evaluate_exactly.cost(bindings)
        return cost
