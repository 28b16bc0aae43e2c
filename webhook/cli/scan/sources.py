"""The objects that a scan judges: of a cluster, page by page and with read rights only, or in files.

The files are such as `kubectl get … -o yaml` prints.
"""

from __future__ import annotations

import argparse
import time
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from functools import lru_cache
from typing import Any, Final

from webhook.admission.errors import Problem, Unavailable
from webhook.catalog import KnownKind, built_in, groups_of
from webhook.cli.input.definitions import deciding
from webhook.cli.input.flags import excluded, must_have_objects
from webhook.cli.scan.judging import StoredObject
from webhook.cluster import (
    ApiError,
    APIResource,
    ClusterAnswer,
    ClusterQuestion,
    Definitions,
    Key,
    Reader,
    Reference,
    RequestView,
    Store,
    ask,
    find,
    light,
)
from webhook.cluster.view import Kind, MemoryView
from webhook.engine import Ruling
from webhook.facts import WATCHED
from webhook.library.apiserver import is_definition, kind_of, placed, read_definitions, receive, stored_object
from webhook.manifests.documents import Document
from webhook.manifests.reading import Reading, read_paths

READ_SECONDS: Final = 10.0
"""For one request of one object; a definition has up to two megabytes."""
ANSWERS: Final = 1024
"""Answers about single objects that are remembered, such as a ConfigMap of OME or a Namespace."""


class Cluster:
    """The objects of some kinds. Memory holds one page of them, and the kinds that rules look up in other objects."""

    def __init__(self, api: Reader, rules: Ruling, kinds: Collection[str], namespace: str = "") -> None:
        self._api = api
        self._kinds = kinds
        self._namespace = namespace
        self.problems: list[Problem] = []
        self.skipped: Counter[str] = Counter()
        self.rules = self._installed(rules)
        self.view = RequestView(_Lookups(api), {})

    def objects(self) -> Iterator[StoredObject]:
        for gvk, known in self.rules.catalog.kinds.items():
            if gvk.kind not in self._kinds or (self._namespace and not known.namespaced):
                continue
            resource = APIResource(gvk.group, gvk.version, known.plural, gvk.kind, known.namespaced)
            name = f"{known.plural}.{gvk.group}"
            try:
                yield from (
                    StoredObject(Document(f"{name}/{Key.of(obj)}", 1, obj), obj) for obj in self._list(resource)
                )
            except ApiError as error:
                if error.status == 404:
                    self.skipped["kinds that are not installed"] += 1
                else:
                    self.problems.append(Problem(name, "", f"cannot be listed: {error}"))

    def _list(self, resource: APIResource) -> Iterator[dict[str, Any]]:
        """The objects of a kind that are not being deleted.

        A list that takes longer than the API server keeps its state (five minutes) is begun anew, without the objects
        that were read already.
        """
        seen: set[str] = set()
        while True:
            before = len(seen)
            try:
                for page in self._api.pages(resource, self._namespace):
                    for obj in page["items"]:
                        if obj["metadata"]["uid"] in seen:
                            continue
                        seen.add(obj["metadata"]["uid"])
                        if "deletionTimestamp" in obj["metadata"]:
                            self.skipped["objects that are being deleted"] += 1
                        else:
                            yield light(obj, resource)
            except ApiError as error:
                if error.status != 410 or len(seen) == before:
                    raise
            else:
                return

    def _installed(self, rules: Ruling) -> Ruling:
        """The rules by the definitions of the cluster; by those of Modelgate if they cannot be read.

        Raises:
            Unavailable: the API server does not answer.
        """
        definitions = Definitions(self._api)
        try:
            own, further = rules.definitions()
            guarded = {f"{each.plural}.{each.group}" for each in rules.kinds()}
            definitions.refresh(sorted(guarded & own), READ_SECONDS, sorted(further))
        except ApiError as error:
            if error.status not in {401, 403}:
                raise Unavailable(f"the API server does not answer: {error}") from error
            text = f"cannot be read, so that objects are judged by Modelgate's own: {error}"
            self.problems.append(Problem("customresourcedefinitions", "", text))
            return rules
        return rules.under(definitions.documents(), definitions.absent)


class _Lookups:
    """What rules look up, read when it is first asked for: a kind that a scan may list at once, others by name.

    A :class:`~webhook.cluster.readthrough.ReadThrough` that is never unsure: no user waits for a scan.
    """

    def __init__(self, api: Reader) -> None:
        self._api = api
        self._stores: dict[Kind, Store] = {}
        self._denied: dict[Kind, str] = {}
        self._answer = lru_cache(ANSWERS)(self._read)

    def unready(self) -> list[str]:
        return []

    def get(self, kind: Kind, namespace: str, name: str) -> ClusterAnswer:
        return self.read(Reference(kind, namespace, name), READ_SECONDS)

    def list(self, kind: Kind, namespace: str | None = None) -> Sequence[dict[str, Any]]:
        return self._store(kind).list(namespace)

    def cached(self, question: ClusterQuestion) -> tuple[bool, ClusterAnswer]:
        return True, self.read(question, READ_SECONDS)

    def listed(self, _: Kind) -> bool:
        return True

    def read(self, question: ClusterQuestion, _: float) -> ClusterAnswer:
        if isinstance(question, Reference) and not question.version and _is_listed(question.kind):
            return self._store(question.kind).get(Key(question.namespace, question.name))
        return self._answer(question)

    def _read(self, question: ClusterQuestion) -> ClusterAnswer:
        try:
            return ask(self._api, question, READ_SECONDS, time.monotonic)
        except ApiError as error:
            raise Unavailable(f"{question} cannot be read from the API server: {error}") from error

    def _store(self, kind: Kind) -> Store:
        """The objects of a kind.

        Raises:
            Unavailable: they cannot be listed.
        """
        if kind in self._denied:
            raise Unavailable(self._denied[kind])
        if kind not in self._stores:
            try:
                self._stores[kind] = self._list(kind)
            except ApiError as error:
                self._denied[kind] = f"its rules read {kind.kind} objects, which cannot be listed: {error}"
                raise Unavailable(self._denied[kind]) from error
        return self._stores[kind]

    def _list(self, kind: Kind) -> Store:
        store = Store()
        resource = find(self._api, kind)
        if resource is not None:
            for page in self._api.pages(resource):
                for obj in page["items"]:
                    store.put(Key.of(obj), light(obj, resource))
        return store


def _is_listed(kind: Kind) -> bool:
    return kind in WATCHED or kind.group in groups_of(built_in())


class Files:
    """The objects of files. They are all that rules can look up: an object that is in no file does not exist."""

    def __init__(self, options: argparse.Namespace, rules: Ruling, kinds: Collection[str]) -> None:
        """Read the files.

        Raises:
            CatalogError: a definition of --crds cannot be used.
            DocumentError: no object is found.
        """
        given = read_paths(options.files, Reading(lenient=True, exclude=tuple(options.exclude)))
        must_have_objects(given, options)
        self._kinds = kinds
        self._namespace = options.namespace
        self._documents = given.documents
        self._left_out = excluded(given, options)
        self.problems = given.problems
        self.skipped: Counter[str] = given.skipped
        self.rules = self._under_definitions(options, rules)
        stored = (stored_object(each.value, self._known(each)) for each in given.documents)
        self.view = MemoryView(each for each in stored if each["metadata"].get("name"))

    def objects(self) -> Iterator[StoredObject]:
        judged = False
        for document in self._documents:
            known, gvk = self._known(document), kind_of(document.value)
            if why := self._contested.get((gvk.group, gvk.kind)):
                self.skipped[f"objects of kind {gvk.kind} ({why})"] += 1
                continue
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
        refused, self._contested = found.checked.refused, found.checked.contested
        for number, each in {id(each): each for each in (*found.documents, *self._documents)}.items():
            for cause in refused.get(number, ()):
                self.problems.append(Problem(f"{each.source}:{each.line}", cause.field, cause.message))
        return rules.under([each.value for each in found.documents if id(each) not in refused])

    def _known(self, document: Document) -> KnownKind | None:
        return self.rules.catalog.find(kind_of(document.value))

    def _is_in_namespace(self, document: Document, known: KnownKind) -> bool:
        return not self._namespace or placed(document.value, known)["metadata"].get("namespace") == self._namespace
