"""A compiled policy: the rules of its document, ready to run. Immutable, and safe to share between threads."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, overload

from webhook.cel import Program
from webhook.cel.formula import Formula, formula
from webhook.cel.screen import Condition, Part, Screen
from webhook.policy.action import Action, Profile
from webhook.policy.path import Path
from webhook.policy.reads import OBJECT, SELF, Reads

__all__ = ["DefaultRule", "Expression", "FactValue", "Policy", "ValidationRule"]

_EXPLAINED: Final = 100
"""With more rules, as those of pods, the screen has no messages: its code would take twice the memory."""

_FEW: Final = 20
"""Objects that are judged rule by rule before a screen is made; the largest takes 150 ms, and saves 1 ms an object."""


@dataclass(frozen=True, slots=True)
class Expression:
    """A program, and what it reads.

    ``variables`` are the policy's variables that it needs, directly or through others, in the order of computation.
    ``facts`` are those that it needs directly or through variables, ``named_facts`` those in its own text.
    ``local``: it reads only ``self`` and ``oldSelf``.
    """

    program: Program
    variables: tuple[str, ...]
    facts: frozenset[str]
    named_facts: tuple[str, ...]
    local: bool

    @property
    def source(self) -> str:
        return self.program.source


@dataclass(frozen=True, slots=True)
class FactValue:
    """A value copied from a fact; ``keys`` are the fact and the path into it. It has the same attributes about what it
    reads as an :class:`Expression`.
    """

    keys: tuple[str, ...]

    @property
    def source(self) -> str:
        return ".".join(("facts", *self.keys))

    @property
    def facts(self) -> frozenset[str]:
        return frozenset(self.keys[:1])

    @property
    def variables(self) -> tuple[str, ...]:
        return ()


@dataclass(frozen=True, slots=True, eq=False)
class DefaultRule:
    """Set one leaf where it is absent; see :class:`webhook.policy.document.Default`.

    ``over`` is the CRD's own default for the leaf if that counts as absent, else MISSING. ``overwrites``: any other
    value counts as absent, too.
    """

    code: str
    path: Path
    when: Expression | None
    value: Expression | FactValue
    because: str
    over: Any
    overwrites: bool
    docs: str
    operator: str = ""

    @property
    def about(self) -> Path:
        """The field that the rule is about."""
        return self.path


@dataclass(frozen=True, slots=True, eq=False)
class ValidationRule:
    """A condition on every node at a path; see :class:`webhook.policy.document.Validation`.

    ``transition``: it compares with the stored object, and does not apply to a new one. ``referential``: it reads other
    objects (codes 4xx), and does not apply without a view of them. ``unseen`` names the object that it did not find.
    """

    code: str
    at: Path
    when: Expression | None
    rule: Expression
    message: str
    message_expression: Expression | None
    field_path: str
    reason: str
    action: Action
    strict: bool
    docs: str
    unseen: Expression | None = None
    explains: bool = False
    operator: str = ""
    transition: bool = field(init=False)
    referential: bool = field(init=False)
    below: Path = field(init=False)
    """The path from the node to the field that the rule is about."""
    about: Path = field(init=False)
    """The field that the rule is about."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "transition", "oldSelf" in self.rule.program.variables)
        object.__setattr__(self, "referential", self.code[2] == "4")
        object.__setattr__(self, "below", Path.parse(self.field_path.removeprefix(".")))
        object.__setattr__(self, "about", Path((*self.at.keys, *self.below.keys)))

    @property
    def local(self) -> bool:
        """Whether the result depends on the node alone, so that an unchanged node cannot start to fail."""
        return self.rule.local and (self.when is None or self.when.local)

    @property
    def conditions(self) -> tuple[Expression, ...]:
        """The expressions that decide whether the rule fails."""
        return (self.rule,) if self.when is None else (self.when, self.rule)

    def action_under(self, profile: Profile) -> Action:
        """The action for a failure under a profile."""
        if profile is Profile.AUDIT:
            return Action.WARN
        if profile is Profile.STRICT and self.strict:
            return Action.DENY
        return self.action


@dataclass(frozen=True, slots=True)
class Policy:
    """All rules of one kind, of one document or joined. ``variables`` are in the order of their declaration.

    ``numeric_quantities``: numbers become text where the schema has quantities.
    ``operator``: the releases that the rules describe, unless a rule names others.
    """

    name: str
    variables: dict[str, Expression]
    defaults: tuple[DefaultRule, ...]
    validations: tuple[ValidationRule, ...]
    numeric_quantities: bool = False
    operator: str = ""
    _actions: dict[Profile, tuple[tuple[ValidationRule, Action], ...]] = field(
        default_factory=dict, init=False, compare=False, repr=False
    )
    _screen: list[Screen | None] = field(default_factory=lambda: [None], init=False, compare=False, repr=False)
    _formulas: list[dict[DefaultRule, Formula]] = field(
        default_factory=lambda: [{}], init=False, compare=False, repr=False
    )
    _judged: list[int] = field(default_factory=lambda: [0], init=False, compare=False, repr=False)
    _undecided: list[int] = field(default_factory=lambda: [0], init=False, compare=False, repr=False)
    _repeated: list[tuple[DefaultRule, ...] | None] = field(
        default_factory=lambda: [None], init=False, compare=False, repr=False
    )
    _reads: dict[tuple[str, str], Reads] = field(default_factory=dict, init=False, compare=False, repr=False)

    def actions(self, profile: Profile) -> tuple[tuple[ValidationRule, Action], ...]:
        """Each validation rule with its action under a profile; computed once."""
        if profile not in self._actions:
            self._actions[profile] = tuple((rule, rule.action_under(profile)) for rule in self.validations)
        return self._actions[profile]

    def screen(self) -> Screen | None:
        """The function that tells which validation rules an object does not meet; None before :meth:`prepare`.

        Each call counts as one object, for :attr:`is_due`.
        """
        self._judged[0] += 1
        return self._screen[0]

    @property
    def undecided(self) -> int:
        """How many objects the screen could not decide, so that each rule was evaluated by itself."""
        return self._undecided[0]

    def count_undecided(self) -> None:
        self._undecided[0] += 1

    def is_screened(self, code: str) -> bool:
        """Whether the screen covers the rule, at all its places."""
        others = self.prepare().others
        return all(index not in others for index, rule in enumerate(self.validations) if rule.code == code)

    def prepare(self) -> Screen:
        """Make the screen and the formulas, which takes up to 150 ms."""
        screen = self._screen[0]
        if screen is None:  # two threads may both do this; the results are equal
            self._formulas[0] = self._new_formulas()
            screen = self._screen[0] = self._new_screen()
        return screen

    @property
    def formulas(self) -> Mapping[DefaultRule, Formula]:
        """The functions of the defaults' values, of those that have one; none before :meth:`prepare`."""
        return self._formulas[0]

    @property
    def is_due(self) -> bool:
        """Whether there have been enough objects for generated functions of all rules to pay for themselves."""
        return self._judged[0] > _FEW and bool(self.validations)

    def complete(self) -> None:
        """Make all that is otherwise made when it is first needed."""
        self.prepare()
        self.repeated_defaults()
        for rule in self.validations:
            for message in (rule.message_expression, rule.unseen):
                if message is not None:
                    message.program.make()

    def _new_screen(self) -> Screen:
        explains = len(self.validations) <= _EXPLAINED
        conditions = [
            Condition(
                rule.at.keys,
                _part(rule.when),
                _part(rule.rule),
                _part(rule.message_expression) if explains else None,
                rule.transition,
            )
            for rule in self.validations
        ]
        read = {name for rule in self.validations for each in rule.conditions for name in each.variables}
        variables = {name: _part(each) for name, each in self.variables.items() if name in read}
        return Screen(conditions, variables, f"screen of {self.name}")

    def _new_formulas(self) -> dict[DefaultRule, Formula]:
        """All or none: so their costs and those of exact evaluations never add up."""
        made: dict[DefaultRule, Formula] = {}
        for rule in self.defaults:
            if isinstance(rule.value, Expression):
                needed = {*rule.value.variables, *(() if rule.when is None else rule.when.variables)}
                variables = {name: _part(each) for name, each in self.variables.items() if name in needed}
                when = None if rule.when is None else _part(rule.when)
                found = formula(when, _part(rule.value), variables, f"{self.name} {rule.code} {rule.path}")
                if found is None:
                    return {}
                made[rule] = found
        return made

    def repeated_defaults(self) -> tuple[DefaultRule, ...]:
        """The defaults that may apply after a later one has set its leaf: they read it, or facts. Computed once."""
        found = self._repeated[0]
        if found is None:
            paths = [rule.path for rule in self.defaults]
            later = ((rule, paths[index + 1 :]) for index, rule in enumerate(self.defaults))
            found = self._repeated[0] = tuple(rule for rule, after in later if self._is_repeated(rule, after))
        return found

    def _is_repeated(self, rule: DefaultRule, later: Iterable[Path]) -> bool:
        parts = [part for part in (rule.when, rule.value) if isinstance(part, Expression)]
        if len(parts) < 1 + (rule.when is not None) or any(part.facts for part in parts):
            return True
        names = {name for each in parts for name in each.variables}
        trees = {name: self.variables[name].program.tree() for name in names}
        reads = Reads.of([each.program.tree() for each in parts], trees)
        return any((OBJECT, *path.keys) in reads for path in later)

    def reads(self, rule: ValidationRule) -> Reads:
        """What the conditions of a rule read; computed once, when it is first needed.

        What they read of the stored object counts as read of the object. Paths below ``self`` start with the node, or
        with :data:`~webhook.policy.reads.SELF` if the rule is about many nodes.
        """
        place = (rule.code, rule.at.text)
        if place not in self._reads:
            node = (OBJECT, *rule.at.keys) if rule.at.single else (SELF,)
            names = {name for each in rule.conditions for name in each.variables}
            reads = Reads.of(
                [each.program.tree() for each in rule.conditions],
                {name: self.variables[name].program.tree() for name in names},
                {"self": node, "oldSelf": node, "oldObject": (OBJECT,)},
            )
            reads.tests.add(node)  # without the node, the rule does not apply
            self._reads[place] = reads
        return self._reads[place]

    def joined(self, other: Policy) -> Policy:
        """The rules of both. A variable of one name must be the same in both (ValueError)."""
        for name in self.variables.keys() & other.variables.keys():
            if self.variables[name].source != other.variables[name].source:
                raise ValueError(f"variable {name} is another one in policy {self.name}")
        variables = {**self.variables, **other.variables}
        defaults, validations = self.defaults + other.defaults, self.validations + other.validations
        return replace(self, variables=variables, defaults=defaults, validations=validations)

    @property
    def codes(self) -> tuple[str, ...]:
        """Each code once, also that of a rule with many places."""
        codes = (*(rule.code for rule in self.defaults), *(rule.code for rule in self.validations))
        return tuple(dict.fromkeys(codes))


@overload
def _part(expression: Expression) -> Part: ...


@overload
def _part(expression: Expression | None) -> Part | None: ...


def _part(expression: Expression | None) -> Part | None:
    return None if expression is None else Part(expression.program, expression.named_facts)
