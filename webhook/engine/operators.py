"""The release of each operator whose behaviour the rules describe: a setting, what is installed, or the documented one.

A rule with a range of releases is in force where the range holds of the release; of several releases that cannot be
told apart, where it holds of all. Under an unknown release none of them is. The definition of a kind is that of the
release, where its pack has it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from typing import Any

from webhook.engine.catalog import Catalog
from webhook.engine.kinds import KnownKind
from webhook.engine.packs import InForce, Pack
from webhook.engine.released import needed_releases, ranges
from webhook.schema import SchemaError, load_crd
from webhook.schema.compare import is_same
from webhook.schema.digest import digest

__all__ = ["by_definitions", "forms", "set_aside"]


def forms(catalog: Catalog) -> Iterator[Catalog]:
    """This catalog, and as many others as are needed for every rule of every release to be in one of them.

    The last one of an API is that of an unknown release, where rules have their general forms.
    """
    yield catalog
    for api, pack in catalog.packs.items():
        if pack.documented:
            found = (text for known in _kinds(catalog, api) for source in known.sources for text in ranges(source))
            for releases in (*((each,) for each in needed_releases(pack, found)), ()):
                yield catalog.under({api: InForce(pack.operator, releases, "setting")})


def set_aside(known: KnownKind) -> tuple[str, ...]:
    """The codes of a kind that may be true of the release, but are not in force: it is not known well enough."""
    now = known.in_force
    rules = [rule for each in known.sources for rule in (*each.document.spec.defaults, *each.document.spec.validations)]
    found = [rule.code for rule in rules if rule.operator and now.may_hold(rule.operator) > now.holds(rule.operator)]
    general = {rule.code for rule in rules if not rule.operator}
    return tuple(code for code in dict.fromkeys(found) if code not in general)


def _kinds(catalog: Catalog, api: str) -> Iterator[KnownKind]:
    return (known for known in map(catalog.uncompiled, catalog.kinds) if known.api == api)


def by_definitions(
    catalog: Catalog,
    definitions: Iterable[Mapping[str, Any]],
    present: Collection[str] | None = None,
    *,
    trusted: bool = True,
) -> Catalog:
    """The catalog under the releases that install these CustomResourceDefinitions, except where a setting names one.

    ``present`` are the names of all definitions in a cluster, if they are known: those that are not among them say
    something, too. Never raises: a definition that cannot be read says nothing. ``trusted``: an API server has accepted
    the definitions.
    """
    groups = {gvk.group: catalog.uncompiled(gvk).api for gvk in catalog.kinds}
    named = {name: each for each in definitions if (name := definition_name(each))}
    seen = {api for name in named if (api := groups.get(name.partition(".")[2]))}
    found = dict[str, InForce]()
    for api in sorted(seen):
        pack = catalog.packs.get(api)
        if pack is not None and pack.documented and catalog.releases()[api].by != "setting":
            found[api] = _installed(catalog, api, pack, named, present, trusted=trusted)
    return catalog.under(found) if found else catalog


def _installed(
    catalog: Catalog,
    api: str,
    pack: Pack,
    named: Mapping[str, Mapping[str, Any]],
    present: Collection[str] | None,
    *,
    trusted: bool,
) -> InForce:
    """The releases that install what is there; the documented one, if it is among them."""
    table, digests = pack.table, dict[str, str | None]()
    for name in table.rows.keys() & named.keys():
        with suppress(ValueError):
            digests[name] = digest(named[name])
    known = {row.digest for name in digests for row in table.rows[name]}
    own = {f"{each.plural}.{each.gvk.group}": each for each in _kinds(catalog, api)}
    for name in [name for name, each in digests.items() if each not in known]:
        if name not in own or not _is_own(own[name], named[name], trusted=trusted):
            return InForce(pack.operator, (), "definitions")
        del digests[name]  # it is the documented definition, with other texts
    absent = () if present is None or not digests else table.rows.keys() - {*present} - named.keys()
    digests |= {name: None for name in table.rows.keys() & {*(present or ())} if name not in named}
    releases = table.of(digests, absent)
    if not digests or pack.documented in releases:
        return pack.in_force
    return InForce(pack.operator, releases, "definitions")


def _is_own(known: KnownKind, document: Mapping[str, Any], *, trusted: bool) -> bool:
    """Whether a definition is that of the catalog, except for its texts."""
    try:
        version = load_crd(dict(document), trusted=trusted).versions.get(known.gvk.version)
    except (SchemaError, LookupError, TypeError, ValueError, AttributeError, RecursionError):
        return True  # it is not used
    return version is not None and is_same(known.schema.raw, version.schema.raw)


def definition_name(document: Mapping[str, Any]) -> str:
    """The name that a definition must have, ``<plural>.<group>``; "" if it has none."""
    spec = document.get("spec")
    names = spec.get("names") if isinstance(spec, Mapping) else None
    if not isinstance(spec, Mapping) or not isinstance(names, Mapping):
        return ""
    return f"{names.get('plural')}.{spec.get('group')}"
