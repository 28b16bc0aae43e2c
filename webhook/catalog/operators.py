"""The release of each operator whose behaviour the rules describe.

It is that of a setting, that which a repository pins, that which is installed, or the documented one.

A rule with a range of releases is in force where the range holds of the release; of several releases that cannot be
told apart, where it holds of all. Under an unknown release none of them is. The definition of a kind is that of the
release, where its pack has it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

from webhook.catalog.catalog import Catalog
from webhook.catalog.kinds import KnownKind
from webhook.catalog.packs import InForce, Pack
from webhook.catalog.releases import needed_releases, ranges
from webhook.schema import SchemaError, load_crd
from webhook.schema.compare import is_same
from webhook.schema.crd.digest import digest


def forms(catalog: Catalog) -> Iterator[Catalog]:
    """This catalog, and as many others as are needed for every rule of every release to be in one of them.

    The last one of an API is that of an unknown release, where rules have their general forms.
    """
    yield catalog
    for api, pack in catalog.packs.items():
        if pack.documented:
            found = (text for known in _kinds(catalog, api) for source in known.sources for text in ranges(source))
            for in_force in (*needed_releases(pack, found), InForce(pack.operator, (), "setting")):
                yield catalog.under({api: in_force})


def undecided_codes(known: KnownKind) -> tuple[str, ...]:
    """The codes of a kind that may be true of the release, but are not in force: it is not known well enough."""
    now = known.in_force
    rules = [(rule.code, rule.operator) for source in known.sources for rule in source.document.spec.rules]
    held = {code for code, text in rules if not text or now.holds(text)}
    return tuple(dict.fromkeys(code for code, text in rules if code not in held and text and now.may_hold(text)))


def _kinds(catalog: Catalog, api: str) -> Iterator[KnownKind]:
    return (known for known in map(catalog.uncompiled, catalog.kinds) if known.api == api)


def definition_names(catalog: Catalog) -> tuple[frozenset[str], frozenset[str]]:
    """The names of the definitions of the kinds, and of others that tell releases of operators apart."""
    found = [catalog.uncompiled(gvk) for gvk in catalog.kinds]
    own = frozenset(f"{known.plural}.{known.gvk.group}" for known in found)
    packs = {known.api: known.pack for known in found if known.pack.documented}
    return own, frozenset(name for pack in packs.values() for name in pack.table.rows) - own


def by_definitions(
    catalog: Catalog,
    definitions: Iterable[Mapping[str, Any]],
    absent: Collection[str] = (),
    *,
    trusted: bool = True,
) -> Catalog:
    """The catalog under the releases that install these CustomResourceDefinitions, except where one is named already.

    ``absent`` are the names of definitions that are not installed, as far as that is known: that says something, too.
    Never raises: a definition that cannot be read says nothing. ``trusted``: an API server has accepted them.
    """
    apis = {gvk.group: catalog.uncompiled(gvk).api for gvk in catalog.kinds}
    names = ((names_of(each), each) for each in definitions)
    named = {f"{plural}.{group}": each for (group, kind, plural), each in names if group or kind or plural}
    found = dict[str, InForce]()
    for api in {api for name in named if (api := apis.get(name.partition(".")[2]))}:
        pack = catalog.packs.get(api)
        if pack is not None and pack.documented and catalog.releases()[api].by not in {"setting", "pin"}:
            found[api] = _installed(list(_kinds(catalog, api)), pack, named, absent, trusted=trusted)
    return catalog.under(found) if found else catalog


def _installed(
    kinds: Sequence[KnownKind],
    pack: Pack,
    named: Mapping[str, Mapping[str, Any]],
    absent: Collection[str],
    *,
    trusted: bool,
) -> InForce:
    """The releases that install what is there; the documented one, if it is among them and its rules describe it.

    Without a release, it is unknown: a definition is neither in the table nor the documented one with other texts. One
    that cannot be read says nothing.
    """
    own = {f"{known.plural}.{known.gvk.group}": known for known in kinds}
    digests = dict[str, str]()
    for name, rows in pack.table.rows.items():
        with suppress(LookupError, ValueError):  # it is not installed, or cannot be read
            text = digest(named[name])
            if text in {row.digest for row in rows}:
                digests[name] = text
            elif name not in own or not _is_own(own[name], named[name], trusted=trusted):
                return InForce(pack.operator, (), "definitions")
    releases = pack.table.of(digests, absent)
    if not digests or (pack.documented in releases and not pack.described):
        return pack.in_force
    return pack.under_all(releases, "definitions")


def _is_own(known: KnownKind, document: Mapping[str, Any], *, trusted: bool) -> bool:
    """Whether a definition is that of the catalog, except for its texts, or cannot be used instead of it."""
    try:
        version = load_crd(dict(document), trusted=trusted).versions.get(known.gvk.version)
    except (SchemaError, LookupError, TypeError, ValueError, AttributeError, RecursionError):
        return True
    return version is not None and is_same(known.schema.raw, version.schema.raw)


def names_of(document: Mapping[str, Any]) -> tuple[str, str, str]:
    """The group, the kind and the plural of a definition; "" if it has none."""
    spec = document.get("spec")
    names = spec.get("names") if isinstance(spec, Mapping) else None
    if not isinstance(spec, Mapping) or not isinstance(names, Mapping):
        return "", "", ""
    return str(spec.get("group")), str(names.get("kind")), str(names.get("plural"))
