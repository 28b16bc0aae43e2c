"""The files of a workspace, and what is said of their objects. A change of a file reads that file alone.

What cannot be read of a file is taken from its last text that could be read: an object that is half written, or a
template, stays what it was.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from webhook.admission.errors import Problem
from webhook.catalog import KnownKind
from webhook.cluster import ClusterView, Kind
from webhook.engine import Ruling
from webhook.library.apiserver import kind_of, placed
from webhook.library.explained import Explanation, explained
from webhook.library.findings import Finding
from webhook.library.judge import Judge, Nearby, Surroundings, native, native_policies
from webhook.library.review import Key, ReviewedManifest, Stored, in_cluster, key_of
from webhook.library.rulings import Rulings
from webhook.library.unknown import World
from webhook.library.verdict import Verdict
from webhook.lsp.objects import Held, Objects
from webhook.manifests.documents import Document
from webhook.manifests.reading import Manifests

LARGEST: Final = 1 << 20
"""Characters of a file that is read: it takes half a second. An API server takes objects of 1.5 MiB."""
MOST: Final = 300
"""Objects of a file that are judged: that takes half a second, too."""

Review = Callable[[Document], ReviewedManifest]


@dataclass(frozen=True, slots=True)
class Desk:
    """What the configuration of a folder says, and what is in the folder.

    ``read`` gives the documents of a file with this text, and ``settled`` the document that is judged of one of a text;
    ``findings`` gives those of a review that are not left out, and ``page`` the address of the page of a code, or "".
    ``policies`` are admission policies, and ``remark`` is what a user is told once. ``children`` prints what the
    operator makes of an object, and ``explanation`` is a page about it.
    """

    root: Path
    given: Manifests
    rulings: Rulings
    there: Surroundings
    read: Callable[[Path, str], Manifests]
    settled: Callable[[Document], Document]
    findings: Callable[[ReviewedManifest, Review], list[Finding]]
    page: Callable[[str], str]
    children: Callable[[ReviewedManifest], str]
    explanation: Callable[[ReviewedManifest, Explanation], str]
    remark: str = ""
    policies: Path | None = None
    strict_kinds: bool = False


@dataclass(frozen=True, slots=True)
class ManifestFile:
    """A file: its text, its documents, the ``problems`` of what cannot be read, and ``left``: documents of an earlier
    text, of which the text now cannot be read.
    """

    text: str
    documents: tuple[Document, ...]
    problems: tuple[Problem, ...] = ()
    left: tuple[Document, ...] = ()

    @classmethod
    def of(cls, text: str, given: Manifests, before: ManifestFile | None) -> ManifestFile:
        now = tuple(given.documents)
        problems = tuple(given.problems)
        if before is None or not (problems or given.unread):
            return cls(text, now, problems)
        names = {_name(document) for document in now}
        left = (document for document in (*before.documents, *before.left) if _name(document) not in names)
        return cls(text, now, problems, tuple(left))

    @property
    def every_document(self) -> tuple[Document, ...]:
        return (*self.documents, *self.left)


def _name(document: Document) -> Key:
    return key_of(placed(document.value, None))


@dataclass(slots=True)
class _Reviewed:
    """The reviews of a file, which hold until a file changes."""

    generation: int
    reviews: list[ReviewedManifest]
    verdicts: list[Verdict] = field(default_factory=list)


class Workspace:
    """The files below a folder, and those that are open. ``first`` are the texts that were read first."""

    def __init__(self, desk: Desk) -> None:
        self.desk = desk
        self.files = dict[str, ManifestFile]()
        self.objects = Objects()
        self._worlds = dict[str, World]()
        self._generation = 0
        self._reviewed = dict[str, _Reviewed]()
        self._stored = Stored(desk.there.objects, desk.there.definitions, desk.there.world)
        self._nearby = Nearby(self.objects)
        self._policies = native_policies(desk.policies)
        self.objects.replace("", (Held(-1, value) for value in desk.there.objects.values()))
        by_source = dict[str, list[Document]]()
        for document in desk.given.documents:
            by_source.setdefault(document.source, []).append(document)
        problems = dict[str, list[Problem]]()
        for problem in (*desk.given.problems, *desk.given.unread):
            problems.setdefault(problem.source.rpartition(":")[0], []).append(problem)
        for source, documents in by_source.items():
            self._take(source, ManifestFile(documents[0].text, tuple(documents), tuple(problems.get(source, ()))))
        self._renew()
        self.first: Mapping[str, str] = {source: file.text for source, file in self.files.items()}

    def change(self, source: str, text: str | None) -> None:
        """Read a file again, of which this is the text now; None: there is no such file any more, or it is too large
        to be read at each letter.
        """
        before = self.files.get(source)
        if text is None or len(text) > LARGEST:
            self.files.pop(source, None)
            self._worlds.pop(source, None)
            self.objects.replace(source, ())
        elif before is None or before.text != text:
            self._take(source, ManifestFile.of(text, self.desk.read(Path(source), text), before))
        else:
            return
        self._renew()

    def _take(self, source: str, file: ManifestFile) -> None:
        self.files[source] = file
        documents = file.every_document
        self._worlds[source] = World().extended(document.value for document in documents)
        self.objects.replace(source, [*self._held(documents)])

    def _held(self, documents: Iterable[Document]) -> Iterator[Held]:
        for document in documents:
            ruled = self.desk.rulings.of(document)
            for value in in_cluster([document], ruled.ruling.catalog, self._stored):
                yield Held(ruled.number, value)

    def _renew(self) -> None:
        """Let go of what was said of the files as they were."""
        self._generation += 1
        world = self.desk.there.world.joined(self._worlds.values())
        self._stored = Stored(self.desk.there.objects, self.desk.there.definitions, world)
        self._nearby = Nearby(self.objects)

    def ruling(self, document: Document) -> Ruling:
        return self.desk.rulings.of(document).ruling

    def kind(self, document: Document) -> KnownKind | None:
        """The kind of an object, if its fields are known."""
        return self.ruling(document).catalog.find(kind_of(document.value))

    def view(self, document: Document) -> ClusterView:
        return self.objects.view(self.desk.rulings.of(document).number)

    def review(self, document: Document) -> ReviewedManifest:
        """The review of a document beside all others."""
        ruled = self.desk.rulings.of(document)
        catalog, options = ruled.ruling.catalog, ruled.ruling.options
        if self._policies is not None:
            options = replace(
                options, native=native(self._policies, catalog, [*self.objects], assume=True, complete=options.complete)
            )
        view = self.objects.view(ruled.number)
        reviewed = Judge(catalog, options, view, self._stored, self._nearby, self.desk.strict_kinds).review(document)
        return replace(reviewed, judged_as=self.desk.rulings.judged_as(document)) if reviewed.reviewed else reviewed

    def reviews(self, source: str) -> list[ReviewedManifest]:
        """The reviews of a file's first objects, also of those that are ``left``."""
        reviewed = self._reviewed.get(source)
        if reviewed is None or reviewed.generation != self._generation:
            file = self.files.get(source)
            reviews = [self.review(document) for document in file.every_document[:MOST]] if file else []
            verdicts = [Verdict.of(review, self.desk.findings(review, self.review)) for review in reviews]
            reviewed = self._reviewed[source] = _Reviewed(self._generation, reviews, verdicts)
        return reviewed.reviews

    def verdicts(self, source: str) -> list[Verdict]:
        """What is said of a file's objects, in the order of :meth:`reviews`."""
        self.reviews(source)
        return self._reviewed[source].verdicts

    def refusal_of(self, key: Key) -> str:
        """Why an object of the files is refused: its first error; "" if it is not."""
        group, kind, *name = key
        sources = self.objects.sources(Kind(group, kind), (name[0], name[1]))
        verdicts = (verdict for source in sources for verdict in self.verdicts(source))
        same = (verdict for verdict in verdicts if key_of(self.stored(verdict.document)) == key)
        return next((verdict.refusal for verdict in same), "")

    def explained(self, review: ReviewedManifest) -> Explanation:
        """What is chosen for an object, and where its fields come from."""
        ruling, view = self.ruling(review.document), self.view(review.document)
        return explained(review, view, ruling.options.settings, ruling.catalog, self.refusal_of)

    def because(self, document: Document) -> Mapping[str, str]:
        """Why each rule of the object's kind exists, by code."""
        return self.ruling(document).because(document.value)

    def stored(self, document: Document) -> dict[str, Any]:
        """The object as it is looked at: in a namespace, if its kind has one."""
        return placed(document.value, self.kind(document))
