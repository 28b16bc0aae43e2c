"""`modelgate pack check`: whether a folder of APIs holds all that is promised of the built-in ones.

Each code has an example: a case in which it fires, and the smallest change after which it does not.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping, Sequence
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any, Final

from webhook import catalog
from webhook.admission.errors import Problem
from webhook.catalog import PACK, Catalog, Pack, built_in, names_of_children, names_read
from webhook.cli import FINDINGS, GOOD, native
from webhook.cli.cases import is_about
from webhook.cli.output import counted, say
from webhook.cli.pack.children import child_problems
from webhook.cli.pack.proofs import Placed, RuleKey, faults, placed, rules_of, rules_with_policies, unproved
from webhook.cli.rule.repairs import Example, RepairError, run_example, said
from webhook.cli.test import tables
from webhook.facts.settings import field_of
from webhook.library.explained import leaves
from webhook.manifests import documents
from webhook.manifests.folders import content_of, entries
from webhook.policy import DefaultRule, Profile

_REMOVES: Final = ("remove", "delete", "no effect", "not enforced")
"""Words of a message after which the field itself may go."""


def run(options: argparse.Namespace) -> int:
    """Exit code 0; 1 if something is missing or wrong; 2 if the folder cannot be loaded."""
    loaded = catalog.load(packs=[options.folder] if options.folder else [])
    apis = sorted(loaded.packs.keys() - built_in().keys()) if options.folder else sorted(loaded.packs)
    count = 0
    for api in apis:
        cases = cases_of(loaded.packs[api], loaded)
        for problem in problems_of(api, cases, loaded):
            count += 1
            say(str(problem))
        kinds = len({(gvk.group, gvk.kind) for gvk in loaded.kinds if loaded.uncompiled(gvk).api == api})
        codes = {code for code, _ in rules_of(api, loaded)}
        say(f"{api}: {counted(kinds, 'kind')}, {counted(len(codes), 'code')}, {counted(len(cases), 'case')}")
    say(counted(count, "problem"))
    return FINDINGS if count else GOOD


def cases_of(pack: Pack, loaded: Catalog) -> list[Placed]:
    """The cases of a pack."""
    return placed(tables([pack.folder], loaded, whole=not pack.trusted), loaded)


def problems_of(api: str, cases: Sequence[Placed], loaded: Catalog) -> Iterator[Problem]:
    """Everything that is missing in a pack, or wrong."""
    pack = loaded.packs[api]
    yield from _of_pack(pack, loaded, api)
    written = list(_written(pack.folder))
    for part, (code, _), place in written:
        if (part == "defaults") != (code[2] == "1"):
            yield Problem(place, code, "use another number: after the letters, 1 is for defaults, and for nothing else")
    places = {key: place for _, key, place in written}
    silent = dict(unproved(api, cases, loaded))
    for key, message in ({**dict(without_example(api, cases, loaded)), **silent}).items():
        code, releases = key
        name = f"{code} ({releases})" if releases else code
        yield Problem(places.get(key, str(pack.folder)), name, message)
    yield from _of_export(api, loaded, {code: place for (code, _), place in places.items()})
    yield from faults(cases, loaded)
    yield from child_problems(api, cases, [*_policies(pack.folder)], loaded)
    yield from example_faults(cases, loaded)


def _of_export(api: str, loaded: Catalog, places: Mapping[str, str]) -> Iterator[Problem]:
    """The rules that `modelgate export` must leave out, because the API server refuses their expressions."""
    kinds = (loaded.kinds[gvk] for gvk in loaded.kinds if loaded.uncompiled(gvk).api == api)
    problems = {code: why for kind in kinds for code, why in native.refused(kind, Profile.STANDARD).items()}
    for code, why in problems.items():
        yield Problem(places.get(code, api), code, f"cannot be exported, because the API server would refuse it: {why}")


def _of_pack(pack: Pack, loaded: Catalog, api: str) -> Iterator[Problem]:
    """What pack.yaml does not say of the kinds and the rules."""
    if not pack.folder.joinpath(PACK).is_file():
        yield Problem(str(pack.folder), "", f"there is no {PACK}: write one, with operator, codes and groups")
        return
    groups = {gvk.group for gvk in loaded.kinds if loaded.uncompiled(gvk).api == api}
    if missing := sorted(groups - {*pack.groups}):
        yield Problem(pack.place("spec", "groups"), "spec.groups", f"add {', '.join(missing)}: it has kinds here")
    for gvk in loaded.without_rules():
        if loaded.uncompiled(gvk).api == api:
            use = f"add {gvk.version} to the versions of its policies, or objects of this version pass unjudged"
            yield Problem(str(pack.folder), "", f"{gvk} is served and has no rules: {use}")
    yield from _of_settings(pack, loaded, api)
    letters = {code[:2] for code, _ in rules_of(api, loaded)}
    if missing := sorted(letters - {*pack.codes}):
        yield Problem(pack.place("spec", "codes"), "spec.codes", f"add {', '.join(missing)}: codes begin with it")


def _of_settings(pack: Pack, loaded: Catalog, api: str) -> Iterator[Problem]:
    """The settings that nothing reads, and those that a rule reads without asking whether they are known."""
    read = set[str]()
    for policy, rule in rules_with_policies(api, loaded).values() if pack.settings else ():
        named, asked = names_read(policy, rule)
        read |= named | asked | names_of_children(policy)
        for name in sorted(name for name in named - asked if pack.settings[name].default is None):
            message = f"reads facts.operator.{name}, which may not be known: ask for has(facts.operator.{name}) first"
            yield Problem(pack.place("spec", "settings", name), rule.code, message)
    for name in pack.settings.keys() - read:
        if not field_of(f"{api}.{name}"):
            message = f"no rule reads facts.operator.{name}: remove it"
            yield Problem(pack.place("spec", "settings", name), f"spec.settings.{name}", message)


def _written(folder: Traversable) -> Iterator[tuple[str, RuleKey, str]]:
    """The rules of policies as they are written: the part of the document, the code with its range, and the place."""
    for document in _policies(folder):
        yield from _of_document(document.value.get("spec") or {}, document)


def _policies(folder: Traversable) -> Iterator[documents.Document]:
    for file in entries(folder):
        if file.name.endswith((".yaml", ".json")) and file.name != PACK and file.is_file():
            name = str(file) if isinstance(file, Path) else file.name
            yield from documents.parse(content_of(file).decode(), name)


def _of_document(spec: Mapping[str, object], document: documents.Document) -> Iterator[tuple[str, RuleKey, str]]:
    for part in ("defaults", "validations"):
        rules = spec.get(part)
        for index, rule in enumerate(rules if isinstance(rules, list) else ()):
            place = f"{document.source}:{document.line_of('spec', part, index)}"
            yield part, (rule["code"], rule.get("operator", "").strip()), place


def without_example(api: str, cases: Sequence[Placed], loaded: Catalog) -> Iterator[tuple[RuleKey, str]]:
    """The rules of an API for which not exactly one case has a repair, and what to write."""
    for key, rule in sorted(rules_of(api, loaded).items()):
        has = [
            each for each in cases if rule.code in each.case.repairs and is_about(each.case, each.known, rule, loaded)
        ]
        if not has:
            value = "<a value>" if isinstance(rule, DefaultRule) else "<what the message asks for>"
            place = str(rule.about).replace("[*]", "[0]")
            place = f"'{place}'" if "[" in place else place
            change = f"repairs: {{{rule.code}: {{{place}: {value}}}}}"
            yield (
                key,
                f"has no example: add to the clearest case in which it fires `{change}` (null removes)",
            )
        elif len(has) > 1:
            yield key, f"has repairs in {' and '.join(each.place for each in has)}: keep the clearest"


def example_faults(cases: Sequence[Placed], loaded: Catalog) -> Iterator[Problem]:
    """Everything that is wrong with the repairs of cases."""
    for each in cases:
        for code in each.case.repairs:
            yield from (each.problem(message, code=code) for message in _faults(each, code, loaded))


def _faults(each: Placed, code: str, loaded: Catalog) -> Iterator[str]:
    try:
        found = run_example(code, each.case, each.known, loaded)
    except RepairError as error:
        yield f"repairs: {error}"
        return
    if code not in found.known.policy.codes:
        yield f"repairs: {each.known.gvk.kind} has no rule {code}"
        return
    yield from (f"repairs: {text}" for text in (*_wrong(found), *_lost_field(found), *_needless(each, code, loaded)))


def _wrong(found: Example) -> Iterator[str]:
    """What the rules say that they should not."""
    if not said(found.bad, found.code):
        yield f"{found.code} does not fire in the case"
    if still := said(found.good, found.code):
        yield f"{found.code} still fires: {'; '.join(still)}"
    for cause in found.good.validation.causes:
        if cause.code != found.code:
            yield f"the repaired object is refused: {cause}"
    before = {each.code or each.field for each in found.bad.validation.causes}
    before |= {each.code or each.field for each in found.bad.validation.warnings}
    always = {rule.code for rule in found.known.policy.validations if rule.rule.source == "false"}  # of every value
    for warning in found.good.validation.warnings:
        if (warning.code or warning.field) not in before | always | {found.code}:
            yield f"the repaired object gets another warning: {warning}"


def _lost_field(found: Example) -> Iterator[str]:
    """The field that the rule is about must stay, unless the message asks to remove it or its value has moved."""
    for rule in (each for each in found.known.policy.validations if each.code == found.code):
        path = rule.about
        before, after = (list(path.nodes(each.request.object)) for each in (found.bad, found.good))
        text = " ".join(said(found.bad, found.code)).lower()
        if before and not after and not _moved(found) and not any(word in text for word in _REMOVES):
            yield (
                f"{path}, which the rule is about, is removed: set it to what the message asks for, or let the message "
                'say "remove"'
            )


def _needless(each: Placed, code: str, loaded: Catalog) -> Iterator[str]:
    """Each entry of the repair must be needed. A value that moves from one field to another is one change."""
    patch = each.case.repairs[code]
    moved = _moved(run_example(code, each.case, each.known, loaded))
    for entry, value in patch.items():
        if moved and (value is None or value in moved):
            continue
        rest = {path: value for path, value in patch.items() if path != entry}
        fewer = each.case.model_copy(update={"repairs": {code: rest}})
        try:
            smaller = run_example(code, fewer, each.known, loaded)
        except RepairError:  # the rest needs what this entry makes
            continue
        if not list(_wrong(smaller)):
            yield f"{entry} is not needed: without it, the rule does not fire either"


def _moved(found: Example) -> list[Any]:
    """Values that the repair takes from one field and sets in another."""
    before, after = (dict(leaves((), each.request.object, lists=True)) for each in (found.bad, found.good))
    removed = [value for path, value in before.items() if path not in after]
    return [value for path, value in after.items() if path not in before and value in removed]
