"""The objects that a scan judges: of a cluster, page by page and with read rights only, or in files.

The files are such as `kubectl get … -o yaml` prints.
"""

from __future__ import annotations

import argparse
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any, Final, Self

from webhook.admission.errors import Problem, Unavailable
from webhook.catalog import Catalog, KnownKind, built_in, groups_of, names_of
from webhook.cli.input.change import Instead, replaced, with_policies
from webhook.cli.input.definitions import deciding
from webhook.cli.input.flags import excluded, must_have_objects
from webhook.cli.input.pins import deployed_by, pins_of, roots_of
from webhook.cli.scan.judging import StoredObject
from webhook.cluster import (
    ApiError,
    APIResource,
    ClusterAnswer,
    ClusterQuestion,
    Definitions,
    Key,
    NodeStore,
    Reader,
    Reference,
    RequestView,
    Store,
    ask,
    find,
    light,
    may_be_denied,
)
from webhook.cluster.view import NODE, UNREADABLE, Kind, MemoryView, Unwatched
from webhook.enforcement import ENFORCEMENT, EXCEPTION, GROUP
from webhook.engine import Ruling
from webhook.facts import WATCHED
from webhook.library.apiserver import is_definition, kind_of, placed, read_definitions, receive, stored_object
from webhook.library.judge import degrees_of
from webhook.library.kinds import unserved
from webhook.library.rulings import Rulings
from webhook.manifests.documents import Document
from webhook.manifests.reading import Manifests, Reading, read_paths

if TYPE_CHECKING:
    from webhook.enforcement import Degrees

READ_SECONDS: Final = 10.0
"""For one request of one object; a definition has up to two megabytes."""
ANSWERS: Final = 1024
"""Answers about single objects that are remembered, such as a ConfigMap of OME or a Namespace."""


def _instead(installed: Iterable[Document], left: Iterable[Document], given: Iterable[Document]) -> Iterator[Problem]:
    """The note about the definitions of the cluster that do not decide."""
    sources = {_name(each.value): each.source for each in given}
    kept = {each.source for each in left}
    names = [each.source for each in installed if each.source not in kept]
    if names:
        by = ", ".join(f"{name} ({sources.get(name, 'that of Modelgate for the release')})" for name in names)
        yield Problem("", "", f"judged by other definitions than the installed ones: {by}")
    else:
        yield Problem("", "", "judged by the installed definitions: --crds has none of a kind that is installed")


def _name(definition: Mapping[str, Any]) -> str:
    """The name of a definition, ``<plural>.<group>``."""
    group, _, plural = names_of(definition)
    return f"{plural}.{group}"


_DEFINITION: Final = {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition"}


def served(each: StoredObject) -> StoredObject:
    """The object itself; refused if its definition does not serve the version; not judged without a definition."""
    gvk, rules = kind_of(each.value), each.rules
    if rules.catalog.find(gvk) is not None:
        return each
    refusal = unserved(gvk, rules.catalog, {(known.group, known.kind) for known in rules.shipped.kinds}, strict=False)
    return each._replace(causes=() if refusal is None else (refusal,), readable=False)


class Cluster:
    """The objects of some kinds. Memory holds one page of them, and the kinds that rules look up in other objects."""

    def __init__(
        self,
        api: Reader,
        rules: Ruling,
        kinds: Collection[str],
        namespace: str = "",
        instead: Iterable[Instead] = (),
    ) -> None:
        """``instead``: what decides instead of the definitions of the cluster, the last one most.

        Raises:
            CatalogError: a definition cannot be used.
            Unavailable: the API server does not answer.
        """
        self.api = api
        self._kinds = kinds
        self._namespace = namespace
        self.problems: list[Problem] = []
        self.skipped: Counter[str] = Counter()
        self.notes: list[Problem] = []
        self.remarks: list[Problem] = []
        instead = tuple(instead)
        rules = rules.by_degrees(self._degrees(instead))
        self.rulings = Rulings(rules, partial(self._under_definitions, instead=instead))
        self.rules = self.rulings.of_no_file.ruling
        self.view = RequestView(_Lookups(api), {})

    def objects(self) -> Iterator[StoredObject]:
        return self._objects(self.rules.catalog)

    def _degrees(self, instead: Sequence[Instead]) -> Degrees | None:
        """How strict the cluster is now, but for what is ``instead``. Without the right to read that: as the profile
        says, which is remarked on.
        """
        documents = list[Document]()
        try:
            for kind in (Kind(GROUP, ENFORCEMENT), Kind(GROUP, EXCEPTION), Kind("", "Namespace")):
                if kind.group or documents:
                    documents += [Document(f"{kind.kind} {Key.of(obj)}", 1, obj) for obj in _listed(self.api, kind)]
        except ApiError as error:
            text = f"judged by the profile alone, because objects of kind {kind.kind} cannot be listed: {error}"
            self.remarks.append(Problem("", "", text))
            documents.clear()
        return degrees_of(with_policies(instead, documents))

    def pairs(self, changed: Self) -> Iterator[tuple[StoredObject, StoredObject]]:
        """Each object of the kinds that either covers, for both."""
        for each in self._objects(self.rules.catalog, changed.rules.catalog):
            yield self._as_judged(each), changed._as_judged(each)

    def _as_judged(self, each: StoredObject) -> StoredObject:
        return served(each._replace(rules=self.rules, judged_as=self.rulings.judged_as(each.document)))

    def _objects(self, *catalogs: Catalog) -> Iterator[StoredObject]:
        kinds = {gvk: catalog for catalog in reversed(catalogs) for gvk in catalog.kinds}
        for gvk, known in ((gvk, catalog.uncompiled(gvk)) for gvk, catalog in kinds.items()):
            if gvk.kind not in self._kinds or (self._namespace and not known.namespaced):
                continue
            resource = APIResource(gvk.group, gvk.version, known.plural, gvk.kind, known.namespaced)
            name = f"{known.plural}.{gvk.group}"
            try:
                yield from (
                    StoredObject(Document(f"{name}/{Key.of(obj)}", 1, obj), obj, self.rules)
                    for obj in self._list(resource)
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
                for page in self.api.pages(resource, self._namespace):
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

    def _under_definitions(self, rules: Ruling, instead: Iterable[Instead]) -> Ruling:
        """The rules by the definitions of the cluster, and by what decides instead of them."""
        installed, absent = self._installed(rules)
        given, left = replaced(instead, rules.shipped, (), installed)
        if len(left) < len(installed) or given:
            absent = ()  # what is not installed says nothing of another release
            self.notes += _instead(installed, left, given)
        return rules.under([each.value for each in (*left, *given)], absent)

    def _installed(self, rules: Ruling) -> tuple[Sequence[Document], Collection[str]]:
        """The definitions of the cluster, and the names of those that it lacks; none if they cannot be read."""
        definitions = Definitions(self.api)
        try:
            own, further = rules.definitions()
            guarded = {f"{each.plural}.{each.group}" for each in rules.kinds()}
            definitions.refresh(sorted(guarded & own), READ_SECONDS, sorted(further))
        except ApiError as error:
            if not error.denied:
                raise Unavailable(f"the API server does not answer: {error}") from error
            text = f"cannot be read, so that objects are judged by Modelgate's own: {error}"
            self.problems.append(Problem("customresourcedefinitions", "", text))
            return (), ()
        found = ({**_DEFINITION, **each} for each in definitions.documents())
        return [Document(_name(each), 1, each) for each in found], definitions.absent


_FORBIDDEN: Final = 403
_BY_NAME: Final = frozenset([Kind("", "ConfigMap"), Kind("scheduling.k8s.io", "PriorityClass")])
"""Kinds of which single objects are looked up, however many there are."""


class _DeniedError(Unavailable, Unwatched):
    """A kind that rules read cannot be listed. What is said of nodes is silent then."""


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
        if kind in _BY_NAME:
            raise Unwatched(f"{kind.kind} objects are read by name")
        return self._store(kind).list(namespace)

    def cached(self, question: ClusterQuestion) -> tuple[bool, ClusterAnswer]:
        return True, self.read(question, READ_SECONDS)

    def listed(self, _: Kind) -> bool:
        return True

    def follows(self, kind: Kind) -> bool:
        return kind not in _BY_NAME

    def read(self, question: ClusterQuestion, _: float) -> ClusterAnswer:
        if isinstance(question, Reference) and not question.version and _is_listed(question.kind):
            return self._store(question.kind).get(Key(question.namespace, question.name))
        return self._answer(question)

    def _read(self, question: ClusterQuestion) -> ClusterAnswer:
        try:
            return ask(self._api, question, READ_SECONDS, time.monotonic)
        except ApiError as error:
            if error.status == _FORBIDDEN and may_be_denied(question):
                return UNREADABLE
            raise Unavailable(f"{question} cannot be read from the API server: {error}") from error

    def _store(self, kind: Kind) -> Store:
        """The objects of a kind.

        Raises:
            Unavailable: they cannot be listed.
        """
        if kind in self._denied:
            raise _DeniedError(self._denied[kind])
        if kind not in self._stores:
            try:
                self._stores[kind] = self._list(kind)
            except ApiError as error:
                self._denied[kind] = f"its rules read {kind.kind} objects, which cannot be listed: {error}"
                raise _DeniedError(self._denied[kind]) from error
        return self._stores[kind]

    def _list(self, kind: Kind) -> Store:
        store = NodeStore() if kind == NODE else Store()
        for obj in _listed(self._api, kind):
            store.put(Key.of(obj), obj)
        return store


def _listed(api: Reader, kind: Kind) -> Iterator[dict[str, Any]]:
    """All objects of a kind, page by page; none if its API is not installed."""
    resource = find(api, kind)
    if resource is not None:
        for page in api.pages(resource):
            yield from (light(obj, resource) for obj in page["items"])


def _is_listed(kind: Kind) -> bool:
    return kind in WATCHED or kind.group in groups_of(built_in())


class Files:
    """The objects of files. They are all that rules can look up: an object that is in no file does not exist."""

    def __init__(
        self, options: argparse.Namespace, rules: Ruling, kinds: Collection[str], given: Manifests | None = None
    ) -> None:
        """Read the files, unless what they hold is ``given``.

        Raises:
            CatalogError: a definition of --crds cannot be used.
            DocumentError: no object is found.
        """
        if given is None:
            given = read_paths(options.files, Reading(lenient=True, exclude=tuple(options.exclude)))
            must_have_objects(given, options)
        self.given = given
        self._kinds = kinds
        self._namespace = options.namespace
        self._documents = given.documents
        self._left_out = excluded(given, options)
        self.notes: list[Problem] = []
        self.problems = [*given.problems]
        self.skipped: Counter[str] = given.skipped.copy()
        self.rules = rules = rules.by_degrees(degrees_of(with_policies(options.instead, given.documents)))
        pins = None if options.pins is False else pins_of(given.documents, roots_of(options.files), rules.shipped)
        self.remarks = [*(pins.remarks if pins else ())]
        self.rulings = Rulings(rules, self._under_definitions(options, rules), deployed_by(pins))
        stored = (stored_object(each.value, self._known(each)) for each in given.documents)
        self.view = MemoryView(each for each in stored if each["metadata"].get("name"))

    def objects(self) -> Iterator[StoredObject]:
        judged = False
        for each in filter(None, map(self._stored, self._documents)):
            judged = True
            yield each
        self.skipped = +self.skipped
        if not judged:
            self.problems += self._left_out

    def pairs(self, changed: Self) -> Iterator[tuple[StoredObject, StoredObject]]:
        """Each object of the kinds that either covers, as each of both stores it."""
        for document in self._documents:
            before, after = self._stored(document), changed._stored(document)
            if before or after:
                yield before or self._foreign(document), after or changed._foreign(document)
        changed.skipped = +changed.skipped

    def _foreign(self, document: Document) -> StoredObject:
        """An object that nothing judges here."""
        unjudged = StoredObject(document, document.value, self.rulings.of(document).ruling, readable=False)
        return unjudged if self._contested_by(document) else served(unjudged)

    def _contested_by(self, document: Document) -> str:
        """Why the kind of an object is not judged: it has two definitions; "" if it has not."""
        gvk = kind_of(document.value)
        return self._contested.get((gvk.group, gvk.kind), "")

    def _stored(self, document: Document) -> StoredObject | None:
        """An object of the kinds and the namespace; None for another one, and for one without a name."""
        known = self._known(document)
        if why := self._contested_by(document):
            self.skipped[f"objects of kind {document.value['kind']} ({why})"] += 1
            return None
        if known is None:
            self.skipped["objects of kinds without rules"] += not is_definition(document.value)
            return None
        if known.gvk.kind not in self._kinds or not self._is_in_namespace(document, known):
            return None
        received, obj = receive(document.value, known, assigned=True), stored_object(document.value, known)
        if not obj["metadata"].get("name"):
            self.problems.append(Problem(document.where, "metadata.name", "Required value: a stored object has a name"))
            return None
        rules, judged_as = self.rulings.of(document).ruling, self.rulings.judged_as(document)
        return StoredObject(document, obj, rules, received.causes, received.readable, judged_as)

    def _under_definitions(self, options: argparse.Namespace, rules: Ruling) -> Callable[[Ruling], Ruling]:
        """What puts rules under the valid definitions among the files."""
        given, among = replaced(options.instead, rules.shipped, read_definitions(options.crds), self._documents)
        found = deciding(options, given, (), among, (), rules.shipped)
        refused, self._contested = found.checked.refused, found.checked.contested
        for number, each in {id(each): each for each in (*found.documents, *self._documents)}.items():
            for cause in refused.get(number, ()):
                self.problems.append(Problem(each.where, cause.field, cause.message))
        definitions = [each.value for each in found.documents if id(each) not in refused]
        return lambda rules: rules.under(definitions)

    def _known(self, document: Document) -> KnownKind | None:
        return self.rulings.of(document).ruling.catalog.find(kind_of(document.value))

    def _is_in_namespace(self, document: Document, known: KnownKind) -> bool:
        return not self._namespace or placed(document.value, known)["metadata"].get("namespace") == self._namespace
