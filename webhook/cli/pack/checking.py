"""`modelgate pack check`: whether a folder of APIs holds all that is promised of the built-in ones."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping, Sequence
from importlib.resources.abc import Traversable
from itertools import starmap
from pathlib import Path

from webhook import catalog
from webhook.admission.errors import Problem
from webhook.catalog import PACK, Catalog, Pack, built_in
from webhook.cli.exits import FINDINGS, GOOD
from webhook.cli.output import say
from webhook.cli.pack.examples import example_faults, without_example
from webhook.cli.pack.proofs import Placed, RuleKey, faults, placed, rules_of, unproved
from webhook.cli.test import tables
from webhook.manifests import documents
from webhook.manifests.folders import content_of, entries

__all__ = ["problems_of", "run"]


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
        kinds = sum(loaded.uncompiled(gvk).api == api for gvk in loaded.kinds)
        codes = {code for code, _ in rules_of(api, loaded)}
        counts = {"kind": kinds, "code": len(codes), "case": len(cases)}
        say(f"{api}: {', '.join(starmap(_counted, counts.items()))}")
    say(_counted("problem", count))
    return FINDINGS if count else GOOD


def _counted(noun: str, number: int) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


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
    yield from faults(cases, loaded)
    yield from example_faults(cases, loaded)


def _of_pack(pack: Pack, loaded: Catalog, api: str) -> Iterator[Problem]:
    """What pack.yaml does not say of the kinds and the rules."""
    if not pack.folder.joinpath(PACK).is_file():
        yield Problem(str(pack.folder), "", f"there is no {PACK}: write one, with operator, codes and groups")
        return
    groups = {gvk.group for gvk in loaded.kinds if loaded.uncompiled(gvk).api == api}
    if missing := sorted(groups - {*pack.groups}):
        yield Problem(pack.place("spec", "groups"), "spec.groups", f"add {', '.join(missing)}: it has kinds here")
    letters = {code[:2] for code, _ in rules_of(api, loaded)}
    if missing := sorted(letters - {*pack.codes}):
        yield Problem(pack.place("spec", "codes"), "spec.codes", f"add {', '.join(missing)}: codes begin with it")


def _written(folder: Traversable) -> Iterator[tuple[str, RuleKey, str]]:
    """The rules of policies as they are written: the part of the document, the code with its range, and the place."""
    for file in entries(folder):
        if file.name.endswith((".yaml", ".json")) and file.name != PACK and file.is_file():
            name = str(file) if isinstance(file, Path) else file.name
            for document in documents.parse(content_of(file).decode(), name):
                yield from _of_document(document.value.get("spec") or {}, document)


def _of_document(spec: Mapping[str, object], document: documents.Document) -> Iterator[tuple[str, RuleKey, str]]:
    for part in ("defaults", "validations"):
        rules = spec.get(part)
        for index, rule in enumerate(rules if isinstance(rules, list) else ()):
            place = f"{document.source}:{document.line_of('spec', part, index)}"
            yield part, (rule["code"], rule.get("operator", "").strip()), place
