"""Which CustomResourceDefinitions decide: those beside the files, and those among them if the files may say so."""

from __future__ import annotations

import argparse
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from webhook.admission.errors import CatalogError, Problem
from webhook.catalog import Catalog, names_of
from webhook.library.apiserver import Definitions, is_definition, kind_of
from webhook.manifests.documents import Document
from webhook.schema.compare import without_texts


class Deciding(NamedTuple):
    """``documents`` decide about objects. ``checked`` has the causes of all invalid definitions, and the valid ones of
    ``documents``. ``remarks`` name the definitions among the files that do not decide.
    """

    documents: list[Document]
    checked: Definitions
    remarks: list[Problem]


def deciding(
    options: argparse.Namespace,
    given: Sequence[Document],
    there: Sequence[Document],
    among: Sequence[Document],
    before: Sequence[Document],
    catalog: Catalog,
) -> Deciding:
    """The definitions by which objects are judged: of a kind, those ``given`` by --crds before all others.

    Under --git and --untrusted the files are a stranger's: a definition ``among`` them decides only about kinds that
    neither the catalog, a definition given or in the view (``there``), nor one at the commit (``before``) has.

    Raises:
        CatalogError: two definitions of one source define a kind in different ways.
    """
    about = {(gvk.group, gvk.kind) for gvk in (kind_of(each.value) for each in among)}
    parts = (given, there, among, before)
    given, there, among, before = ([each for each in part if is_definition(each.value)] for part in parts)
    named = {defined(each.value) for each in given}
    others = [[each for each in part if defined(each.value) not in named] for part in (there, before, among)]
    is_trusted = options.commit is None and not options.untrusted
    if problems := [each for part in (given, *(others if is_trusted else ())) for each in _twice(part, about)]:
        raise CatalogError(problems)
    if is_trusted:
        decided = [*others[0], *others[2], *given]
        return Deciding(decided, Definitions.among(decided), [])
    known = [*others[0], *others[1], *given]
    taken = {defined(each.value) for each in known} | {(gvk.group, gvk.kind) for gvk in catalog.kinds}
    decided = [*(each for each in among if defined(each.value) not in taken), *known]
    left = [each for each in among if defined(each.value) in taken]
    checked = Definitions.among([*left, *decided])
    names = {defined(each.value) for each in decided}
    checked = replace(checked, crds={name: crd for name, crd in checked.crds.items() if name in names})
    return Deciding(decided, checked, _remarks(left, known, options))


def _twice(definitions: Iterable[Document], about: Collection[tuple[str, str]]) -> Iterator[Problem]:
    """The definitions of these kinds that are others than the first one of the kind, but for texts."""
    first: dict[tuple[str, str], Document] = {}
    for each in definitions:
        name = defined(each.value)
        other = first.setdefault(name, each)
        if other is not each and name in about and _schemas(other.value) != _schemas(each.value):
            where = f"{other.source}:{other.line}"
            text = f"{name[1]} has another definition in {where}: exclude one of the files, or give one by --crds"
            yield Problem(f"{each.source}:{each.line}", "", text)


def _schemas(definition: Mapping[str, Any]) -> object:
    """What decides about objects, by version, without texts."""
    versions = definition["spec"].get("versions") if isinstance(definition.get("spec"), dict) else None
    if not isinstance(versions, list) or not all(isinstance(each, dict) for each in versions):
        return versions
    return {str(each.get("name")): (each.get("served"), without_texts(each.get("schema"))) for each in versions}


def _remarks(left: Sequence[Document], known: Collection[Document], options: argparse.Namespace) -> list[Problem]:
    """A remark about each definition that differs from the one that decides."""
    same = [each.value for each in known]
    by = "that of " + options.commit.name if options.commit else "Modelgate's own"
    text = f"this definition does not decide about objects: {by} does"
    return [Problem(f"{each.source}:{each.line}", "", text) for each in left if each.value not in same]


def defined(definition: Mapping[str, Any]) -> tuple[str, str]:
    """The group and the kind of a definition, as far as it names them."""
    return names_of(definition)[:2]
