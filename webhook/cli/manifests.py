"""What `check` and `normalise` share: files to requests, and each request through API server and engine."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import NamedTuple

from webhook.admission import GroupVersionKind
from webhook.admission.errors import Problem
from webhook.catalog import Deviation
from webhook.cli import choices
from webhook.cli.input.before import at_commit, earlier
from webhook.cli.input.definitions import deciding, defined
from webhook.cli.input.flags import excluded, must_have_objects
from webhook.cli.output import say
from webhook.cli.terminal import progress
from webhook.cluster import ClusterView, Kind
from webhook.engine import Options, Ruling
from webhook.facts import COMPARISONS
from webhook.facts.settings import Settings
from webhook.library.apiserver import is_definition, kind_of, placed, read_definitions
from webhook.library.judge import Judge, Surroundings
from webhook.library.kinds import concerns
from webhook.library.review import ReviewedManifest
from webhook.library.unknown import Substitutions, prepared
from webhook.manifests.documents import Document, repeats_of
from webhook.manifests.files import top_of
from webhook.manifests.folders import read_all
from webhook.manifests.reading import Manifests, Reading, read_paths
from webhook.policy import Profile


class Outcomes(NamedTuple):
    """The reviews of the files that ``paths`` hold (``given``), and the ruling and the judge that they are made by.

    ``remarks`` are warnings about definitions and admission policies. ``settled`` makes what stands in a file the
    document that is judged; ``codes`` gives those of all rules. ``at_commit`` are the reviews of the files as --git has
    them, by themselves.
    """

    reviews: list[ReviewedManifest]
    remarks: list[Problem]
    given: Manifests
    ruling: Ruling
    judge: Judge
    settled: Callable[[Document], Document]
    codes: Callable[[], frozenset[str]]
    packs: Sequence[Path] = ()
    at_commit: Sequence[ReviewedManifest] = ()

    @property
    def problems(self) -> list[Problem]:
        """The documents that cannot be read."""
        return self.given.problems

    @property
    def unsure(self) -> bool:
        """Whether the release of an operator is not known well enough for all rules."""
        return any(each.is_unsure for each in self.ruling.deviations)

    @property
    def assumed(self) -> Mapping[str, str]:
        """The releases of operators that nothing names, and that are not the only ones, by API."""
        catalog = self.ruling.catalog
        judged = {kind_of(each.document.value) for each in self.reviews if each.reviewed}
        kinds = (catalog.uncompiled(gvk) for gvk in sorted(judged & catalog.kinds.keys()))
        releases = catalog.releases()
        return {
            known.api: str(releases[known.api])
            for known in kinds
            if len(known.pack.releases) > 1 and releases[known.api].by == "documented"
        }

    def review(self, document: Document) -> ReviewedManifest:
        """The review of one more document, beside the objects that the others are judged beside."""
        return self.judge.review(self.settled(document))


def outcomes(options: argparse.Namespace) -> Outcomes:
    """Mutate and validate each document of the files: as on UPDATE if the view has the object, else as on CREATE.

    Raises:
        CatalogError: admission policies or definitions that do not load.
        DocumentError: there is nothing to judge, or the view cannot be read.
        SettingsError: a flag with an invalid value.
    """
    loaded = Ruling.of(_strictness(options), options.packs)
    files = _Files.read(options, loaded)
    given = files.given
    decided = deciding(options, files.crds, files.there, given.documents, files.before, loaded.shipped)
    installed = loaded.under([each.value for each in decided.documents], trusted=False)
    deviations = [*_notable(installed.deviations, decided.documents, given.documents)]
    ruling = installed.extended(decided.checked.crds.values())
    judge_of = partial(
        Judge.beside,
        ruling,
        Surroundings.of(files.there, ruling.catalog, decided.checked),
        policies=options.admission_policies,
        strict_kinds=options.unknown_kinds == "error",
    )
    judge = judge_of(given.documents, before=files.before)
    reviews = [judge.review(each) for each in progress(given.documents, "judged")]
    reviews_at_commit = []
    if options.commit is not None and not options.all:
        judge_at_commit = judge_of(files.before)
        reviews_at_commit = [judge_at_commit.review(each) for each in progress(files.before, "judged")]
    _add_repeats(given, reviews, strict=options.strict)
    if not any(each.reviewed and _has_rules(each, options, ruling) for each in reviews):
        given.problems += excluded(given, options)
    return Outcomes(
        [_explained(each, judge.view, ruling.options.settings) for each in reviews] if options.verbose else reviews,
        [*decided.remarks, *deviations, *judge.remarks],
        given,
        ruling,
        judge,
        files.settled,
        cache(ruling.catalog.codes),  # it compiles the rules of all kinds
        options.packs,
        reviews_at_commit,
    )


def _has_rules(review: ReviewedManifest, options: argparse.Namespace, ruling: Ruling) -> bool:
    """Whether more than Kubernetes' own validation judges an object: otherwise excluding the others would hide them."""
    return bool(options.admission_policies) or ruling.catalog.find(kind_of(review.document.value)) is not None


def _strictness(options: argparse.Namespace) -> Options:
    closed = options.references == "closed" or (options.references is None and bool(options.view))
    profile = Profile(options.profile or Profile.STANDARD)
    settings = choices.chosen(options)
    return Options(profile, strict_fields=True, faults_told=True, complete=closed, settings=settings)


class _Files(NamedTuple):
    """What the options name: the files that are ``given``, their versions ``before``, and what lies beside them.

    ``settled`` gives a document its values for the variables of Flux.
    """

    crds: list[Document]
    there: list[Document]
    given: Manifests
    before: list[Document]
    settled: Callable[[Document], Document]

    @classmethod
    def read(cls, options: argparse.Namespace, ruling: Ruling) -> _Files:
        """Read all of them.

        Raises:
            CatalogError, DocumentError, SettingsError: as :func:`outcomes`.
        """
        there = read_all(options.view)
        crds = read_definitions(options.crds)
        kinds = [*ruling.shipped.kinds, *_defined_kinds((*crds, *there))]
        given = _read(options, kinds, options.files)
        must_have_objects(given, options)
        here = Path.cwd()
        values = Substitutions.of(given.documents, top_of(here) or here, options.substitute)

        def settled(document: Document) -> Document:
            applied = given.built.get(id(document), Path(document.source))
            return prepared(document, values.values(applied))

        given.documents = [settled(each) for each in given.documents]
        before = [settled(each) for each in earlier(options.old)]
        if options.commit is not None:
            read = partial(_read, options, kinds)
            before += at_commit(options.commit, options.files, read, options.substitute, whole=options.kustomize)
        return cls(crds, there, given, before, settled)


def _read(options: argparse.Namespace, kinds: Collection[GroupVersionKind], paths: Sequence[Path]) -> Manifests:
    """What the paths hold. A file that cannot be read is a problem if it may hold an object of these kinds."""
    exclude = tuple(options.exclude)
    concerned = _always if options.strict else concerns(kinds)
    told = partial(progress, what="read")
    how = Reading(lenient=True, repeating=True, pipes=True, exclude=exclude, concerns=concerned, progress=told)
    given = read_paths(paths, how)
    if not options.kustomize:
        return given
    from webhook.cli.input.kustomize import built  # noqa: PLC0415 - most calls start no program

    strangers = options.untrusted or options.commit is not None
    return built(
        given,
        paths,
        restricted=(options.load_restrictor or ("root" if strangers else "none")) == "root",
        concerns=concerned,
    )


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


def _explained(outcome: ReviewedManifest, view: ClusterView, settings: Settings) -> ReviewedManifest:
    """The outcome with the rules that are left out of it, and the candidates for what was chosen, compared."""
    lines, gvk = list[str](), kind_of(outcome.document.value)
    if codes := outcome.validation.audit.get("aside"):
        lines.append(f"rules not applied, because of values that Modelgate's own definition does not have: {codes}")
    compare = COMPARISONS.get(Kind(gvk.group, gvk.kind))
    if compare is not None and isinstance(outcome.document.value.get("metadata"), dict):
        lines += compare(placed(outcome.document.value, None), view, settings)
    return replace(outcome, comparison=tuple(lines)) if lines else outcome


def _notable(
    deviations: Iterable[Deviation], definitions: Iterable[Document], among: Iterable[Document]
) -> Iterator[Problem]:
    """A warning about each definition that differs, or release that is not known.

    One ``among`` the files that puts rules aside is also told on standard error: the author of the files may want that.
    """
    where = {defined(item.value): f"{item.source}:{item.line}" for item in definitions}
    own = {defined(item.value) for item in among if is_definition(item.value)}
    for each in filter(lambda each: each.is_notable, deviations):
        name = (each.kind.group, each.kind.kind)
        yield Problem(where.get(name, "--release" if each.release else "--crds"), "", str(each))
        if name in own and (each.aside or each.unserved):
            say(f"{where[name]}: this definition makes the check weaker: {_lost(each)}", sys.stderr)


def _lost(deviation: Deviation) -> str:
    kind = deviation.kind
    return f"{kind} is not checked" if deviation.unserved else f"{len(deviation.aside)} rules of {kind} are not applied"
