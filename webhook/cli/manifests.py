"""What `check` and `normalise` share: files to requests, and each request through API server and engine."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from webhook.admission import GroupVersionKind
from webhook.admission.errors import Problem
from webhook.catalog import Deviation
from webhook.cli import choices
from webhook.cli.input.before import Earlier, at_commit, earlier
from webhook.cli.input.change import replaced, with_policies
from webhook.cli.input.definitions import Deciding, deciding, defined
from webhook.cli.input.flags import excluded, must_have_objects
from webhook.cli.input.pins import deployed_by, pins_of, roots_of
from webhook.cli.output import say
from webhook.cli.terminal import progress
from webhook.cluster import Kind
from webhook.engine import Options, Ruling
from webhook.facts import COMPARISONS
from webhook.library.apiserver import is_definition, kind_of, placed, read_definitions
from webhook.library.judge import (
    Judge,
    Judges,
    Surroundings,
    degrees_of,
    is_policy,
    native_policies,
    own_definitions,
    remarks_about,
    updated,
)
from webhook.library.kinds import concerns
from webhook.library.review import ReviewedManifest
from webhook.library.rulings import Deployed, Moved, Rulings
from webhook.library.unknown import Substitutions, prepared
from webhook.manifests.documents import Document, repeats_of
from webhook.manifests.files import top_of
from webhook.manifests.folders import read_all
from webhook.manifests.reading import Manifests, Reading, read_paths, read_text
from webhook.policy import Profile

if TYPE_CHECKING:
    from webhook.cli.input.repository import Commit
    from webhook.library.pins import Pinned, Pins


class Outcomes(NamedTuple):
    """The reviews of the files that ``paths`` hold (``given``), and the judges that they are made by.

    ``remarks`` are warnings about definitions, admission policies and pins. ``settled`` makes what stands in a file the
    document that is judged; ``codes`` gives those of all rules. ``at_commit`` are the reviews of the files as --git has
    them, by themselves, and as of the releases that were pinned there; ``moved`` are the releases that are others now.
    ``files`` are those that were read, for another judgement of them.
    """

    reviews: list[ReviewedManifest]
    remarks: list[Problem]
    given: Manifests
    judges: Judges
    settled: Callable[[Document], Document]
    codes: Callable[[], frozenset[str]]
    packs: Sequence[Path] = ()
    at_commit: Sequence[ReviewedManifest] = ()
    moved: Sequence[Moved] = ()
    files: ReadFiles | None = None

    @property
    def problems(self) -> list[Problem]:
        """The documents that cannot be read."""
        return self.given.problems

    @property
    def unsure(self) -> bool:
        """Whether the release of an operator is not known well enough for all rules."""
        return self.judges.rulings.unsure

    def review(self, document: Document) -> ReviewedManifest:
        """The review of another text of a document, beside the objects that the others are judged beside."""
        return self.judges.review(self.settled(document))


def outcomes(options: argparse.Namespace, files: ReadFiles | None = None) -> Outcomes:
    """Mutate and validate each document of the files: as on UPDATE if the view has the object, else as on CREATE.

    ``files`` were read for options that differ only in what decides.

    Raises:
        CatalogError: admission policies or definitions that do not load.
        DocumentError: there is nothing to judge, or the view cannot be read.
        SettingsError: a flag with an invalid value.
    """
    loaded = Ruling.of(_strictness(options), options.packs)
    files = files or ReadFiles.read(options, loaded)
    must_have_objects(files.given, options)
    given, loaded = files.counted(), loaded.by_degrees(degrees_of(with_policies(options.instead, files.there)))
    decided, complete = _defining(options, loaded, files)
    trusted = options.commit is None and not options.untrusted
    rulings = Rulings(loaded, complete, files.deployed, trusted=trusted)
    rulings_before = Rulings(loaded, complete, files.before.deployed) if options.commit else rulings
    judges_of = partial(
        Judges,
        there=Surroundings.of(files.there, rulings, decided.checked),
        policies=native_policies(options.admission_policies),
        strict_kinds=options.unknown_kinds == "error",
    )
    judges = judges_of(rulings, given=given.documents, before=updated(files.before.documents, rulings_before))
    reviews = [judges.review(each) for each in progress(given.documents, "judged")]
    reviews_before = list[ReviewedManifest]()
    if options.commit is not None and not options.all:
        judges_before = judges_of(rulings_before, given=files.before.documents)
        reviews_before = [judges_before.review(each) for each in progress(files.before.documents, "judged")]
    _add_repeats(given, reviews, strict=options.strict)
    if not any(each.reviewed and _has_rules(each, options, judges) for each in reviews):
        given.problems += excluded(given, options)
    pinned = files.pins.remarks if files.pins else []
    enforced = remarks_about(loaded.options.degrees, loaded.catalog)
    deviations = _notable(rulings.deviations, decided.documents, given.documents)
    return Outcomes(
        [_explained(each, judges.of(each.document)) for each in reviews] if options.verbose else reviews,
        [
            *decided.remarks,
            *enforced,
            *deviations,
            *judges.remarks,
            *pinned,
            *rulings.remarks,
        ],
        given,
        judges,
        files.settled,
        cache(loaded.catalog.codes),  # it reads the rules of all kinds
        options.packs,
        reviews_before,
        [*_moved(options.commit, given.documents, rulings, files.before.documents, rulings_before)],
        files,
    )


class Surrounded(NamedTuple):
    """The documents ``given``, and what judges them: the ``rulings``, and the objects that are there beside them.

    ``read`` gives the documents of one file whose text may be another by now, and ``settled`` makes what stands in a
    file the document that is judged.
    """

    given: Manifests
    rulings: Rulings
    there: Surroundings
    read: Callable[[Path, str], Manifests]
    settled: Callable[[Document], Document]
    codes: Callable[[], frozenset[str]]


def surrounded(options: argparse.Namespace) -> Surrounded:
    """The files of the options, of which none is judged yet.

    Raises:
        CatalogError, DocumentError, SettingsError: as :func:`outcomes`.
    """
    loaded = Ruling.of(_strictness(options), options.packs)
    files = ReadFiles.read(options, loaded)
    loaded = loaded.by_degrees(degrees_of(files.there))
    decided, complete = _defining(options, loaded, files)
    rulings = Rulings(loaded, complete, files.deployed, trusted=not options.untrusted)
    there = Surroundings.of(files.there, rulings, decided.checked)
    how = _how(options, [*loaded.shipped.kinds, *_defined_kinds(decided.documents)])

    def read(path: Path, text: str) -> Manifests:
        given = read_text(path, text, how)
        return replace(given, documents=[files.settled(each) for each in given.documents])

    return Surrounded(files.given, rulings, there, read, files.settled, cache(loaded.catalog.codes))


def _defining(
    options: argparse.Namespace, loaded: Ruling, files: ReadFiles
) -> tuple[Deciding, Callable[[Ruling], Ruling]]:
    """The definitions that decide, and what puts a ruling under them."""
    defining = (files.crds, files.there, files.given.documents, files.before.documents)
    crds, there, among, before = replaced(options.instead, loaded.shipped, *defining)
    decided = deciding(options, crds, there, among, before, loaded.shipped)
    definitions = [each.value for each in decided.documents]
    own = own_definitions() if any(is_policy(document.value) for document in among) else ()

    def complete(ruling: Ruling) -> Ruling:
        completed = ruling.under(definitions, trusted=False).extended(decided.checked.crds.values())
        return completed.extended(own)

    return decided, complete


def _has_rules(review: ReviewedManifest, options: argparse.Namespace, judges: Judges) -> bool:
    """Whether more than Kubernetes' own validation judges an object: otherwise excluding the others would hide them."""
    catalog = judges.of(review.document).catalog
    return bool(options.admission_policies) or catalog.find(kind_of(review.document.value)) is not None


def _moved(
    commit: Commit | None,
    given: Iterable[Document],
    rulings: Rulings,
    before: Iterable[Document],
    rulings_before: Rulings,
) -> Iterable[Moved]:
    """The releases by which objects of a file are judged, where these were others at the commit."""
    if commit is None:
        return {}
    bases = {(old.source, old.built, kind_of(old.value)): rulings_before.judged_as(old) for old in before}
    pairs = dict.fromkeys(
        (bases.get((*commit.origin(new), kind_of(new.value))), rulings.judged_as(new)) for new in given
    )
    return [Moved(old, new) for old, new in pairs if old is not None and new is not None and old.release != new.release]


def _strictness(options: argparse.Namespace) -> Options:
    closed = options.references == "closed" or (options.references is None and bool(options.view))
    profile = Profile(options.profile or Profile.STANDARD)
    settings = choices.chosen(options)
    return Options(profile, strict_fields=True, faults_told=True, complete=closed, settings=settings)


class ReadFiles(NamedTuple):
    """What the options name: the files that are ``given``, their versions ``before``, and what lies beside them.

    ``settled`` gives a document its values for the variables of Flux. ``pins`` are those of the files' repository, and
    ``deployed`` is what they say of a document.
    """

    crds: list[Document]
    there: list[Document]
    given: Manifests
    before: Earlier
    settled: Callable[[Document], Document]
    pins: Pins | None
    deployed: Deployed | None

    def created(self) -> ReadFiles:
        """The same files as if nothing of them was there before, whatever updates are spared."""
        return self._replace(before=Earlier([each for each in self.before.documents if is_definition(each.value)]))

    def as_pinned_at(self, commit: Commit) -> ReadFiles:
        """The same files, as what the commit deploys; a file that it does not have, as now."""
        pinned = {(old.source, old.built): self.before.deployed(old) for old in self.before.documents}

        def deployed(document: Document) -> Mapping[str, Pinned]:
            now = self.deployed(document) if self.deployed else {}
            return pinned.get(commit.origin(document), now)

        return self._replace(deployed=deployed)

    def counted(self) -> Manifests:
        """What is given; what a judgement adds to its problems and counts stays with that judgement."""
        given = self.given
        return replace(given, problems=[*given.problems], unread=[*given.unread], skipped=given.skipped.copy())

    @classmethod
    def read(cls, options: argparse.Namespace, ruling: Ruling) -> ReadFiles:
        """Read all of them.

        Raises:
            CatalogError, DocumentError, SettingsError: as :func:`outcomes`.
        """
        there = read_all(options.view)
        crds = read_definitions(options.crds)
        kinds = [*ruling.shipped.kinds, *_defined_kinds((*crds, *there))]
        given = _read(options, kinds, options.files)
        here = Path.cwd()
        values = Substitutions.of(given.documents, top_of(here) or here, options.substitute)

        def settled(document: Document) -> Document:
            return prepared(document, values.values(document.applied))

        given.documents = [settled(each) for each in given.documents]
        before = Earlier([settled(each) for each in earlier(options.old)])
        catalog = None if options.pins is False else ruling.shipped
        if options.commit is not None:
            read, whole = partial(_read, options, kinds), options.kustomize
            at = at_commit(options.commit, options.files, read, options.substitute, whole=whole, catalog=catalog)
            before = Earlier([*before.documents, *at.documents], at.pinned)
        pins = pins_of(given.documents, roots_of(options.files), catalog) if catalog else None
        return cls(crds, there, given, before, settled, pins, deployed_by(pins))


def _read(options: argparse.Namespace, kinds: Collection[GroupVersionKind], paths: Sequence[Path]) -> Manifests:
    """What the paths hold. A file that cannot be read is a problem if it may hold an object of these kinds."""
    how = _how(options, kinds)
    given = read_paths(paths, how)
    if not options.kustomize:
        return given
    from webhook.cli.input.kustomize import built  # noqa: PLC0415 - most calls start no program

    strangers = options.untrusted or options.commit is not None
    return built(
        given,
        paths,
        restricted=(options.load_restrictor or ("root" if strangers else "none")) == "root",
        concerns=how.concerns,
    )


def _how(options: argparse.Namespace, kinds: Collection[GroupVersionKind]) -> Reading:
    exclude = tuple(options.exclude)
    concerned = _always if options.strict else concerns(kinds)
    told = partial(progress, what="read")
    return Reading(lenient=True, repeating=True, pipes=True, exclude=exclude, concerns=concerned, progress=told)


def _add_repeats(given: Manifests, reviews: Iterable[ReviewedManifest], *, strict: bool) -> None:
    """A key written twice in an object that is not judged: a remark, as about a text that cannot be read."""
    found = [fault for each in reviews if not each.reviewed for fault in repeats_of(each.document)]
    (given.problems if strict else given.unread).extend(found)
    given.skipped["not readable"] += 0 if strict else len(found)
    given.skipped = +given.skipped


def _always(_: bytes) -> bool:
    return True


def _defined_kinds(found: Iterable[Document]) -> Iterator[GroupVersionKind]:
    """The kinds that definitions define, of any version."""
    for each in found:
        if is_definition(each.value):
            yield GroupVersionKind(defined(each.value)[0], "", defined(each.value)[1])


def _explained(outcome: ReviewedManifest, judge: Judge) -> ReviewedManifest:
    """The outcome with the rules that are left out of it, and the candidates for what was chosen, compared."""
    lines, gvk = list[str](), kind_of(outcome.document.value)
    for finding, action, by in outcome.validation.muted:
        lines.append(f"{finding}: counts for nothing: {action} by {by}")
    if codes := outcome.validation.audit.get("aside"):
        lines.append(f"rules not applied, because of values that Modelgate's own definition does not have: {codes}")
    compare = COMPARISONS.get(Kind(gvk.group, gvk.kind))
    if compare is not None and isinstance(outcome.document.value.get("metadata"), dict):
        lines += compare(placed(outcome.document.value, None), judge.view, judge.options.settings)
    return replace(outcome, comparison=tuple(lines)) if lines else outcome


def _notable(
    deviations: Mapping[Deviation, str], definitions: Iterable[Document], among: Iterable[Document]
) -> Iterator[Problem]:
    """A warning about each definition that differs, or release that is not known.

    One ``among`` the files that puts rules aside is also told on standard error: the author of the files may want that.
    """
    where = {defined(item.value): item.where for item in definitions}
    own = {defined(item.value) for item in among if is_definition(item.value)}
    for each, place in deviations.items():
        name = (each.kind.group, each.kind.kind)
        yield Problem(where.get(name, place), "", str(each))
        if name in own and (each.aside or each.unserved):
            say(f"{where[name]}: this definition makes the check weaker: {_lost(each)}", sys.stderr)


def _lost(deviation: Deviation) -> str:
    kind = deviation.kind
    return f"{kind} is not checked" if deviation.unserved else f"{len(deviation.aside)} rules of {kind} are not applied"
