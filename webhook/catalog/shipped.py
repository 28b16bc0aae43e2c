"""What folders of APIs hold. The built-in ones are read no further than is needed: the tests have checked them."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from itertools import product, starmap
from typing import TYPE_CHECKING, Any, Final

from webhook import policy as policies  # its compiler is loaded when it is first used
from webhook.admission import GroupVersionKind
from webhook.admission.errors import Problem
from webhook.catalog.kinds import KnownKind, PolicySource, kinds_of
from webhook.catalog.packs import PACK, TABLE, Pack
from webhook.manifests import documents
from webhook.manifests.documents import Document
from webhook.manifests.folders import entries
from webhook.schema import CRD, load_crd

if TYPE_CHECKING:
    from webhook.policy import PolicyDocument

_TARGET: Final = re.compile(r"^  target:\n(?:    .*\n)+", re.MULTILINE)
_SCHEMA: Final = re.compile(r'^ *(?:schema:\n|"schema":)', re.MULTILINE)
"""Where the schema of a built-in definition begins; nothing else comes after it."""


class Loaded:
    """The kinds and packs of the folders that have been loaded, the problems of their files, and a digest of them."""

    def __init__(self) -> None:
        self.kinds: dict[GroupVersionKind, KnownKind] = {}
        self.packs: dict[str, Pack] = {}
        self.problems: list[Problem] = []
        self.digest = hashlib.sha256()
        self._places: dict[GroupVersionKind, str] = {}  # where each kind is defined

    def definitions(self, pack: Pack) -> Iterator[tuple[str, str]]:
        """The names and texts of the definitions of an API: ``<api>/crds/*.yaml`` and ``*.json``."""
        return self._files(pack, "crds")

    def policies(self, pack: Pack) -> Iterator[tuple[str, str]]:
        """The names and texts of the policies of an API: ``<api>/*.yaml``."""
        files = self._files(pack)
        return ((source, text) for source, text in files if source.rpartition("/")[2] != PACK)

    def _files(self, pack: Pack, *below: str) -> Iterator[tuple[str, str]]:
        """The names and texts of the files in an API's folder or one below it, which the digest covers."""
        folder = pack.folder.joinpath(*below)
        for file in entries(folder) if folder.is_dir() else ():
            if file.name.endswith((".yaml", ".json")) and file.name != TABLE:
                content = pack.files.content(file)
                name = "/".join((pack.folder.name, *below, file.name))
                self.digest.update(f"{name}\0{len(content)}\0".encode() + content)
                yield name if pack.trusted else str(file), content.decode()

    def add_kinds(self, pack: Pack, crd: CRD, place: str) -> None:
        """Add the kinds that a definition of an API serves."""
        defined = {kind.gvk: kind for kind in kinds_of(pack.folder.name, crd, pack)}
        for gvk in defined.keys() & self.kinds.keys():
            message = f"{gvk} is defined in {self._places[gvk]} of pack {self.kinds[gvk].api} already; remove it here"
            self.problems.append(Problem(place, "", message))
        self._places = {**dict.fromkeys(defined, place), **self._places}
        self.kinds.update({gvk: kind for gvk, kind in defined.items() if gvk not in self.kinds})


def load_shipped(loaded: Loaded, pack: Pack) -> None:
    """Load a built-in API: schemas and policies are read when they are asked for."""
    loaded.packs[pack.folder.name] = pack
    for source, text in loaded.definitions(pack):
        loaded.add_kinds(pack, _definition(text, source), source)
    for source, text in loaded.policies(pack):
        policy = PolicySource(partial(_policy, text, source))
        for gvk in _targets(text, source):
            known = loaded.kinds[gvk]
            loaded.kinds[gvk] = replace(known, sources=(*known.sources, policy))


def _definition(text: str, source: str) -> CRD:
    """A built-in definition, read without its schema: those with the schema of a pod take 15 ms."""
    match = _SCHEMA.search(text)
    start = text if match is None else text[: match.start()]
    rest = '"schema":{}}]}}' if match is not None and text.startswith("{") else ""
    return load_crd(_value(start + rest, source), trusted=True, whole=partial(_value, text, source))


def _policy(text: str, source: str) -> tuple[PolicyDocument, Document]:
    (document,) = documents.parse(text, source)
    return policies.trusted_policy(document), replace(document, piece=None)


def _targets(text: str, source: str) -> Iterator[GroupVersionKind]:
    """The kinds of a built-in policy, read without the rest of the document, which takes a hundred times longer."""
    match = _TARGET.search(text)
    target = _value(text, source)["spec"]["target"] if match is None else _value(match[0], source)["target"]
    kinds = target["kind"], *target.get("alsoKinds", ())
    return starmap(GroupVersionKind, product((target["group"],), target["versions"], kinds))


def _value(text: str, source: str) -> dict[str, Any]:
    (document,) = documents.parse(text, source)
    return document.value
