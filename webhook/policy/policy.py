"""A compiled policy: the rules of its document, ready to run. Immutable, and safe to share between threads."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from itertools import combinations
from typing import TYPE_CHECKING, Any, ClassVar, Final, NamedTuple

from webhook.policy.path import MISSING, Path
from webhook.policy.reads import OBJECT, SELF, STORED, Expression, Keys, Reads
from webhook.policy.template import ChildRule

if TYPE_CHECKING:
    from webhook.cel.syntax import Expr
    from webhook.policy import document


class Action(StrEnum):
    DENY = "Deny"
    WARN = "Warn"


class Profile(StrEnum):
    """How strict to be.

    ``standard`` denies what upstream denies and what cannot work, and warns otherwise. ``strict`` also denies by rules
    marked ``strict: Deny``. ``audit`` never denies: it only warns.
    """

    STANDARD = "standard"
    STRICT = "strict"
    AUDIT = "audit"

    @property
    def denies(self) -> bool:
        return self is not Profile.AUDIT


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


_STORED: Final[Mapping[str, Keys]] = {STORED: (STORED,)}


@dataclass(frozen=True, slots=True, eq=False)
class DefaultRule:
    """Set one leaf where it is absent; see :class:`webhook.policy.document.Default`.

    ``over`` is the CRD's own default for the leaf if that counts as absent, else MISSING. ``overwrites``: any other
    value counts as absent, too. ``always``: so, before anything is set. ``lists``: for each ``*`` of the path, the
    fields by which the items of the list are known.
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
    always: bool = False
    lists: tuple[tuple[str, ...], ...] = ()
    texts: ClassVar[tuple[Expression, ...]] = ()
    """It has no messages, see :class:`ValidationRule`."""

    @property
    def roots(self) -> Mapping[str, Keys]:
        """It tells the stored object from the new one, see :class:`ValidationRule`."""
        return _STORED if self.path.single else {**_STORED, SELF: (OBJECT, *self.path.around)}

    @property
    def about(self) -> Path:
        """The field that the rule is about."""
        return self.path

    @property
    def conditions(self) -> tuple[Expression, ...]:
        """The expressions that decide what is set."""
        return tuple(part for part in (self.when, self.value) if isinstance(part, Expression))

    @property
    def facts(self) -> frozenset[str]:
        """The facts that decide what is set."""
        return self.value.facts if self.when is None else self.value.facts | self.when.facts

    def replaces(self, value: Any) -> bool:
        """Whether a leaf with this value counts as absent."""
        return value is None or value is MISSING or self.overwrites or (self.over is not MISSING and value == self.over)

    @property
    def takes_over(self) -> bool:
        """Whether a value that a user wrote may be changed."""
        return self.overwrites or self.always


@dataclass(frozen=True, slots=True, eq=False)
class Withdrawn:
    """A default that is not set in the release in force: what the gate filled in earlier is removed.

    The other fields are those of the :class:`DefaultRule`.
    """

    code: str
    path: Path
    over: Any
    overwrites: bool
    lists: tuple[tuple[str, ...], ...] = ()


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
    explains: str = ""
    operator: str = ""
    transition: bool = field(init=False)
    referential: bool = field(init=False)
    below: Path = field(init=False)
    """The path from the node to the field that the rule is about."""
    about: Path = field(init=False)
    """The field that the rule is about."""
    denied_by: frozenset[Profile] = field(init=False)
    """The profiles under which a failure is a denial; under the others it is a warning."""

    def __post_init__(self) -> None:
        under_strict = _STRICT if self.strict else _NEVER
        object.__setattr__(self, "denied_by", _ALWAYS if self.action is Action.DENY else under_strict)
        object.__setattr__(self, "transition", "oldSelf" in self.rule.program.variables)
        object.__setattr__(self, "referential", self.code[2] == "4")
        object.__setattr__(self, "below", Path.parse(self.field_path.removeprefix(".")))
        object.__setattr__(self, "about", Path((*self.at.keys, *self.below.keys)))

    @property
    def local(self) -> bool:
        """Whether the result depends on the node alone, so that an unchanged node cannot start to fail."""
        return self.rule.local and (self.when is None or self.when.local)

    @property
    def roots(self) -> Mapping[str, Keys]:
        """The paths that the names of nodes stand for in its expressions."""
        node = (OBJECT, *self.at.keys) if self.at.single else (SELF,)
        return {SELF: node, "oldSelf": node, STORED: (OBJECT,)}

    @property
    def conditions(self) -> tuple[Expression, ...]:
        """The expressions that decide whether the rule fails."""
        return (self.rule,) if self.when is None else (self.when, self.rule)

    @property
    def texts(self) -> tuple[Expression, ...]:
        """The expressions that make its messages."""
        return tuple(each for each in (self.message_expression, self.unseen) if each is not None)

    @property
    def facts(self) -> frozenset[str]:
        """The facts that decide whether the rule fails."""
        return self.rule.facts if self.when is None else self.rule.facts | self.when.facts


_ALWAYS: Final = frozenset({Profile.STANDARD, Profile.STRICT})
_STRICT: Final = frozenset({Profile.STRICT})
_NEVER: Final = frozenset[Profile]()
"""The profiles that deny by a rule: one of these three, because a set of its own takes as much memory as the rule."""


class Reference(NamedTuple):
    """Another object that rules read as a fact of this name; see :class:`webhook.policy.document.Reference`.

    ``members`` are of the other object: name, path, type, the default or None, and the expression or "". ``looked`` are
    the parts of :class:`webhook.facts.Looked`: how and where it is looked for.
    """

    name: str
    group: str
    kind: str
    members: tuple[tuple[str, tuple[str, ...], str, Any, str], ...]
    looked: tuple[Any, ...]

    @classmethod
    def of(cls, given: document.Reference) -> Reference:
        """What a document says."""
        members = tuple(
            (
                name,
                Path.parse(each.path or "").keys,
                each.type,
                tuple(other) if isinstance(other := each.default, list) else other,
                each.expression or "",
            )
            for name, each in given.fields.items()
        )
        named_by, by, labels_at, namespace_at = (
            () if text is None else Path.parse(text).keys
            for text in (given.path, given.by, given.labelsPath, given.namespacePath)
        )
        labels = tuple(sorted(given.labels.items()))
        looked = named_by, tuple(given.named), by, labels_at, labels, given.namespaced, given.namespace, namespace_at
        return cls(given.name, given.group, given.kind, members, looked)


@dataclass(frozen=True, slots=True, eq=False)
class Policy:
    """All rules of one kind, of one document or joined. ``variables`` are in the order of their declaration.

    ``numeric_quantities``: numbers become text where the schema has quantities.
    ``operator``: the releases that the rules describe, unless a rule names others.
    ``renamed``: paths of fields that have another name now.
    ``pod_types``: by path, the type of Kubernetes' pods that a node has, and whether no other object completes it;
    ``pod_owner``: what the operator makes of pods, ``deployment`` or ``job``; "" if no policy says.
    ``withdrawn``: defaults of other releases.
    ``references``: the objects that rules read as facts.
    ``children``: the objects that the operator makes of one.
    ``structures``: the paths of what facts give as a whole, where no expression sets the same.
    ``leaves``: the defaults of one leaf each, ``items`` those of items of lists, and ``taking`` those that may change a
    user's value.
    """

    name: str
    variables: dict[str, Expression]
    defaults: tuple[DefaultRule, ...]
    validations: tuple[ValidationRule, ...]
    numeric_quantities: bool = False
    operator: str = ""
    renamed: Mapping[str, str] = field(default_factory=dict)
    pod_types: Mapping[tuple[str, ...], tuple[str, bool]] = field(default_factory=dict)
    pod_owner: str = "deployment"
    withdrawn: tuple[Withdrawn, ...] = ()
    references: tuple[Reference, ...] = ()
    children: tuple[ChildRule, ...] = ()
    structures: tuple[Path, ...] = field(init=False, repr=False)
    leaves: tuple[DefaultRule, ...] = field(init=False, repr=False)
    items: tuple[DefaultRule, ...] = field(init=False, repr=False)
    taking: tuple[DefaultRule, ...] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        whole = {rule.path.text: rule.path for rule in self.defaults if isinstance(rule.value, FactValue)}
        others = {rule.path.text for rule in self.defaults if not isinstance(rule.value, FactValue)}
        found = tuple(path for text, path in whole.items() if text not in others)
        object.__setattr__(self, "structures", found)
        items = tuple(rule for rule in self.defaults if not rule.path.single)
        leaves = tuple(rule for rule in self.defaults if rule.path.single) if items else self.defaults
        object.__setattr__(self, "items", items)
        object.__setattr__(self, "leaves", leaves)
        object.__setattr__(self, "taking", tuple(rule for rule in self.defaults if rule.takes_over))

    def reads(self, rule: ValidationRule) -> Reads:
        """What the conditions of a rule read.

        What they read of the stored object counts as read of the object. Paths below ``self`` start with the node, or
        with :data:`~webhook.policy.reads.SELF` if the rule is about many nodes.
        """
        reads = self.reads_of(rule.conditions, rule.roots)
        reads.tests.add(rule.roots[SELF])  # without the node, the rule does not apply
        return reads

    def reads_of(self, parts: Collection[Expression], roots: Mapping[str, Keys] | None = None) -> Reads:
        """What expressions read, see :meth:`~webhook.policy.reads.Reads.of`."""
        return Reads.of([each.program.tree() for each in parts], self.variable_trees(parts), roots)

    def variable_trees(self, parts: Collection[Expression]) -> dict[str, Expr]:
        """The syntax trees of the variables that expressions need."""
        names = {name for each in parts for name in each.variables}
        return {name: self.variables[name].program.tree() for name in names}

    def without(self, rules: Collection[DefaultRule | ValidationRule]) -> Policy:
        """The policy without these rules; itself if it has none of them."""
        defaults = tuple(each for each in self.defaults if each not in rules)
        validations = tuple(each for each in self.validations if each not in rules)
        if len(defaults) == len(self.defaults) and len(validations) == len(self.validations):
            return self
        return replace(self, defaults=defaults, validations=validations)

    def with_children(self, wanted: Callable[[ChildRule], bool]) -> Policy:
        """The policy with these children only; itself if that are all."""
        children = tuple(filter(wanted, self.children))
        return self if len(children) == len(self.children) else replace(self, children=children)

    def joined(self, other: Policy) -> Policy:
        """The rules of both. A variable or a reference of one name must be the same in both (ValueError)."""
        for name in self.variables.keys() & other.variables.keys():
            if self.variables[name].source != other.variables[name].source:
                raise ValueError(f"variable {name} is another one in policy {self.name}")
        references = tuple(dict.fromkeys(self.references + other.references))
        for one, another in combinations(references, 2):
            if one.name == another.name:
                raise ValueError(f"reference {one.name} is another one in policy {self.name}")
        variables = {**self.variables, **other.variables}
        defaults, validations = self.defaults + other.defaults, self.validations + other.validations
        types, renamed = {**self.pod_types, **other.pod_types}, {**self.renamed, **other.renamed}
        owner = "job" if "job" in (self.pod_owner, other.pod_owner) else self.pod_owner
        return replace(
            self,
            variables=variables,
            defaults=defaults,
            validations=validations,
            renamed=renamed,
            pod_types=types,
            pod_owner=owner,
            withdrawn=self.withdrawn + other.withdrawn,
            references=references,
            children=self.children + other.children,
        )

    def drop_trees(self) -> None:
        """Free the memory of all syntax trees: they are kept for the functions of the whole policy."""
        for expression in self._expressions():
            expression.program.drop_tree()

    def _expressions(self) -> Iterator[Expression]:
        yield from self.variables.values()
        for rule in self.rules:
            yield from (*rule.conditions, *rule.texts)

    @property
    def rules(self) -> tuple[DefaultRule | ValidationRule, ...]:
        """The defaults, then the other rules."""
        return (*self.defaults, *self.validations)

    @property
    def codes(self) -> tuple[str, ...]:
        """Each code once, also that of a rule with many places."""
        return tuple(dict.fromkeys(rule.code for rule in self.rules))
