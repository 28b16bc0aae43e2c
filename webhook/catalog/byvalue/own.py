"""The catalog's definition of a kind beside the installed one, and the rules that do not hold for an object."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any, Final, NamedTuple

from webhook.admission import patch
from webhook.cluster import Kind
from webhook.facts import Memo, inputs_of
from webhook.policy import Dependence, Policy, Rule, meet
from webhook.schema import DecodeError, Structural
from webhook.schema.compare import Differences

__all__ = ["NOTHING_ASIDE", "Aside", "Keys", "Own", "any_meet"]

Keys = tuple[str, ...]

_SHAPES: Final = 256
"""Sets of fields of which the rules are remembered; a full cache is emptied."""
_MOST: Final = 1000
"""With so many errors there may be more of them, which are not named."""
_EVERYTHING: Final[frozenset[Keys]] = frozenset({()})
_OVERSIZED: Final = frozenset({"FieldValueTooLong", "FieldValueTooMany"})


class Aside(NamedTuple):
    """The rules and defaults that are left out of one review. ``oversized``: a value is larger than they expect."""

    rules: frozenset[Rule]
    oversized: bool = False


NOTHING_ASIDE: Final = Aside(frozenset())


class Own:
    """The catalog's definition of a kind, beside the installed one.

    ``expected`` is the catalog's schema for objects of the installed definition: without the fields that this one
    lacks, and with any value where it adds some. ``policy`` are the rules that apply to the installed definition.
    """

    def __init__(
        self, kind: Kind, expected: Structural, installed: Structural, policy: Policy, differences: Differences
    ) -> None:
        self.differences = differences
        self._kind, self._expected, self._installed, self._policy = kind, expected, installed, policy
        self._known: dict[frozenset[Keys], frozenset[Rule]] = {}
        self.unexpected = Memo(lambda obj: self._invalid(installed.default(obj))[0])

    def ruling(self, policy: Policy) -> Own:
        """The same definitions with other rules."""
        return Own(self._kind, self._expected, self._installed, policy, self.differences)

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
        return frozenset(paths), any(kind in _OVERSIZED for _, kind in ours)

    def _about(self, paths: frozenset[Keys]) -> frozenset[Rule]:
        """The rules that depend on a value at one of the paths, directly or by a fact."""
        if paths not in self._known:
            if len(self._known) >= _SHAPES:
                self._known = {}
            facts = {name for name, read in self._inputs.items() if any_meet(paths, read)}
            self._known[paths] = frozenset(
                rule
                for rule, on in self._dependences.items()
                if not on.facts.isdisjoint(facts) or any(map(on.on_value, paths))
            )
        return self._known[paths]

    @cached_property
    def may_refuse_defaults(self) -> bool:
        """Whether the installed definition may refuse what a default sets."""
        return any(meet(rule.path.keys, each) for rule in self._policy.defaults for each in self.differences.narrowed)

    @cached_property
    def _dependences(self) -> Mapping[Rule, Dependence]:
        rules: Iterable[Rule] = (*self._policy.defaults, *self._policy.validations)
        return {rule: Dependence.of(self._policy, rule) for rule in rules}

    @cached_property
    def _on_stored(self) -> frozenset[Rule]:
        """The rules that read the stored object."""
        return frozenset(rule for rule, on in self._dependences.items() if on.stored)

    @cached_property
    def _inputs(self) -> Mapping[str, Sequence[Keys]]:
        """The fields of the kind itself that each fact reads."""
        names = {name for on in self._dependences.values() for name in on.facts}
        return {name: [each.keys for each in inputs_of(self._kind, name) if each.kind == self._kind] for name in names}


def any_meet(paths: Collection[Keys], others: Collection[Keys]) -> bool:
    return any(meet(path, other) for path in paths for other in others)
