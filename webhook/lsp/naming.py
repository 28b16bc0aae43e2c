"""Go to an object that a field names, find all fields that name an object, and rename it in all of them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Final, NamedTuple

from webhook.lsp.cursor import Cursor
from webhook.lsp.references import NamedObject, references_in, target_of
from webhook.lsp.workspace import Workspace
from webhook.manifests.documents import Document
from webhook.manifests.places import Spot, find

_OWN: Final = ("metadata", "name")
_NAME: Final = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
"""A DNS subdomain (apimachinery, IsDNS1123Subdomain)."""
_LONGEST: Final = 253
_WORDS: Final = frozenset({"false", "n", "no", "null", "off", "on", "true", "y", "yes"})
"""YAML 1.1 does not read them as texts."""


class Refused(ValueError):
    """An object cannot be renamed; the text says why."""


class Site(NamedTuple):
    """The scalar of a document that has a name."""

    document: Document
    spot: Spot


class Naming(NamedTuple):
    """What a field names: its own object, or others, of which the first that is there is meant."""

    targets: tuple[NamedObject, ...]
    spot: Spot


def meant(cursor: Cursor, document: Document, workspace: Workspace) -> Naming | None:
    """What the field at a position names."""
    name = cursor.value.value
    if cursor.is_key or not isinstance(name, str) or not name:
        return None
    if cursor.path == _OWN:
        return Naming((target_of(document, workspace),), cursor.value)
    for reference in references_in(document, workspace, name):
        if reference.path == cursor.path:
            there = [target for target in reference.targets if _sources(target, workspace)]
            return Naming(tuple(there or reference.targets), cursor.value)
    return None


def _sources(target: NamedObject, workspace: Workspace) -> list[str]:
    return workspace.objects.sources(target.kind, (target.namespace, target.name))


def sites(targets: Iterable[NamedObject], workspace: Workspace) -> Iterator[Site]:
    """Where objects are defined."""
    for target in targets:
        for source in _sources(target, workspace):
            file = workspace.files.get(source)
            for document in file.documents if file else ():
                spot = document.written("metadata.name")
                if spot is not None and target_of(document, workspace) == target:
                    yield Site(document, spot)


def namings(target: NamedObject, workspace: Workspace) -> Iterator[Site]:
    """The fields of all files that name an object."""
    for file in [*workspace.files.values()]:
        if target.name not in file.text:
            continue
        for document in file.documents:
            for reference in references_in(document, workspace, target.name):
                first = next((candidate for candidate in reference.targets if _sources(candidate, workspace)), None)
                if target == first or (first is None and target in reference.targets):
                    _, spot, complete = find(document.tree, reference.path)
                    if complete and spot is not None:
                        yield Site(document, spot)


def renamed(naming: Naming, name: str, workspace: Workspace) -> Mapping[str, list[tuple[Spot, str]]]:
    """The scalars to replace, by their file, each with its new text.

    Raises:
        Refused: the name is not valid, another object has it, the object is in no file, or a file that has its name
            cannot be read now.
    """
    target = naming.targets[0]
    if len(name) > _LONGEST or not _NAME.fullmatch(name):
        raise Refused(f'"{name[:60]}" is not a valid object name: use lower-case letters, digits, "-" and "."')
    if _sources(target._replace(name=name), workspace):
        raise Refused(f"there is another {target.kind.kind} {name}: use a name that no other one has")
    if not _sources(target, workspace):
        raise Refused(f"{target.kind.kind} {target.name} is in no file of the workspace: rename it where it is")
    for source, file in workspace.files.items():
        if (file.problems or file.left) and target.name in file.text:
            raise Refused(f"{source} cannot be read now, and may have the name: repair it first")
    edits = dict[str, dict[tuple[int, int], tuple[Spot, str]]]()
    for site in (*sites([target], workspace), *namings(target, workspace)):
        of_file = edits.setdefault(site.document.source, {})
        of_file[site.spot.line, site.spot.column] = site.spot, _quoted(name, site)
    return {source: [*of_file.values()] for source, of_file in edits.items()}


def _quoted(name: str, site: Site) -> str:
    """The new name as the old one is written: with its quotes, or with some if it would not be a text without."""
    spot = site.spot
    written = site.document.text_of(spot.line + 1)[spot.column : spot.column + 1]
    if written in {"'", '"'}:
        return f"{written}{name}{written}"
    return name if name[0].isalpha() and name not in _WORDS else f'"{name}"'
