"""Kinds under another release of their operator than the documented one, and the settings that name a release."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Final

from webhook.admission import GroupVersionKind
from webhook.admission.errors import Problem, SettingsError
from webhook.catalog.compiling import compiled
from webhook.catalog.kinds import NO_POLICY, KnownKind, PolicySource, uncompiled
from webhook.catalog.packs import InForce, Pack
from webhook.manifests import documents
from webhook.policy.problems import problem
from webhook.policy.ranges import Range
from webhook.schema import load_crd

__all__ = ["UNKNOWN", "ReleasedKinds", "chosen", "needed_releases", "ranges", "released", "unknown_releases"]

UNKNOWN: Final = "unknown"
"""The setting for a release that is not in the table."""


def chosen(packs: Mapping[str, Pack], settings: Iterable[tuple[str, str]]) -> dict[str, InForce]:
    """The releases that settings name, by API.

    Raises:
        SettingsError: with every API or release that does not exist, and what is like it.
    """
    found, problems = dict[str, InForce](), list[Problem]()
    for api, release in settings:
        try:
            found[api] = _set(packs, api, release)
        except ValueError as error:
            problems.append(Problem(f"--release {api}={release}"[:200], "", str(error)))
    if problems:
        raise SettingsError(problems)
    return found


def _set(packs: Mapping[str, Pack], api: str, release: str) -> InForce:
    pack = packs.get(api)
    if pack is None or pack.documented is None:
        known = ", ".join(sorted(name for name, each in packs.items() if each.documented))
        raise ValueError(f'"{api[:60]}" is not an API with releases; use {known}')
    named = () if release == UNKNOWN else (pack.table.named(release),)
    return InForce(pack.operator, named, "setting")


def released(known: KnownKind, in_force: InForce) -> tuple[KnownKind, bytes]:
    """A kind of another release, not compiled, and the text of its definition if the pack has another one."""
    known = replace(known, in_force=in_force, policy=NO_POLICY)
    content = known.pack.definition(known.plural, in_force)
    if content is None:
        return known, b""
    (crd,) = (load_crd(each.value, trusted=True) for each in documents.parse(content.decode(), known.plural))
    version = crd.versions[known.gvk.version]
    return replace(known, schema=version.schema, status=version.status), content


def ranges(source: PolicySource) -> Iterator[str]:
    """The ranges of the rules of a policy."""
    yield from (rule.operator for rule in source.document.spec.rules if rule.operator)


def needed_releases(pack: Pack, texts: Iterable[str]) -> Iterator[str]:
    """Releases, other than the documented one, of which at least one is in each of these ranges; the newest first."""
    left = {text for text in texts if not pack.in_force.holds(text)}
    for release in reversed(pack.releases if left else ()):
        if held := {text for text in left if Range.parse(text).holds(release)}:
            left -= held
            yield release


def unknown_releases(pack: Pack, source: PolicySource) -> Iterator[Problem]:
    """The ranges of a policy that name releases that do not exist, or in which none is."""
    spec = source.document.spec
    for name, parts in (("variables", spec.variables), ("defaults", spec.defaults), ("validations", spec.validations)):
        for index, text in enumerate(each.operator for each in parts):
            if text and (message := _fault(pack, Range.parse(text))):
                yield problem(source.origin, ("spec", name, index, "operator"), message)


def _fault(pack: Pack, found: Range) -> str:
    if pack.documented is None:
        return "this API has no releases; remove the range, or name the documented release in pack.yaml"
    try:
        for each in found.versions:
            pack.table.named(each)
    except ValueError as error:
        return str(error)
    return "" if any(map(found.holds, pack.releases)) else f"no known release is in the range {found.text}"


class ReleasedKinds(Mapping[GroupVersionKind, KnownKind]):
    """Kinds of which some have other rules, which are compiled when they are first looked up."""

    def __init__(
        self, others: Mapping[GroupVersionKind, KnownKind], changed: Mapping[GroupVersionKind, KnownKind]
    ) -> None:
        self._others = others
        self._changed = changed
        self._found: dict[GroupVersionKind, KnownKind] = {}

    def __getitem__(self, gvk: GroupVersionKind) -> KnownKind:
        if gvk not in self._changed:
            return self._others[gvk]
        if gvk not in self._found:
            self._found.setdefault(gvk, compiled(self._changed[gvk]))
        return self._found[gvk]

    def uncompiled(self, gvk: GroupVersionKind) -> KnownKind:
        """A kind whose policy may not be compiled."""
        return self._found.get(gvk) or self._changed.get(gvk) or uncompiled(self._others, gvk)

    def __iter__(self) -> Iterator[GroupVersionKind]:
        return iter(self._others)

    def __len__(self) -> int:
        return len(self._others)
