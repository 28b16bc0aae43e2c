"""The stored objects in files, such as `kubectl get … -o yaml` prints them."""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Collection, Iterator

from webhook.admission.errors import DocumentError, Problem
from webhook.catalog import KnownKind
from webhook.cli.input.definitions import deciding
from webhook.cli.input.flags import excluded
from webhook.cli.scan.judging import StoredObject
from webhook.cluster.view import MemoryView
from webhook.engine import Ruling
from webhook.library.apiserver import is_definition, kind_of, placed, read_definitions, receive, stored_object
from webhook.manifests.documents import Document
from webhook.manifests.reading import Reading, read_paths


class Files:
    """The objects of files. They are all that rules can look up: an object that is in no file does not exist."""

    def __init__(self, options: argparse.Namespace, rules: Ruling, kinds: Collection[str]) -> None:
        """Read the files.

        Raises:
            CatalogError: a definition of --crds cannot be used.
            DocumentError: no object is found.
        """
        given = read_paths(options.files, Reading(lenient=True, exclude=tuple(options.exclude)))
        if not given.documents and (given.problems or not given.skipped):
            names = ", ".join("stdin" if str(path) == "-" else str(path) for path in options.files)
            raise DocumentError(given.problems or [Problem(names, "", "no object found")])
        self._kinds = kinds
        self._namespace = options.namespace
        self._documents = given.documents
        self._left_out = excluded(given, options)
        self.problems = given.problems
        self.skipped: Counter[str] = given.skipped
        self.rules = self._under_definitions(options, rules)
        stored = (stored_object(each.value, self._known(each)) for each in given.documents)
        self.view = MemoryView(each for each in stored if each["metadata"].get("name"))

    def codes(self) -> frozenset[str]:
        return self.rules.shipped.codes()

    def objects(self) -> Iterator[StoredObject]:
        judged = False
        for document in self._documents:
            known = self._known(document)
            if known is None:
                self.skipped["objects of kinds without rules"] += not is_definition(document.value)
                continue
            if known.gvk.kind not in self._kinds or not self._is_in_namespace(document, known):
                continue
            received = receive(document.value, known, assigned=True)
            obj = stored_object(document.value, known)
            judged = True
            if obj["metadata"].get("name"):
                yield StoredObject(document, obj, received.causes, received.readable)
            else:
                where = f"{document.source}:{document.line}"
                self.problems.append(Problem(where, "metadata.name", "Required value: a stored object has a name"))
        self.skipped = +self.skipped
        if not judged:
            self.problems += self._left_out

    def _under_definitions(self, options: argparse.Namespace, rules: Ruling) -> Ruling:
        """The rules by the valid definitions among the files."""
        found = deciding(options, read_definitions(options.crds), (), self._documents, (), rules.shipped)
        refused = found.checked.refused
        for number, each in {id(each): each for each in (*found.documents, *self._documents)}.items():
            for cause in refused.get(number, ()):
                self.problems.append(Problem(f"{each.source}:{each.line}", cause.field, cause.message))
        return rules.under([each.value for each in found.documents if id(each) not in refused])

    def _known(self, document: Document) -> KnownKind | None:
        return self.rules.catalog.find(kind_of(document.value))

    def _is_in_namespace(self, document: Document, known: KnownKind) -> bool:
        return not self._namespace or placed(document.value, known)["metadata"].get("namespace") == self._namespace
