"""What is generated for one kind once it pays, beside the frozen policy and schema that it is generated from."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from webhook.cel.batch import Condition, Formula, Part, Screen, Source, Suspect, formula
from webhook.kubernetes import Place, pod_places
from webhook.policy.path import Path
from webhook.policy.policy import DefaultRule, Policy, ValidationRule
from webhook.policy.reads import OBJECT, Expression, Reads
from webhook.schema import Structural

_EXPLAINED: Final = 100
"""With more rules, as those of pods, the screen has no messages: its code would take twice the memory."""

_FEW: Final = 20
"""Objects that are judged rule by rule before a screen is made; the largest takes 150 ms, and saves 1 ms an object."""


@dataclass(frozen=True, slots=True, eq=False)
class Functions:
    """The generated functions of a policy.

    ``rules`` tells which validation rules an object does not meet; None if there are none. ``formulas`` compute the
    values of defaults, of all or of none: so their costs and those of exact evaluations never add up.
    """

    rules: Screen | None
    formulas: Mapping[DefaultRule, Formula]

    @classmethod
    def of(cls, policy: Policy) -> Functions:
        """Generate them, which takes up to 150 ms."""
        return cls(_screen(policy) if policy.validations else None, _formulas(policy))


@dataclass(slots=True, eq=False)
class Prepared:
    """The generated functions of a kind, and how they are used.

    ``functions`` is None until :meth:`prepare`. ``judged`` counts the objects that were judged by the policy's rules,
    ``undecided`` those that the functions could not decide, so that each expression was evaluated by itself.
    ``stated`` is a schema that says where pods are, if ``schema`` leaves that open.
    """

    policy: Policy
    schema: Structural
    functions: Functions | None = None
    judged: int = 0
    undecided: int = 0
    stated: Structural | None = None
    _repeated: tuple[DefaultRule, ...] | None = field(default=None, init=False, repr=False)
    _reads: dict[ValidationRule, Reads] = field(default_factory=dict, init=False, repr=False)
    _pods: tuple[Place | None] | None = field(default=None, init=False, repr=False)

    def __reduce__(self) -> tuple[type[Prepared], tuple[Any, ...]]:
        return Prepared, (self.policy, self.schema, self.functions)

    def prepare(self) -> Functions:
        """Generate the functions now, if that has not been done."""
        if self.functions is None:  # two threads may both do this; the results are equal
            self.functions = Functions.of(self.policy)
            self.policy.drop_trees()
            _ = self.schema.rules_screen
        return self.functions

    def complete(self) -> None:
        """Make all that is otherwise made when it is first needed."""
        _ = self.pods
        self.repeated_defaults()
        for rule in self.policy.validations:
            for text in rule.texts:
                text.program.make()
        for child in self.policy.children:
            for expression in child.expressions:
                expression.program.make()
        self.prepare()  # which drops the trees

    def prepare_if_due(self) -> bool:
        """Generate the functions if enough objects were judged for them to pay; False if not, or if they are there."""
        is_due = self.functions is None and self.judged > _FEW and bool(self.policy.validations)
        if is_due:
            self.prepare()
        return is_due

    def suspects(self, bindings: Mapping[str, Any], source: Source) -> tuple[list[Suspect], int] | None:
        """The rules that fail or may fail, and what the call cost at most; None if only their own evaluation tells."""
        self.judged += 1
        if self.functions is None or self.functions.rules is None:
            return None
        suspects = self.functions.rules.run(bindings, source)
        if suspects is None:
            self.undecided += 1
        return suspects

    def schema_rules_hold(self, obj: dict[str, Any], old: dict[str, Any] | None, limit: int) -> bool:
        """Whether all ``x-kubernetes-validations`` are known to hold for an object, at a cost within the limit.

        Only for a decoded object without errors of its schema. Otherwise only the exact walk tells.
        """
        if self.schema.rules is None:
            return True
        screen = None if self.functions is None else self.schema.rules_screen
        answer = None if screen is None else screen.run({"object": obj, "oldObject": old}, None)
        return answer is not None and not answer[0] and answer[1] <= limit

    @property
    def pods(self) -> Place | None:
        """Where its objects have pods and parts of pods; None if they have none. Computed once, in a millisecond."""
        if self._pods is None:
            self._pods = (pod_places((self.stated or self.schema).root, self.policy.pod_types),)
        return self._pods[0]

    @property
    def formulas(self) -> Mapping[DefaultRule, Formula]:
        """The functions of the defaults' values; none before :meth:`prepare`."""
        return {} if self.functions is None else self.functions.formulas

    def repeated_defaults(self) -> tuple[DefaultRule, ...]:
        """The defaults that may apply after a later one has set its leaf: they read it, or facts. Computed once."""
        if self._repeated is None:
            self._repeated = _repeated(self.policy)
        return self._repeated

    def reads(self, rule: ValidationRule) -> Reads:
        """What the conditions of a rule read, see :meth:`Policy.reads`; computed once."""
        if rule not in self._reads:
            self._reads[rule] = self.policy.reads(rule)
        return self._reads[rule]


def _screen(policy: Policy) -> Screen:
    explains = len(policy.validations) <= _EXPLAINED
    conditions = [
        Condition(
            rule.at.keys,
            _part(rule.when),
            _part_of(rule.rule),
            _part(rule.message_expression) if explains else None,
            rule.transition,
        )
        for rule in policy.validations
    ]
    read = {name for rule in policy.validations for condition in rule.conditions for name in condition.variables}
    messages = [rule.message_expression for rule in policy.validations] if explains else ()
    late = {name for message in messages if message is not None for name in message.variables} - read
    name = f"screen of {policy.name}"
    return Screen(conditions, _variables(policy, read), name, late=_variables(policy, late))


def _formulas(policy: Policy) -> dict[DefaultRule, Formula]:
    made: dict[DefaultRule, Formula] = {}
    for rule in policy.leaves:
        if isinstance(rule.value, Expression):
            read = {*rule.value.variables, *(() if rule.when is None else rule.when.variables)}
            name = f"{policy.name} {rule.code} {rule.path}"
            leaf = formula(_part(rule.when), _part_of(rule.value), _variables(policy, read), name)
            if leaf is None:
                return {}
            made[rule] = leaf
    return made


def _variables(policy: Policy, names: set[str]) -> dict[str, Part]:
    return {name: _part_of(value) for name, value in policy.variables.items() if name in names}


def _part(expression: Expression | None) -> Part | None:
    return None if expression is None else _part_of(expression)


def _part_of(expression: Expression) -> Part:
    return Part(expression.program, expression.named_facts)


def _repeated(policy: Policy) -> tuple[DefaultRule, ...]:
    paths = [rule.path for rule in policy.leaves]
    later = ((rule, paths[index + 1 :]) for index, rule in enumerate(policy.leaves))
    return tuple(rule for rule, after in later if _is_repeated(policy, rule, after))


def _is_repeated(policy: Policy, rule: DefaultRule, later: Iterable[Path]) -> bool:
    if rule.facts:
        return True
    reads = policy.reads_of(rule.conditions)
    return any((OBJECT, *path.keys) in reads for path in later)
