"""Judge by the definitions that a cluster has installed, where they are not the catalog's.

A kind may be installed in another release, with fields renamed, added or removed. The API server validates by the
installed definition, so this one replaces the catalog's. A rule stays in force only if it is certain to mean the same
there: each field that it is about, sets or reads exists, and accepts no more values than in the catalog's definition.
The same holds for the fields that its facts read, in other kinds, too.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import reduce
from typing import Any, Final

from webhook import policy as policies  # its compiler is loaded when it is first used
from webhook.admission import GroupVersionKind
from webhook.admission.stamp import canonical
from webhook.engine.catalog import Catalog
from webhook.engine.kinds import NO_POLICY, KnownKind
from webhook.facts import inputs_of
from webhook.policy import OBJECT, Path, Policy, Reads
from webhook.schema import CRD, SchemaError, load_crd
from webhook.schema.compare import Differences, Keys, compare, is_same

__all__ = ["Deviation", "with_installed"]

_SHOWN: Final = 3
"""Fields of each sort in a text: enough to recognise a release."""
_NOTHING: Final = Differences(frozenset(), frozenset(), frozenset())


@dataclass(frozen=True, slots=True)
class Deviation:
    """How the installed definition of a kind, or of one that it refers to, differs from the catalog's.

    ``lost``, ``new`` and ``widened`` are fields of the specification. ``aside`` are the codes of the rules that are not
    applied. ``unserved``: the definition does not serve this version. ``error``: it cannot be read, and is not used.
    ``changed``: the definition of this kind itself differs.
    """

    kind: GroupVersionKind
    lost: tuple[str, ...] = ()
    new: tuple[str, ...] = ()
    widened: tuple[str, ...] = ()
    aside: tuple[str, ...] = ()
    unserved: bool = False
    error: str = ""
    changed: bool = True

    @property
    def is_notable(self) -> bool:
        """Whether fields or rules differ; otherwise only details of the schema do."""
        return bool(self.lost or self.new or self.aside or self.unserved or self.error)

    def __str__(self) -> str:
        start = f"the installed definition of {self.kind}"
        if not self.changed:
            return f"{self.kind}: rules not applied, because the kinds that they read differ: {', '.join(self.aside)}"
        if self.error:
            return f"{start} cannot be used, and objects are checked by Modelgate's own: {self.error}"
        if self.unserved:
            return f"{start} does not serve this version: its objects are not checked"
        parts = (("without", self.lost), ("also with", self.new), ("more values for", self.widened))
        found = [f"{word} {_some(names)}" for word, names in parts if names]
        found += [f"rules not applied: {', '.join(self.aside)}"] if self.aside else []
        return f"{start} differs from Modelgate's: {'; '.join(found) or 'in details of its schema'}"


def with_installed(
    catalog: Catalog, definitions: Iterable[Mapping[str, Any]], *, trusted: bool = True
) -> tuple[Catalog, tuple[Deviation, ...]]:
    """The catalog by these CustomResourceDefinitions, and how they deviate from it.

    Definitions of other kinds are ignored, as are versions of a kind that the catalog does not have. Kinds without a
    definition keep the catalog's. The catalog itself is returned if no definition differs. Never raises: a definition
    that cannot be read is a deviation with an error.

    ``trusted``: an API server has accepted the definitions, so they need not be checked, which takes ten times as long.
    """
    found = dict(_changes(catalog, definitions, trusted=trusted))
    if not found:
        return catalog, ()
    differences = {gvk.kind: change.differences for gvk, change in found.items()}
    kinds, deviations = dict(catalog.kinds), list[Deviation]()
    for gvk, known in catalog.kinds.items():
        change = found.get(gvk)
        if change is not None and change.deviation.unserved:
            del kinds[gvk]
        elif change is None or change.known is not None:
            installed = (change.known if change else None) or known
            kinds[gvk] = installed = _applicable(installed, known, differences)
            aside = tuple(code for code in known.policy.codes if code not in installed.policy.codes)
            if change is not None:
                change = replace(change, deviation=replace(change.deviation, aside=aside))
            elif aside:
                deviations.append(Deviation(gvk, aside=aside, changed=False))
        if change is not None:
            deviations.append(change.deviation)
    return replace(catalog, kinds=kinds, digest=_digest(catalog, found)), tuple(deviations)


def _digest(catalog: Catalog, found: Mapping[GroupVersionKind, _Change]) -> str:
    """The digest of the catalog and of the definitions that are used instead of its own."""
    used = {gvk: change for gvk, change in found.items() if not change.deviation.error}
    digest = hashlib.sha256(catalog.digest.encode())
    for gvk in sorted(used):
        digest.update(f"{gvk}\0".encode() + canonical(dict(used[gvk].schema)))
    return digest.hexdigest()[:16] if used else catalog.digest


@dataclass(frozen=True, slots=True)
class _Change:
    """``known``: the kind with the installed schema, None if it is not used."""

    deviation: Deviation
    differences: Differences = _NOTHING
    known: KnownKind | None = None
    schema: Mapping[str, Any] = field(default_factory=dict)


def _changes(
    catalog: Catalog, definitions: Iterable[Mapping[str, Any]], *, trusted: bool
) -> Iterator[tuple[GroupVersionKind, _Change]]:
    for document in definitions:
        name = _name_of(document)
        for gvk in (each for each in catalog.kinds if (each.group, each.kind) == name):
            try:
                change = _change(catalog.kinds[gvk], load_crd(dict(document), trusted=trusted))
            except (SchemaError, LookupError, TypeError, ValueError, AttributeError, RecursionError) as error:
                change = _Change(Deviation(gvk, error=" ".join(f"{type(error).__name__}: {error}".split())[:200]))
            if change is not None:
                yield gvk, change


def _change(known: KnownKind, crd: CRD) -> _Change | None:
    """What the definition changes; None if nothing."""
    version = crd.versions.get(known.gvk.version)
    if version is None or not version.served:
        return _Change(Deviation(known.gvk, unserved=True))
    ours, theirs = known.schema.raw, version.schema.raw
    namespaced = crd.scope == "Namespaced"
    same_resource = (crd.plural, namespaced, version.status) == (known.plural, known.namespaced, known.status)
    if same_resource and is_same(ours, theirs):
        return None
    differences = compare(ours, theirs)
    installed = replace(
        known,
        plural=crd.plural,
        namespaced=namespaced,
        status=version.status,
        schema=version.schema,
        policy=NO_POLICY,
        deviates=True,
    )
    lost, new, widened = (_fields(each) for each in (differences.lost, differences.new, differences.widened))
    return _Change(Deviation(known.gvk, lost, new, widened), differences, installed, theirs)


def _applicable(installed: KnownKind, known: KnownKind, differences: Mapping[str, Differences]) -> KnownKind:
    """The kind with the rules that apply to the installed definitions; itself if all of them do."""
    own = differences.get(known.gvk.kind, _NOTHING)
    unreliable = {name for name in known.facts if _is_unreliable(known, name, own, differences)}
    if (installed is known and not unreliable) or not known.sources:
        return installed
    facts = {name: fact.schema for name, fact in known.facts.items() if name not in unreliable}
    all_widened = [(OBJECT, *keys) for keys in own.widened]

    def excluded(at: Keys, reads: Reads) -> bool:
        return any(at == widened or widened in reads for widened in all_widened)

    applicable = (
        policies.compile_applicable(*source, installed.schema.raw, facts, excluded) for source in known.sources
    )
    return replace(installed, policy=reduce(Policy.joined, applicable))


def _is_unreliable(known: KnownKind, name: str, own: Differences, differences: Mapping[str, Differences]) -> bool:
    """Whether a fact may be wrong under the installed definitions.

    A raw fact is about the fields of other releases, so it is wrong where another release is installed.
    """
    if known.facts[name].raw and (_fields(own.lost) or _fields(own.new)):
        return True
    for kind, keys in inputs_of(known.gvk.kind, name):
        changed = differences.get(kind)
        if changed and (keys in changed.widened or any(keys[: end + 1] in changed.lost for end in range(len(keys)))):
            return True
    return False


def _name_of(document: Mapping[str, Any]) -> tuple[str, str]:
    spec = document.get("spec")
    names = spec.get("names") if isinstance(spec, Mapping) else None
    if not isinstance(spec, Mapping) or not isinstance(names, Mapping):
        return "", ""
    return str(spec.get("group")), str(names.get("kind"))


def _fields(paths: Iterable[Keys]) -> tuple[str, ...]:
    """The paths in the specification, the shortest first."""
    found = sorted((path for path in paths if path[:1] == ("spec",)), key=lambda path: (len(path), path))
    return tuple(str(Path(path)) for path in found)


def _some(names: tuple[str, ...]) -> str:
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return ", ".join(names[:_SHOWN]) + more
