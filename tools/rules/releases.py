"""docs/releases.md: from which release to which the rules of an API are the same."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Final

import yaml

from webhook.catalog import Catalog, InForce, Pack, later_releases
from webhook.policy import DefaultRule, Expression, Policy, ValidationRule
from webhook.policy.ranges import version

PAGE: Final = Path(__file__).parents[2] / "docs" / "releases.md"

HEAD: Final = """\
# Releases of operators

`make docs` generates this page from the policies; a test fails when it is stale. [Installed
definitions](installed-definitions.md) says how the release in force is found, and [Follow an upstream](following.md)
how a new one is added.

## The documented release

Where nothing says which release runs, objects are judged as of the documented one: the newest release with the fields
of the API document, or the nearest one. The definitions in `crds/` are those of the document, and rules without a range
are true of this release. If you run another one, pin it in the repository, or give `--release` or `releases`: what is
found about a field of another release says so.

| API | documented | newest | why |
|---|---|---|---|
"""
WHY: Final = Path(__file__).parents[2] / "docs" / "releases.yaml"
"""Why a release is the documented one, by API."""
TABLE: Final = """
## {operator}

{count} releases are known, {first} to {last}. The documented one is {documented}. In the releases of a row, the same
rules are in force. A rule of *another form* has the code of a rule in the row above, and another condition, value or
message. The definition is that of the release with this name; it counts where no definition is given.

| releases | definition | rules | defaults | what differs from the row above |
|---|---|---|---|---|
"""
UNKNOWN: Final = """
The last row is that of a release that is not known: only what is true of all releases is in force. A rule is not in
force where the definition lacks a field that it reads.
"""
ALIKE: Final = """
Some releases have the same definitions, so that only a setting tells them apart. Without it, a rule must be true of all
of them:

| releases | what a setting adds or changes |
|---|---|
"""


def made_page(catalog: Catalog) -> str:
    """The page of all APIs whose operator has known releases."""
    apis = sorted(api for api, pack in catalog.packs.items() if pack.documented)
    reasons = yaml.safe_load(WHY.read_text())
    packs = [(catalog.packs[api], reasons.get(api, "")) for api in apis]
    chosen = (_row(pack.operator, _documented(pack), pack.table.newest, why) for pack, why in packs)
    return (
        HEAD
        + "".join(chosen)
        + "".join(part for api in apis for part in _Api(api, catalog.packs[api], catalog).parts())
    )


@dataclass(frozen=True, slots=True)
class _Forms:
    """``rules`` and ``defaults``: code → all that a rule says, with the variables that it uses."""

    definition: str
    rules: Mapping[str, str]
    defaults: Mapping[str, str]

    @property
    def all(self) -> Mapping[str, str]:
        return {**self.rules, **self.defaults}


@dataclass(frozen=True, slots=True)
class _Api:
    api: str
    pack: Pack
    catalog: Catalog

    def parts(self) -> Iterator[str]:
        releases = self.pack.releases
        counted = {"count": len(releases), "first": releases[0], "last": releases[-1]}
        yield TABLE.format(operator=self.pack.operator, documented=_documented(self.pack), **counted)
        above: _Forms | None = None
        later = later_releases(self.pack, self._ranges())
        for _, group in groupby([self.pack.under(each) for each in (*releases, *later)], self._state):
            alike = list(group)
            found = self._forms(alike[0])
            yield _row(
                _named([each.name for each in alike]), found.definition, *_counts(found), _difference(above, found)
            )
            above = found
        unknown = self._forms(self.pack.under_all(()))
        yield _row("unknown", unknown.definition, *_counts(unknown), _difference(above, unknown))
        yield UNKNOWN
        rows = list(self._alike())
        if rows:
            yield ALIKE
            yield from rows

    def _state(self, release: InForce) -> tuple[object, ...]:
        """What decides about the rules of a release: the definitions, and which ranges hold."""
        return self._definition(release), *map(release.holds, self._ranges())

    def _ranges(self) -> list[str]:
        known = (self.catalog.uncompiled(gvk) for gvk in self.catalog.kinds)
        specs = [source.document.spec for each in known if each.api == self.api for source in each.sources]
        variables = {variable.operator for spec in specs for variable in spec.variables}
        rules = {rule.operator for spec in specs for rule in spec.rules}
        return sorted(filter(None, variables | rules))

    def _definition(self, release: InForce) -> str:
        """The release with which the definitions begin that are used under a release; "none" where one is not known."""
        plurals = {known.plural for known in map(self.catalog.uncompiled, self.catalog.kinds) if known.api == self.api}
        begins = [self.pack.definition(plural, release)[0] for plural in plurals]
        return max(begins, key=version) if all(begins) else "none"

    def _alike(self) -> Iterator[str]:
        """The releases that have the same definitions, but not the same rules."""
        for _, group in groupby(enumerate(self.pack.releases), lambda each: self._digests(each[0])):
            releases = [release for _, release in group]
            states = {self._state(each): each for each in map(self.pack.under, releases)}
            if len(states) == 1:
                continue
            joint = self._forms(self.pack.under_all(tuple(releases))).all
            single = [pair for release in states.values() for pair in self._forms(release).all.items()]
            yield _row(_named(releases), _listed({code for code, said in single if joint.get(code) != said}))

    def _digests(self, place: int) -> tuple[tuple[str, str], ...]:
        rows = self.pack.table.rows.items()
        return tuple((name, row.digest) for name, found in rows for row in found if row.first <= place <= row.last)

    def _forms(self, release: InForce) -> _Forms:
        """The rules in force under a release, or under several that cannot be told apart."""
        found = self.catalog.under({self.api: release})
        policies = [known.policy for known in found.kinds.values() if known.api == self.api]
        return _Forms(
            self._definition(release),
            {rule.code: _said(policy, rule) for policy in policies for rule in policy.validations},
            {rule.code: _said(policy, rule) for policy in policies for rule in policy.defaults},
        )


def _documented(pack: Pack) -> str:
    return str(pack.in_force).removeprefix(f"{pack.operator} ")


def _said(policy: Policy, rule: DefaultRule | ValidationRule) -> str:
    if isinstance(rule, DefaultRule):
        parts, texts = [rule.when, rule.value], [rule.path.text]
    else:
        parts = [rule.when, rule.rule, rule.message_expression]
        texts = [rule.message, rule.action, str(rule.strict)]
    expressions = [each for each in parts if isinstance(each, Expression)]
    names = sorted({name for each in expressions for name in each.variables})
    sources = [each.source for each in parts if each is not None]
    return "\0".join([*texts, *sources, *(policy.variables[name].source for name in names)])


def _named(releases: Sequence[str]) -> str:
    return releases[0] if len(releases) == 1 else f"{releases[0]} to {releases[-1]}"


def _counts(found: _Forms) -> tuple[str, str]:
    return str(len(found.rules)), _listed(found.defaults)


def _difference(above: _Forms | None, found: _Forms) -> str:
    if above is None:
        return ""
    old, new = above.all, found.all
    parts = (
        ("", [f"definition of {found.definition}"] if found.definition != above.definition else []),
        ("added: ", new.keys() - old.keys()),
        ("gone: ", old.keys() - new.keys()),
        ("another form: ", {code for code in old.keys() & new.keys() if old[code] != new[code]}),
    )
    return "; ".join(word + _listed(codes) for word, codes in parts if codes)


def _listed(codes: Iterable[str]) -> str:
    return ", ".join(sorted(codes)) or "none"


def _row(*cells: str) -> str:
    return f"| {' | '.join(cells)} |\n"
