"""Which CustomResourceDefinitions decide: those beside the files, and those among them if the files may say so.

Where a source defines a kind in two ways, the definition in the folder nearest to all objects of the kind decides. If
there is not one such folder, the kind is not judged, and all else is.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import PurePath
from typing import Any, NamedTuple

from webhook.admission.errors import CatalogError, Problem
from webhook.catalog import Catalog, names_of
from webhook.cli.output import say
from webhook.library.apiserver import Definitions, is_definition, kind_of
from webhook.manifests.documents import Document
from webhook.schema.compare import without_texts

Name = tuple[str, str]
"""The group and the kind of a definition."""


class Deciding(NamedTuple):
    """``documents`` decide about objects. ``checked`` has the causes of all invalid definitions, the valid ones of
    ``documents``, and the kinds that are not judged. ``remarks`` name the definitions among the files that do not
    decide.
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
        CatalogError: two definitions given define a kind in different ways.
    """
    folders = dict[Name, set[PurePath]]()
    for each in among:
        gvk = kind_of(each.value)
        folders.setdefault((gvk.group, gvk.kind), set()).add(PurePath(each.source).parent)
    parts = (given, there, among, before)
    given, there, among, before = ([each for each in part if is_definition(each.value)] for part in parts)
    named = {defined(each.value) for each in given}
    others = [[each for each in part if defined(each.value) not in named] for part in (there, before, among)]
    if problems := [each for each in _twice(given) if defined(each.definition.value) in folders]:
        raise CatalogError([each.problem for each in problems])
    contested = dict[Name, str]()
    there, before, others_among = (_uncontested(part, folders, contested, options) for part in others)
    if options.commit is None and not options.untrusted:
        decided = [*there, *others_among, *given]
        return Deciding(decided, _checked(decided, among, contested), [])
    known = [*there, *before, *given]
    taken = {defined(each.value) for each in known} | {(gvk.group, gvk.kind) for gvk in catalog.kinds}
    decided = [*(each for each in others_among if defined(each.value) not in taken), *known]
    left = [each for each in among if defined(each.value) in taken]
    contested = {name: why for name, why in contested.items() if name not in taken}
    return Deciding(decided, _checked(decided, among, contested), _remarks(left, known, options))


def _checked(decided: Sequence[Document], among: Sequence[Document], contested: Mapping[Name, str]) -> Definitions:
    """All definitions, checked; those that decide define kinds."""
    deciding_ones, names = {id(each) for each in decided}, {defined(each.value) for each in decided}
    checked = Definitions.among([*(each for each in among if id(each) not in deciding_ones), *decided])
    crds = {name: crd for name, crd in checked.crds.items() if name in names}
    return replace(checked, crds=crds, contested=contested)


def _uncontested(
    definitions: Sequence[Document],
    folders: Mapping[Name, Collection[PurePath]],
    contested: dict[Name, str],
    options: argparse.Namespace,
) -> list[Document]:
    """The definitions of one source without those of kinds that it defines in several ways, which are noted.

    ``folders`` are those of the objects of each kind. A definition that is nearer to all of them than others stays.
    """
    by_name, others = dict[Name, list[Document]](), dict[Name, _Other]()
    for each in definitions:
        by_name.setdefault(defined(each.value), []).append(each)
    for other in _twice(definitions):
        others.setdefault(defined(other.definition.value), other)
    for name, found in others.items():
        nearest = _nearest(by_name[name], folders.get(name, ()))
        by_name[name] = [] if nearest is None else [nearest]
        if nearest is None:
            contested.setdefault(name, found.text)
        elif options.verbose:
            text = f"this definition of {name[1]} decides: it is nearest to the objects"
            say(f"{nearest.where}: {text}", sys.stderr)
    return [each for of_kind in by_name.values() for each in of_kind]


def _nearest(definitions: Sequence[Document], folders: Collection[PurePath]) -> Document | None:
    """The one definition that shares the deepest folder with the objects in these folders; None if there is not one."""
    below = dict[PurePath, list[Document]]()
    for each in definitions:
        folder = PurePath(each.source).parent
        for above in (folder, *folder.parents):
            below.setdefault(above, []).append(each)
    found = [next((below[each] for each in (folder, *folder.parents) if each in below), ()) for folder in folders]
    first = next(iter(found), ())
    return first[0] if len(first) == 1 and all(len(each) == 1 and each[0] is first[0] for each in found) else None


class _Other(NamedTuple):
    """A definition, and the place of another one of its kind that differs."""

    definition: Document
    place: str

    @property
    def text(self) -> str:
        return f"two definitions, {self.place} and {self.definition.where}: exclude one, or give one by --crds"

    @property
    def problem(self) -> Problem:
        kind = defined(self.definition.value)[1]
        text = f"{kind} has another definition in {self.place}: exclude one of the files, or give one by --crds"
        return Problem(self.definition.where, "", text)


def _twice(definitions: Iterable[Document]) -> Iterator[_Other]:
    """The definitions that are others than the first one of their kind, but for texts."""
    first: dict[Name, Document] = {}
    for each in definitions:
        other = first.setdefault(defined(each.value), each)
        if other is not each and _schemas(other.value) != _schemas(each.value):
            yield _Other(each, other.where)


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
    return [Problem(each.where, "", text) for each in left if each.value not in same]


def defined(definition: Mapping[str, Any]) -> Name:
    """The group and the kind of a definition, as far as it names them."""
    return names_of(definition)[:2]
