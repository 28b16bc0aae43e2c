"""The rules with a code, in each form that a release has, and the case that shows each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from webhook.admission import GroupVersionKind
from webhook.catalog import Catalog, KnownKind, forms
from webhook.cli.cases import Case, is_about
from webhook.cli.rule.repairs import Example, run_example
from webhook.cli.test import read_cases
from webhook.policy import Action, DefaultRule, ValidationRule
from webhook.policy.ranges import Range

__all__ = ["Found", "Repair", "all_rules", "example", "repairs", "rules"]


class Found(NamedTuple):
    """A rule, in a catalog of a release that it is true of."""

    rule: DefaultRule | ValidationRule
    known: KnownKind
    loaded: Catalog

    @property
    def kinds(self) -> list[KnownKind]:
        """The kinds that have the rule."""
        return [each for each in self.loaded.kinds.values() if self.rule.code in each.policy.codes]

    @property
    def names(self) -> str:
        """The names of its kinds."""
        return " and ".join(each.gvk.kind for each in self.kinds)

    @property
    def where(self) -> str:
        """The place; of a rule with several places, all that its kinds have. "" for the whole object."""
        return place(self.rule, self.kinds)

    @property
    def releases(self) -> str:
        """The operator and its releases that the rule is true of, in words; "" if none are named."""
        if not self.rule.operator:
            return self.known.policy.operator
        known = self.known.pack.releases
        return f"{self.known.in_force.operator} {Range.parse(self.rule.operator).words(known)}"

    @property
    def of_files(self) -> str:
        """That a denial about another object is a warning, if only files are known; "" of any other rule."""
        rule = self.rule
        if isinstance(rule, DefaultRule) or rule.unseen is None or not (rule.strict or rule.action is Action.DENY):
            return ""
        return "Of files alone it is a warning where the other object is not among them: that may be in the cluster."


def place(rule: DefaultRule | ValidationRule, kinds: Iterable[KnownKind]) -> str:
    """The places of a rule in these kinds."""
    if isinstance(rule, DefaultRule):
        return str(rule.path)
    same = (each for known in kinds for each in known.policy.validations if each.code == rule.code)
    return ", ".join(dict.fromkeys(str(each.at) for each in same))


def all_rules(loaded: Catalog) -> Iterator[Found]:
    """Every rule of every release: of those with one code and one range, the first."""
    seen: set[tuple[str, str]] = set()
    for form in forms(loaded):
        for known in form.kinds.values():
            for rule in known.policy.rules:
                if (rule.code, rule.operator) not in seen:
                    seen.add((rule.code, rule.operator))
                    yield Found(rule, known, form)


def rules(code: str, loaded: Catalog) -> Iterator[Found]:
    """The rules with a code: several, if they are true of different releases."""
    told = set[str | None]()
    for each in all_rules(loaded):
        if each.rule.code == code:
            yield each
            told.add(each.rule.operator or None)
            if told == set(_ranges(each)):
                return


def _ranges(found: Found) -> Iterator[str | None]:
    """The ranges of all forms of a rule; None of one without."""
    for source in found.known.sources:
        yield from (rule.operator for rule in source.document.spec.rules if rule.code == found.rule.code)


Repair = tuple[str, Case, KnownKind]
"""A code that a case has a repair for, with the case and its kind."""


def example(found: Found, loaded: Catalog, known_repairs: Iterable[Repair] | None = None) -> Example | None:
    """The case of the API that has a repair for the rule: for its code, under a release that it is true of."""
    rule, known, _ = found
    for code, case, kind in repairs([known.api], loaded) if known_repairs is None else known_repairs:
        if code == rule.code and is_about(case, kind, rule, loaded):
            return run_example(code, case, kind, loaded)
    return None


def repairs(apis: Iterable[str], loaded: Catalog) -> Iterator[Repair]:
    """Each code that a case of these APIs has a repair for."""
    for document in read_cases([loaded.packs[api].folder for api in apis], loaded):
        target = document.target
        kind = loaded.find(GroupVersionKind(target.group, target.version, target.kind))
        assert kind is not None  # read_cases checks it
        for case in document.cases:
            yield from ((code, case, kind) for code in case.repairs)
