"""The parts that compiled validating and mutating policies share: match criteria, match conditions, variables.

Match conditions decide whether a policy that matches a request is evaluated (``webhook/matchconditions``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from webhook.cel import MATCH_CONDITIONS_BUDGET, Budget, BudgetExceeded, Environment
from webhook.cel.types import BOOL, Type
from webhook.golang.errors import aggregate
from webhook.vap.attributes import Attributes
from webhook.vap.context import AdmissionContext, Equivalent, ReadReferences, References
from webhook.vap.environments import admission_environment, bindings_of, with_references, with_variables
from webhook.vap.expressions import Evaluation, EvaluationScope, Expression, VariableSet, compile_expression
from webhook.vap.matching.matcher import Criteria
from webhook.vap.models import MutatingPolicy, ParamKind, ValidatingPolicy


class ConditionError(Exception):
    """The conditions cannot be evaluated, and failurePolicy is Fail."""


def conditions_hold(evaluations: Sequence[Evaluation], *, ignore: bool) -> bool:
    """Whether all conditions are true. A false condition wins over one that fails.

    Raises:
        ConditionError: a condition fails, none is false, and failures are not ignored.
    """
    if any(evaluation.error is None and evaluation.value is False for evaluation in evaluations):
        return False
    errors = [evaluation.error for evaluation in evaluations if evaluation.error is not None]
    if not errors:
        return True
    if ignore:
        return False
    raise ConditionError(aggregate(errors))


At = tuple[str | int, ...]
Interrupt = Callable[[], bool]


class Compilation:
    """Compiles the expressions of one policy and collects the problems: (path in the document, sentence).

    One that is not ``stored`` may use nothing that is newer than the version.
    """

    def __init__(
        self,
        document: ValidatingPolicy | MutatingPolicy,
        version: tuple[int, int],
        *,
        stored: bool = True,
        references: References | None = None,
    ) -> None:
        self.problems: list[tuple[At, str]] = []
        self.variables = VariableSet()
        self._version, self._stored = version, stored
        self._params = document.spec.paramKind is not None
        self._references = references

    def environment(self, *, authorizer: bool = True, patches: bool = False) -> Environment:
        """The environment of the policy's expressions, without its variables."""
        environment = admission_environment(
            self._version, stored=self._stored, params=self._params, authorizer=authorizer, patches=patches
        )
        return environment if self._references is None else with_references(environment, self._references)

    def expression(
        self, at: At, source: str, expect: Sequence[Type], *, authorizer: bool = True, patches: bool = False
    ) -> Expression:
        environment = self.environment(authorizer=authorizer, patches=patches)
        return self._compiled(at, with_variables(environment, self.variables.types), source, expect)

    def condition(self, at: At, source: str) -> Expression:
        """Compile a match condition. It cannot read variables: it is evaluated before them."""
        return self._compiled(at, self.environment(), source, (BOOL,))

    def _compiled(self, at: At, environment: Environment, source: str, expect: Sequence[Type]) -> Expression:
        compiled = compile_expression(environment, source, expect)
        self.note(at, compiled)
        return compiled

    def note(self, at: At, expression: Expression) -> None:
        self.problems += [(at, issue) for issue in expression.issues]

    def policy(self, document: ValidatingPolicy | MutatingPolicy) -> CompiledPolicy:
        """Compile the shared parts. Variables come first because the other expressions read them."""
        spec = document.spec
        for index, variable in enumerate(spec.variables):
            compiled = self.variables.add(self.environment(), variable.name, variable.expression)
            self.note(("spec", "variables", index, "expression"), compiled)
        conditions = tuple(
            self.condition(("spec", "matchConditions", index, "expression"), condition.expression)
            for index, condition in enumerate(spec.matchConditions)
        )
        criteria = Criteria.of(spec.matchConstraints)
        self.problems += selector_problems(criteria, ("spec", "matchConstraints"))
        ignore = spec.failurePolicy == "Ignore"
        reads_namespace = "namespaceObject" in str(spec)
        name = document.metadata.name
        shared = name, criteria, spec.paramKind, ignore, self.variables, conditions, reads_namespace
        return CompiledPolicy(*shared, self._references)


def selector_problems(criteria: Criteria, at: At) -> Iterator[tuple[At, str]]:
    """The selectors that cannot be evaluated."""
    for name, selector in (
        ("namespaceSelector", criteria.namespace_selector),
        ("objectSelector", criteria.object_selector),
    ):
        if selector.error:
            yield (*at, name), selector.error


@dataclass(frozen=True, slots=True)
class Invocation:
    """One policy on one request, with at most one param. ``matched`` is the resource and kind that the policy matched.

    Long evaluations call ``interrupt`` at intervals; it ends them by returning True or by raising.
    """

    attributes: Attributes
    matched: Equivalent
    context: AdmissionContext
    param: Mapping[str, Any] | None = None
    namespace: Mapping[str, Any] | None = None
    interrupt: Interrupt | None = None
    refs: ReadReferences | None = None

    def bindings(self) -> dict[str, Any]:
        bindings = bindings_of(self.attributes, self.matched, self.context, self.param, self.namespace)
        return bindings if self.refs is None else {**bindings, "refs": self.refs}

    def condition_bindings(self) -> dict[str, Any]:
        """The variables of match conditions: the requested resource, and no namespace."""
        matched = Equivalent(self.attributes.resource, self.matched.kind)
        bindings = bindings_of(self.attributes, matched, self.context, self.param)
        return bindings if self.refs is None else {**bindings, "refs": self.refs}

    def budget(self, cost: int) -> Budget:
        return Budget(cost, interrupt=self.interrupt)

    def on(self, obj: dict[str, Any] | None) -> Invocation:
        """The invocation with another state of the object."""
        return replace(self, attributes=replace(self.attributes, object=obj))


@dataclass(frozen=True, slots=True)
class CompiledPolicy:
    """The shared parts of a compiled policy.

    ``ignore``: failurePolicy is Ignore. ``param_kind`` is None for a policy without params. ``reads_namespace`` is
    False if no expression mentions ``namespaceObject``, so that the namespace need not be looked up. ``references`` are
    the objects that its expressions read as ``refs``.
    """

    name: str
    criteria: Criteria
    param_kind: ParamKind | None = None
    ignore: bool = False
    variables: VariableSet = field(default_factory=VariableSet)
    conditions: tuple[Expression, ...] = ()
    reads_namespace: bool = True
    references: References | None = None

    def applies(self, invocation: Invocation) -> bool:
        """Whether all match conditions hold.

        Raises:
            ConditionError: a condition fails, none is false, and failurePolicy is Fail.
        """
        if not self.conditions:
            return True
        scope = EvaluationScope(
            invocation.condition_bindings(), self.variables, invocation.budget(MATCH_CONDITIONS_BUDGET)
        )
        try:
            evaluations = [scope.evaluate(condition) for condition in self.conditions]
        except BudgetExceeded as error:
            if self.ignore:
                return False
            raise ConditionError(error.message) from None
        return conditions_hold(evaluations, ignore=self.ignore)
