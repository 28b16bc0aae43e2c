"""What `check` and `normalise` share: files to requests, and each request through API server and engine."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import NamedTuple

from webhook.admission import GroupVersionKind
from webhook.admission.errors import DocumentError, Problem
from webhook.cli import choices
from webhook.cli.input.before import earlier
from webhook.cli.input.definitions import Deciding, deciding, defined
from webhook.cli.input.flags import excluded
from webhook.cli.output import say
from webhook.cli.report.progress import progress
from webhook.cluster import ClusterView
from webhook.engine import Options, catalog
from webhook.engine.catalog import Catalog
from webhook.engine.installed import Deviation, with_installed
from webhook.facts import COMPARISONS
from webhook.facts.settings import Settings
from webhook.library.judge import Judge, Surroundings
from webhook.library.kinds import concerns
from webhook.library.review import ReviewedManifest
from webhook.manifests.documents import Document
from webhook.manifests.folders import read_all
from webhook.manifests.links import top_of
from webhook.manifests.reading import Manifests, Reading, read_paths
from webhook.offline import is_definition, kind_of, placed, read_definitions
from webhook.offline.unknown import Substitutions, prepared
from webhook.policy import Profile

__all__ = ["Outcomes", "is_duplicate", "outcomes"]


class Outcomes(NamedTuple):
    """``remarks`` are warnings about the admission policies; ``problems`` are the documents that cannot be read.

    ``given`` is what the paths hold; ``judge`` reviews one more document beside the objects of ``view``; ``codes``
    gives those of all rules. ``at_commit`` are the reviews of the files as --git has them, by themselves.
    """

    reviews: list[ReviewedManifest]
    remarks: list[Problem]
    problems: list[Problem]
    given: Manifests
    judge: Callable[[Document], ReviewedManifest]
    codes: Callable[[], frozenset[str]]
    view: ClusterView
    settings: Settings
    at_commit: Sequence[ReviewedManifest] = ()


def outcomes(options: argparse.Namespace) -> Outcomes:
    """Mutate and validate each document of the files: as on UPDATE if the view has the object, else as on CREATE.

    Raises:
        CatalogError: admission policies or definitions that do not load.
        DocumentError: there is nothing to judge, or the view cannot be read.
        SettingsError: a flag with an invalid value.
    """
    settings = choices.chosen(options)
    built_in = catalog.load(settings=settings)
    there = read_all(options.view)
    crds = read_definitions(options.crds)
    given = _read(options, [*built_in.kinds, *_defined_kinds((*crds, *there))])
    faults = [each for each in given.problems if not is_duplicate(each)]
    if not given.documents and (faults or not (given.problems or given.skipped)):
        names = ", ".join("stdin" if str(path) == "-" else str(path) for path in options.files)
        raise DocumentError(given.problems or [Problem(names, "", "no object found")])
    here = Path.cwd()
    values = Substitutions.of(given.documents, top_of(here) or here, options.substitute)

    def settled(document: Document) -> Document:
        applied = given.built.get(id(document), Path(document.source))
        return prepared(document, values.values(applied))

    given.documents = [settled(each) for each in given.documents]
    before = [settled(each) for each in earlier(options.old, options.commit, options.files)]
    decided = deciding(options, [*crds, *there], given.documents, before, built_in)
    installed, deviations = _installed(built_in, decided.documents, given.documents)
    loaded = decided.checked.extend(installed)
    run = _run(options, loaded, decided, there, given.documents, before)
    at_commit = (
        [] if options.commit is None or options.all else _run(options, loaded, decided, there, before, []).reviews
    )
    if not any(each.reviewed for each in run.reviews):
        given.problems += excluded(given, options)
    shown = [_compared(each, run.judge.view, settings) for each in run.reviews] if options.verbose else run.reviews

    def judge(document: Document) -> ReviewedManifest:
        return run.judge.review(settled(document))

    @cache  # it compiles the rules of all kinds
    def codes() -> frozenset[str]:
        return frozenset(code for kind in loaded.kinds.values() for code in kind.policy.codes)

    remarks = [*decided.remarks, *deviations, *run.judge.remarks]
    return Outcomes(shown, remarks, given.problems, given, judge, codes, run.judge.view, settings, at_commit)


class _Run(NamedTuple):
    """The review of some files, and their judge."""

    reviews: list[ReviewedManifest]
    judge: Judge


def _run(
    options: argparse.Namespace,
    loaded: Catalog,
    decided: Deciding,
    there: Sequence[Document],
    given: Sequence[Document],
    before: Sequence[Document],
) -> _Run:
    """Review files beside objects that are ``there``, as updates of those ``before``."""
    closed = options.references == "closed" or (options.references is None and bool(options.view))
    profile = Profile(options.profile or Profile.STANDARD)
    decide = Options(profile, strict_fields=True, complete=closed, settings=choices.chosen(options))
    judge = Judge.beside(
        loaded,
        decide,
        Surroundings.of(there, loaded),
        given,
        before=before,
        definitions=decided.checked,
        policies=options.admission_policies,
        strict_kinds=options.unknown_kinds == "error",
    )
    return _Run([judge.review(item) for item in progress(given, "judged")], judge)


def _read(options: argparse.Namespace, kinds: Collection[GroupVersionKind]) -> Manifests:
    """What the paths hold. A file that cannot be read is a problem if it may hold an object of these kinds."""
    exclude = tuple(options.exclude)
    concerned = _always if options.strict else concerns(kinds)
    told = partial(progress, what="read")
    how = Reading(lenient=True, pipes=True, exclude=exclude, concerns=concerned, progress=told)
    given = read_paths(options.files, how)
    if not options.kustomize:
        return given
    from webhook.cli.input.kustomize import built  # noqa: PLC0415 - most calls start no program

    strangers = options.untrusted or options.commit is not None
    return built(
        given,
        options.files,
        restricted=(options.load_restrictor or ("root" if strangers else "none")) == "root",
        concerns=concerned,
    )


def is_duplicate(problem: Problem) -> bool:
    """Whether a key is written twice, which kustomize and strict field validation refuse: that is a verdict."""
    return problem.message.startswith("duplicate key ")


def _always(_: bytes) -> bool:
    return True


def _defined_kinds(found: Iterable[Document]) -> Iterator[GroupVersionKind]:
    """The kinds that definitions define, of any version."""
    for each in found:
        if is_definition(each.value):
            yield GroupVersionKind(defined(each.value)[0], "", defined(each.value)[1])


def _compared(outcome: ReviewedManifest, view: ClusterView, settings: Settings) -> ReviewedManifest:
    """The outcome with the candidates for what was chosen, compared."""
    gvk = kind_of(outcome.document.value)
    compare = COMPARISONS.get((gvk.group, gvk.kind))
    if compare is None or not isinstance(outcome.document.value.get("metadata"), dict):
        return outcome
    return replace(outcome, comparison=tuple(compare(placed(outcome.document.value, None), view, settings)))


def _installed(
    loaded: Catalog, definitions: list[Document], among: Sequence[Document]
) -> tuple[Catalog, list[Problem]]:
    """The catalog by these definitions, with a warning about each that is of another release.

    One ``among`` the files that puts rules aside is also told on standard error: the author of the files may want that.
    """
    judged, deviations = with_installed(loaded, [item.value for item in definitions], trusted=False)
    where = {defined(item.value): f"{item.source}:{item.line}" for item in definitions}
    own = {defined(item.value) for item in among if is_definition(item.value)}
    notable = []
    for each in filter(lambda each: each.is_notable, deviations):
        name = (each.kind.group, each.kind.kind)
        notable.append(Problem(where.get(name, "--crds"), "", str(each)))
        if name in own and (each.aside or each.unserved):
            say(f"{where[name]}: this definition makes the check weaker: {_lost(each)}", sys.stderr)
    return judged, notable


def _lost(deviation: Deviation) -> str:
    kind = deviation.kind
    return f"{kind} is not checked" if deviation.unserved else f"{len(deviation.aside)} rules of {kind} are not applied"
