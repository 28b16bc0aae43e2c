"""Judge by the definitions that a cluster has installed, where they are not the catalog's.

A kind may be installed in another release, with fields renamed, added or removed. The API server validates by the
installed definition, so this one replaces the catalog's. What becomes of the rules is decided in three steps. The
definitions tell the release of the operator; if they are not those of a known one, the release is unknown, and every
rule with a range of releases is set aside, whatever field differs (:mod:`webhook.catalog.operators`). A rule needs its
fields: without one of them, in its own kind or where its facts read another, it is not applied
(:mod:`webhook.catalog.fitting`). Whether it holds for the values of an object is decided with each object
(:mod:`webhook.catalog.applies`).
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from webhook.admission import GroupVersionKind
from webhook.admission.stamp import canonical
from webhook.catalog.catalog import Catalog
from webhook.catalog.fitting import Fit, applicable, fields_of_spec
from webhook.catalog.kinds import KnownKind
from webhook.catalog.operators import by_definitions, names_of, undecided_codes
from webhook.schema import CRD, load_crd
from webhook.schema.compare import is_same

_SHOWN: Final = 3
"""Fields of each sort in a text: enough to recognise a release."""
_UNREADABLE: Final = (LookupError, TypeError, ValueError, AttributeError, RecursionError, ArithmeticError)
"""What a definition that is not one may raise; a SchemaError is a ValueError."""


@dataclass(frozen=True, slots=True)
class Deviation:
    """How the installed definition of a kind, or of one that it refers to, differs from the catalog's.

    ``lost``, ``new``, ``widened`` and ``unstated`` are fields of the specification, as in
    :class:`webhook.schema.compare.Differences`. ``aside`` are the codes of the rules that are applied to no object.
    ``unserved``: the definition does not serve this version. ``error``: it cannot be read, and is not used.
    ``changed``: the definition of this kind itself differs. ``release``: why that of the operator is not known well
    enough for these rules; without any, that it is in no table.
    """

    kind: GroupVersionKind
    lost: tuple[str, ...] = ()
    new: tuple[str, ...] = ()
    widened: tuple[str, ...] = ()
    unstated: tuple[str, ...] = ()
    aside: tuple[str, ...] = ()
    unserved: bool = False
    error: str = ""
    changed: bool = True
    release: str = ""

    @property
    def is_notable(self) -> bool:
        """Whether fields or rules differ; otherwise only details of the schema do."""
        return bool(self.lost or self.new or self.aside or self.unserved or self.error or self.release)

    @property
    def is_unsure(self) -> bool:
        """Whether the release is not known well enough for all rules."""
        return bool(self.release and self.aside)

    def __str__(self) -> str:
        start = f"the installed definition of {self.kind}"
        if self.release and not self.aside:
            return self.release
        if self.release:
            return f"{self.kind}: {self.release}, so that rules are not applied: {', '.join(self.aside)}"
        if not self.changed:
            return f"{self.kind}: rules not applied, because the kinds that they read differ: {', '.join(self.aside)}"
        if self.error:
            return f"{start} cannot be used, and objects are checked by Modelgate's own: {self.error}"
        if self.unserved:
            return f"{start} does not serve this version: its objects are not checked"
        parts = (
            ("without", self.lost),
            ("also with", self.new),
            ("nothing said of the fields of", self.unstated),
            ("more values for", self.widened),
        )
        found = [f"{word} {_some(names)}" for word, names in parts if names]
        if self.unstated or self.widened:
            found.append("each object decides by its values which rules apply to it")
        found += [f"rules not applied: {', '.join(self.aside)}"] if self.aside else []
        return f"{start} differs from Modelgate's: {'; '.join(found) or 'in details of its schema'}"


def with_installed(
    catalog: Catalog,
    definitions: Iterable[Mapping[str, Any]],
    *,
    trusted: bool = True,
    absent: Collection[str] = (),
) -> tuple[Catalog, tuple[Deviation, ...]]:
    """The catalog by these CustomResourceDefinitions, and how they deviate from it.

    The rules are those of the release that installs them, and its definitions are compared; ``absent`` are the names of
    definitions that are not installed (:func:`webhook.catalog.operators.by_definitions`).

    Definitions of other kinds are ignored, as are versions of a kind that the catalog does not have. Kinds without a
    definition keep the catalog's. The catalog itself is returned if no definition differs. Never raises: a definition
    that cannot be read is a deviation with an error.

    ``trusted``: an API server has accepted the definitions, so they need not be checked, which takes ten times as long.
    """
    definitions = list(definitions)
    catalog = by_definitions(catalog, definitions, absent, trusted=trusted)  # from here on, that of the release
    unsure = [*_unsure(catalog, {names_of(each)[:2] for each in definitions})]
    found = dict(_changes(catalog, definitions, trusted=trusted))
    if not found:
        return catalog, tuple(unsure)
    kinds = {gvk: catalog.uncompiled(gvk) for gvk in catalog.kinds}
    deviations = [each for each in unsure if not _is_unserved(found.get(each.kind))]
    changed = {kinds[gvk].api for gvk in found}
    fits = {gvk: each.fit for gvk, each in found.items() if each.fit is not None}
    for gvk in [gvk for gvk, listed in kinds.items() if listed.api in changed]:  # the others stay uncompiled
        change, known = found.get(gvk), catalog.kinds[gvk]
        if _is_unserved(change):
            del kinds[gvk]
        elif change is None or change.fit is not None:
            kinds[gvk] = installed = applicable(known, fits)
            aside = tuple(code for code in known.policy.codes if code not in installed.policy.codes)
            if change is not None:
                change = replace(change, deviation=replace(change.deviation, aside=aside))
            elif aside:
                deviations.append(Deviation(gvk, aside=aside, changed=False))
        if change is not None:
            deviations.append(change.deviation)
    return replace(catalog, kinds=catalog.kinds.replaced(kinds), rules=_digest(catalog, found)), tuple(deviations)


def _is_unserved(change: _Change | None) -> bool:
    return change is not None and change.deviation.unserved


def _unsure(catalog: Catalog, defined: Collection[tuple[str, str]]) -> Iterator[Deviation]:
    """The kinds with rules that are not in force because the release of their operator is not known well enough.

    So are those whose definition in this release is not known, and that none of those ``defined`` says.
    """
    unlisted = {api: f"{each.operator} {each.unlisted}" for api, each in catalog.in_force.items() if each.unlisted}
    for gvk in catalog.kinds if catalog.in_force else ():
        known = catalog.uncompiled(gvk)
        if known.api in unlisted and known.in_force.releases:
            yield Deviation(gvk, release=unlisted.pop(known.api))
        elif known.is_unshaped and known.in_force.releases and (gvk.group, gvk.kind) not in defined:
            yield Deviation(gvk, release=f"the definition of {gvk} in {known.in_force} is not known: schema not judged")
        elif not _may_differ(catalog, known):
            continue
        elif aside := undecided_codes(known):
            operator, setting = known.in_force.operator, f"set releases.{known.api}"
            if known.api in unlisted:
                why = unlisted[known.api]
            elif known.in_force.releases:
                why = f"{known.in_force} may run ({setting}), and not all of these are described by the same rules"
            else:
                why = f"the release of {operator} is not known ({setting})"
            yield Deviation(gvk, aside=aside, release=why)


def _may_differ(catalog: Catalog, kind: KnownKind) -> bool:
    """Whether several releases, or an unknown one, count for all objects of a kind: not for the shape of one."""
    in_force = kind.in_force
    return kind.api in catalog.in_force and len(in_force.releases) != 1 and in_force.by != "shape"


def _digest(catalog: Catalog, found: Mapping[GroupVersionKind, _Change]) -> str:
    """The digest of the catalog's rules and of the definitions that are used instead of its own."""
    used = {gvk: change for gvk, change in found.items() if not change.deviation.error}
    digest = hashlib.sha256(catalog.rules.encode())
    for gvk in sorted(used):
        fit = used[gvk].fit
        digest.update(f"{gvk}\0".encode() + canonical(dict(fit.known.schema.raw) if fit is not None else {}))
    return digest.hexdigest() if used else catalog.rules


@dataclass(frozen=True, slots=True)
class _Change:
    """``fit``: the kind with the installed schema and all its rules, None if it is not used."""

    deviation: Deviation
    fit: Fit | None = None


def _changes(
    catalog: Catalog, definitions: Iterable[Mapping[str, Any]], *, trusted: bool
) -> Iterator[tuple[GroupVersionKind, _Change]]:
    for document in definitions:
        group, kind, _ = names_of(document)
        for gvk in (each for each in catalog.kinds if (each.group, each.kind) == (group, kind)):
            try:
                change = _change(catalog.kinds[gvk], load_crd(dict(document), trusted=trusted))
            except _UNREADABLE as error:
                change = _Change(Deviation(gvk, error=" ".join(f"{type(error).__name__}: {error}".split())[:200]))
            if change is not None:
                yield gvk, change


def _change(known: KnownKind, crd: CRD) -> _Change | None:
    """What the definition changes; None if nothing.

    Of an unknown release, rules are those that the documented definition describes, too: it is compared with that.
    """
    current = known.schema
    if known.documented is not None and not known.in_force.releases:
        known = replace(known, schema=known.documented.schema, is_unshaped=False)
    version = crd.versions.get(known.gvk.version)
    if version is None or not version.served:
        return _Change(Deviation(known.gvk, unserved=True))
    namespaced = crd.scope == "Namespaced"
    same_resource = (crd.plural, namespaced, version.status) == (known.plural, known.namespaced, known.status)
    if same_resource and is_same(current.raw, version.schema.raw):
        return None
    resource = replace(
        known, plural=crd.plural, namespaced=namespaced, status=version.status, replicas=version.replicas
    )
    fit = Fit.of(resource, version.schema)
    differences = fit.differences
    lost, new, unstated = map(fields_of_spec, (differences.lost, differences.new, differences.unstated))
    widened = fields_of_spec(differences.widened - differences.unstated)
    return _Change(Deviation(known.gvk, lost, new, widened, unstated), fit)


def _some(names: tuple[str, ...]) -> str:
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return ", ".join(names[:_SHOWN]) + more
