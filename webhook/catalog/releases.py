"""Kinds under a release of their operator: which rules are in force, and their compilation."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial, reduce
from typing import Any, Final

import orjson

from webhook import policy as policies  # its compiler is loaded when it is first used
from webhook.admission import GroupVersionKind
from webhook.admission.errors import CatalogError, Problem, SettingsError
from webhook.catalog.fitting import of_other_release, of_version, with_fields_of
from webhook.catalog.kinds import NO_POLICY, KnownKind, PolicySource
from webhook.catalog.packs import By, InForce, Pack, closest
from webhook.catalog.references import facts_of
from webhook.catalog.settings import fact_of, in_release
from webhook.catalog.shapes import FORMS
from webhook.policy import Policy, Reference
from webhook.policy.problems import problem
from webhook.policy.ranges import Range, version
from webhook.schema import CRD, SchemaError, load_crd
from webhook.schema.compare import lacks

UNKNOWN: Final = "unknown"
"""The setting for a release that is not in the table."""


def chosen(packs: Mapping[str, Pack], settings: Iterable[tuple[str, str]], by: By = "setting") -> dict[str, InForce]:
    """The releases that settings name, or pins, by API.

    Raises:
        SettingsError: with every API or release that does not exist, and what is like it.
    """
    in_force, problems = dict[str, InForce](), list[Problem]()
    for api, release in settings:
        try:
            in_force[api] = _set(packs, api, release, by)
        except ValueError as error:
            problems.append(Problem(f"--release {api}={release}"[:200], "", str(error)))
    if problems:
        raise SettingsError(problems)
    return in_force


def _set(packs: Mapping[str, Pack], api: str, release: str, by: By) -> InForce:
    pack = packs.get(api)
    if pack is None or pack.documented is None:
        known = sorted(name for name, each in packs.items() if each.documented)
        raise ValueError(f'"{api[:60]}" is not an API with releases; {closest(api, known)}')
    return InForce(pack.operator, (), by) if release == UNKNOWN else pack.under(release, by)


def released(known: KnownKind, in_force: InForce) -> tuple[KnownKind | None, bytes]:
    """A kind of another release, not compiled, and the text of its definition if that is not the documented one.

    None is a kind whose version the release does not serve.

    Raises:
        CatalogError: the definition cannot be read.
    """
    documented = known.documented or known
    facts = {**documented.own_facts, **fact_of(documented.pack, in_force)}
    known = replace(documented, in_force=in_force, policy=NO_POLICY, documented=documented, own_facts=facts)
    known = replace(known, completed=in_release(known.pack, in_force))
    since, definition = known.pack.definition(known.plural, in_force)
    known = replace(known, is_unshaped=in_force.is_older or (not since and bool(known.pack.documented)))
    if definition is None:
        return known, b""
    version = _crd(known, since, definition).versions.get(known.gvk.version)
    content = orjson.dumps(definition, option=orjson.OPT_SORT_KEYS)
    if version is None or not version.served:
        return None, content
    replicas = "" if known.is_unshaped else version.replicas
    return replace(known, schema=version.schema, status=version.status, replicas=replicas), content


def _crd(known: KnownKind, since: str, definition: Mapping[str, Any]) -> CRD:
    try:
        return load_crd(dict(definition), trusted=known.pack.trusted)
    except SchemaError as error:
        where = known.pack.files.name(FORMS, f"{known.plural}.jsonl")
        found = [Problem(where, each.field, f"since {since}: {each.body()}") for each in error.errors]
        raise CatalogError(found) from None


def ranges(source: PolicySource) -> Iterator[str]:
    """The ranges of the rules of a policy."""
    spec = source.document.spec
    yield from (part.operator for part in (*spec.rules, *spec.children) if part.operator)


def needed_releases(pack: Pack, texts: Iterable[str]) -> Iterator[InForce]:
    """Releases, other than the documented one, of which at least one is in each of these ranges; the newest first."""
    left = {text for text in texts if not pack.in_force.holds(text)}
    for release in map(pack.under, reversed((*pack.releases, *later_releases(pack, left)) if left else ())):
        if held := set(filter(release.holds, left)):
            left -= held
            yield release


def later_releases(pack: Pack, texts: Iterable[str]) -> list[str]:
    """The releases that ranges name and that are newer than all that are known, the oldest first."""
    named = {each for text in texts for each in Range.parse(text).versions}
    return sorted((each for each in named if pack.table.find(each) is None), key=version)


def unknown_releases(pack: Pack, source: PolicySource) -> Iterator[Problem]:
    """The ranges of a policy that name releases that do not exist, or in which none is."""
    spec = source.document.spec
    named = ("variables", spec.variables), ("defaults", spec.defaults), ("validations", spec.validations)
    for name, parts in (*named, ("children", spec.children)):
        for index, text in enumerate(each.operator for each in parts):
            if text and (message := _fault(pack, Range.parse(text))):
                yield problem(source.origin, ("spec", name, index, "operator"), message)


def _fault(pack: Pack, wanted: Range) -> str:
    if pack.documented is None:
        return "this API has no releases; remove the range, or name the documented release in pack.yaml"
    try:
        for each in wanted.versions:
            if not pack.under(each).is_newer:
                pack.table.named(each)
    except ValueError as error:
        return str(error)
    releases = map(pack.under, (*pack.releases, *later_releases(pack, [wanted.text])))
    held = wanted.is_open or any(release.holds(wanted.text) for release in releases)
    return "" if held else f"no known release is in the range {wanted.text}"


def compiled(known: KnownKind, *, on_demand: bool = False) -> KnownKind:
    """A kind with the rules of its sources that are in force; itself if it has rules, or no sources.

    ``on_demand``: generate no function before its first call.

    Raises:
        CatalogError: with every problem of these rules.
    """
    if not known.sources or known.policy is not NO_POLICY:
        return known
    ordered = sorted(known.sources, key=lambda source: bool(source.document.spec.children))  # they read the variables
    try:
        return reduce(partial(_with_source, on_demand=on_demand), ordered, known)
    except ValueError as error:
        raise CatalogError([Problem(known.sources[-1].origin.source, "spec", str(error))]) from None


def _with_source(known: KnownKind, source: PolicySource, *, on_demand: bool) -> KnownKind:
    return replace(known, policy=joined(known.policy, compiled_source(known, source, on_demand=on_demand)))


def compiled_in(kinds: Mapping[GroupVersionKind, KnownKind], known: KnownKind) -> KnownKind:
    """As :func:`compiled`, of one of the kinds of another release than the documented one.

    Rules without a range are those of the documented release: another one may lack their fields, or those of kinds
    that their facts read.
    """
    if any(is_otherwise_shaped(other) for other in kinds.values() if other.api == known.api):
        return of_other_release(known, kinds.values(), compiled)
    return compiled(known)


def is_otherwise_shaped(kind: KnownKind) -> bool:
    """Whether the release in force is older than the documented one, or its definition lacks fields of that one."""
    releases, documented = kind.in_force.releases, kind.pack.documented
    if releases and documented is not None and version(releases[-1]) < version(documented):
        return True
    return kind.documented is not None and lacks(kind.schema.raw, kind.documented.schema.raw)


def compiled_source(known: KnownKind, source: PolicySource, *, on_demand: bool = False) -> Policy:
    """One policy of a kind: its rules that are in force.

    Raises:
        CatalogError: with every problem of these rules.
    """
    references = tuple(map(Reference.of, source.document.spec.references))
    _check_names(known, source, references)
    facts = {**known.own_facts, **facts_of(references)}
    schema = with_fields_of(known.schema, source.beside)
    inputs = policies.Inputs(schema, {name: fact.schema for name, fact in facts.items()})
    holds, document = known.in_force.holds, source.document
    policy = policies.compile_policy(document, source.origin, inputs, holds, known.policy, on_demand=on_demand)
    return of_version(known, policy, source.beside) if source.beside else policy


def joined(one: Policy, other: Policy) -> Policy:
    """The rules of two policies.

    Raises:
        ValueError: they have different variables or references of one name.
    """
    return other if one is NO_POLICY else one.joined(other)


def _check_names(known: KnownKind, source: PolicySource, references: Sequence[Reference]) -> None:
    taken = set(known.own_facts)
    problems = list[Problem]()
    for index, each in enumerate(references):
        if each.name in taken:
            place = f"{source.origin.source}:{source.origin.line_of('spec', 'references', index, 'name')}"
            text = f"{known.gvk.kind} has a fact {each.name} already; use another name"
            problems.append(Problem(place, f"spec.references[{index}].name", text))
        taken.add(each.name)
    if problems:
        raise CatalogError(problems)
