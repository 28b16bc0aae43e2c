"""Which rules apply to an object that is installed, stored or written otherwise than its rules expect.

A rule is written for the values that the catalog's definition accepts. The installed one may accept more: a rule that
reads such a value is left out of the review of this object, and of no other. Facts follow the same law for the objects
of other kinds that they read. Values that are not known yet are left to :mod:`webhook.library.unknown`, which asks the
same :class:`Dependences`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any, Final, NamedTuple

from webhook.admission import patch
from webhook.cluster import ClusterView, Kind
from webhook.facts import Looked, Memo, inputs_of
from webhook.policy import Dependence, Keys, Open, Place, Policy, Rule, any_meet
from webhook.schema import DecodeError, Structural
from webhook.schema.compare import Differences
from webhook.schema.fielderror import OVERSIZED

_SHAPES: Final = 256
"""Sets of fields of which the rules are remembered; a full cache is emptied."""
_MOST: Final = 1000
"""With so many errors there may be more of them, which are not named."""
_EVERYTHING: Final[frozenset[Keys]] = frozenset({()})


class Dependences:
    """What the rules and the facts of a kind depend on. A rule is looked at once, when it is first asked about."""

    def __init__(self, kind: Kind, policy: Policy) -> None:
        self.kind, self.policy = kind, policy
        self._of_rules: dict[Rule, Dependence] = {}

    def of(self, policy: Policy) -> Dependences:
        """The same for some of the rules."""
        found = Dependences(self.kind, policy)
        found._of_rules = self._of_rules
        return found

    def __getitem__(self, rule: Rule) -> Dependence:
        found = self._of_rules.get(rule)
        if found is None:
            found = self._of_rules[rule] = Dependence(self.policy, rule)
        return found

    def where(self, concerns: Callable[[Dependence], bool]) -> frozenset[Rule]:
        """The rules and defaults that something concerns."""
        return frozenset(rule for rule in self.policy.rules if concerns(self[rule]))

    def facts(self, kind: Kind, fields: Collection[Place]) -> frozenset[str]:
        """The facts that read one of these fields of a kind."""
        return frozenset(name for name in self.fact_names if any_meet(fields, self.fields(name, kind)))

    @cached_property
    def fact_names(self) -> frozenset[str]:
        """The facts that rules or their messages read."""
        read = (each.facts for rule in self.policy.rules for each in (rule, *rule.texts))
        return frozenset[str]().union(*read)

    def fields(self, fact: str, kind: Kind) -> list[Keys]:
        """The fields of a kind that a fact reads."""
        return [keys for its_kind, keys in self.inputs(fact) if its_kind == kind]

    def inputs(self, fact: str) -> Sequence[tuple[Kind, Keys]]:
        """The fields that a fact reads, of this kind and of others."""
        for each in self.policy.references:
            if each.name == fact:
                looked = Looked(*each.looked)
                named = [(self.kind, path) for path in (*looked.read, ("metadata", "namespace"))]
                paths = [*looked.read_of_others, *(path for _, path, *_ in each.members)]
                return named + [(Kind(each.group, each.kind), path) for path in paths]
        return inputs_of(self.kind, fact)


class Aside(NamedTuple):
    """The rules and defaults that are left out of one review. ``oversized``: a value is larger than they expect."""

    rules: frozenset[Rule]
    oversized: bool = False


NOTHING_ASIDE: Final = Aside(frozenset())


class Own:
    """The catalog's definition of a kind, beside the installed one.

    ``expected`` is the catalog's schema for objects of the installed definition: without the fields that this one
    lacks, and with any value where it adds some. ``rules`` are those that apply to the installed definition.
    """

    def __init__(
        self, rules: Dependences, expected: Structural, installed: Structural, differences: Differences
    ) -> None:
        self.rules, self.differences = rules, differences
        self._expected, self._installed = expected, installed
        self._rules_about: dict[frozenset[Keys], frozenset[Rule]] = {}
        self.unexpected = Memo(lambda obj: self._invalid(installed.default(obj))[0])

    def with_rules(self, rules: Dependences) -> Own:
        """The same definitions with other rules."""
        return Own(rules, self._expected, self._installed, self.differences)

    def aside(self, obj: dict[str, Any], old: dict[str, Any] | None = None) -> Aside:
        """What is left out of the review of an object; ``old`` is what is stored. Both are decoded."""
        if not self.differences.accepts_more:
            return NOTHING_ASIDE
        paths, oversized = self._invalid(obj)
        rules = self._about(paths) if paths else frozenset()
        if old is not None and self._on_stored:
            before, _ = self._invalid(old)
            rules |= self._about(before) & self._on_stored
        return Aside(rules, oversized) if rules or oversized else NOTHING_ASIDE

    def seen(self, obj: dict[str, Any]) -> dict[str, Any]:
        """An object as rules and facts read it.

        Where the installed definition says nothing, the API server fills in nothing, and keeps what is null. Rules read
        what it would have made of the object by the catalog's definition.
        """
        if not self.differences.unstated:
            return obj
        try:
            return self._expected.decode(obj, drop_invalid=True).object
        except DecodeError:  # the installed definition may keep what the catalog's cannot read
            return obj

    @property
    def stated(self) -> Structural:
        """The schema that says most of the object."""
        return self._expected if self.differences.unstated else self._installed

    def _invalid(self, obj: dict[str, Any]) -> tuple[frozenset[Keys], bool]:
        """The fields with a value that the catalog's definition refuses or would fill in, and the installed one not."""
        filled = self.seen(obj) if self.differences.unstated else self._expected.default(obj)
        try:
            errors = self._expected.invalid_places(filled)
            ours = Counter(errors) - Counter(self._installed.invalid_places(obj)) if errors else ()
        except DecodeError:
            return _EVERYTHING, True
        if not errors and filled is obj:
            return frozenset(), False
        paths = {keys for keys, _ in ours}
        for _, keys, _ in patch.steps(obj, filled):
            path = tuple("*" if key.isdigit() else key for key in keys)
            if not any(path[:end] in self.differences.unstated for end in range(len(path))):
                paths.add(path)
        if len(errors) >= _MOST:
            return _EVERYTHING, True
        return frozenset(paths), any(kind in OVERSIZED for _, kind in ours)

    def _about(self, paths: frozenset[Keys]) -> frozenset[Rule]:
        """The rules that depend on a value at one of the paths, directly or by a fact."""
        if paths not in self._rules_about:
            if len(self._rules_about) >= _SHAPES:
                self._rules_about = {}
            values = Open(paths, self.rules.facts(self.rules.kind, paths))
            self._rules_about[paths] = self.rules.where(lambda on: on.is_decided_by(values))
        return self._rules_about[paths]

    @cached_property
    def may_refuse_defaults(self) -> bool:
        """Whether the installed definition may refuse what a default sets."""
        return any_meet((rule.path.keys for rule in self.rules.policy.defaults), self.differences.narrowed)

    @cached_property
    def _on_stored(self) -> frozenset[Rule]:
        """The rules that read the stored object."""
        return self.rules.where(lambda on: on.reads_stored)


class Foreign(NamedTuple):
    """The kinds that a fact reads and that are installed in another form, and the fields that it reads of each."""

    kinds: Mapping[Kind, tuple[Own, Sequence[Keys]]]

    def hides(self, kind: Kind, objects: Iterable[dict[str, Any]]) -> bool:
        """Whether one of these objects has a value that the fact does not expect."""
        if kind not in self.kinds:
            return False
        own, read = self.kinds[kind]
        return any(any_meet(own.unexpected(each), read) for each in objects)


class Sight:
    """A view for one fact. ``is_clear`` until an object is looked at that hides something from it.

    ``hides`` is asked about a kind and the objects that the view gives, of which there may be none. A look by one
    of the ``unknown`` names or namespaces is not clear.
    """

    def __init__(
        self,
        view: ClusterView,
        hides: Callable[[Kind, Iterable[dict[str, Any]]], bool],
        unknown: Collection[str | None] = frozenset(),
    ) -> None:
        self._view, self._hides, self._unknown = view, hides, unknown
        self.is_clear = True

    def get(self, kind: Kind, namespace: str, name: str) -> dict[str, Any] | None:
        found = self._view.get(kind, namespace, name)
        self._look(kind, () if found is None else (found,), namespace, name)
        return found

    def list(self, kind: Kind, namespace: str | None = None) -> Sequence[dict[str, Any]]:
        found = self._view.list(kind, namespace)
        self._look(kind, found, namespace)
        return found

    def _look(self, kind: Kind, objects: Iterable[dict[str, Any]], *names: str | None) -> None:
        is_unknown = any(name in self._unknown for name in names)
        self.is_clear = self.is_clear and not is_unknown and not self._hides(kind, objects)
