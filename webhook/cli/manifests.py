"""What `check` and `normalise` share: files to requests, and each request through API server and engine."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from webhook import catalog
from webhook.admission import GroupVersionKind
from webhook.admission.errors import DocumentError, Problem
from webhook.catalog import Catalog, Deviation, with_installed
from webhook.cli import choices
from webhook.cli.input.before import at_commit, earlier
from webhook.cli.input.definitions import Deciding, deciding, defined
from webhook.cli.input.flags import excluded
from webhook.cli.output import say
from webhook.cli.terminal import progress
from webhook.cluster import ClusterView, Kind
from webhook.engine import Options
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

__all__ = ["Outcomes", "outcomes"]


class Outcomes(NamedTuple):
    """``remarks`` are warnings about the admission policies; ``problems`` are the documents that cannot be read.

    ``given`` is what the paths hold; ``judge`` reviews one more document beside the objects of ``view``; ``codes``
    gives those of all rules. ``at_commit`` are the reviews of the files as --git has them, by themselves. ``unsure``:
    the release of an operator is not known well enough for all rules. ``packs`` are folders of further rules.
    ``assumed`` are the releases by which objects are judged for want of a better knowledge, by API.
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
    unsure: bool = False
    packs: Sequence[Path] = ()
    assumed: Mapping[str, str] = MappingProxyType({})


def outcomes(options: argparse.Namespace) -> Outcomes:
    """Mutate and validate each document of the files: as on UPDATE if the view has the object, else as on CREATE.

    Raises:
        CatalogError: admission policies or definitions that do not load.
        DocumentError: there is nothing to judge, or the view cannot be read.
        SettingsError: a flag with an invalid value.
    """
    settings = choices.chosen(options)
    built_in = catalog.load(settings=settings, packs=options.packs)
    there = read_all(options.view)
    crds = read_definitions(options.crds)
    kinds = [*built_in.kinds, *_defined_kinds((*crds, *there))]
    given = _read(options, kinds, options.files)
    if not given.documents and (given.problems or not given.skipped):
        names = ", ".join("stdin" if str(path) == "-" else str(path) for path in options.files)
        raise DocumentError(given.problems or [Problem(names, "", "no object found")])
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
    decided = deciding(options, crds, there, given.documents, before, built_in)
    installed, deviations, unsure = _installed(built_in, decided.documents, given.documents)
    loaded = decided.checked.extend(installed)
    run = _run(options, loaded, decided, there, given.documents, before)
    reviews_there = (
        [] if options.commit is None or options.all else _run(options, loaded, decided, there, before, []).reviews
    )
    _add_repeats(given, run.reviews, strict=options.strict)
    if not any(each.reviewed for each in run.reviews):
        given.problems += excluded(given, options)
    shown = [_explained(each, run.judge.view, settings) for each in run.reviews] if options.verbose else run.reviews

    def judge(document: Document) -> ReviewedManifest:
        return run.judge.review(settled(document))

    @cache  # it compiles the rules of all kinds
    def codes() -> frozenset[str]:
        return loaded.codes()

    remarks = [*decided.remarks, *deviations, *run.judge.remarks]
    view = run.judge.view
    found = Outcomes(shown, remarks, given.problems, given, judge, codes, view, settings, reviews_there, unsure)
    return found._replace(packs=options.packs, assumed=_assumed(run.reviews, run.judge.catalog))


def _assumed(reviews: Iterable[ReviewedManifest], catalog: Catalog) -> dict[str, str]:
    """The releases of operators that nothing names, and that are not the only ones, by API."""
    judged = {kind_of(each.document.value) for each in reviews if each.reviewed}
    kinds = (catalog.uncompiled(gvk) for gvk in sorted(judged & catalog.kinds.keys()))
    releases = catalog.releases()
    return {
        known.api: str(releases[known.api])
        for known in kinds
        if len(known.pack.releases) > 1 and releases[known.api].by == "documented"
    }


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
    decide = Options(profile, strict_fields=True, faults_told=True, complete=closed, settings=choices.chosen(options))
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


def _installed(
    loaded: Catalog, definitions: list[Document], among: Sequence[Document]
) -> tuple[Catalog, list[Problem], bool]:
    """The catalog by these definitions, with a warning about each that differs, and whether a release is not known.

    One ``among`` the files that puts rules aside is also told on standard error: the author of the files may want that.
    """
    judged, deviations = with_installed(loaded, [item.value for item in definitions], trusted=False)
    where = {defined(item.value): f"{item.source}:{item.line}" for item in definitions}
    own = {defined(item.value) for item in among if is_definition(item.value)}
    notable = []
    for each in filter(lambda each: each.is_notable, deviations):
        name = (each.kind.group, each.kind.kind)
        notable.append(Problem(where.get(name, "--release" if each.release else "--crds"), "", str(each)))
        if name in own and (each.aside or each.unserved):
            say(f"{where[name]}: this definition makes the check weaker: {_lost(each)}", sys.stderr)
    return judged, notable, any(each.release for each in deviations)


def _lost(deviation: Deviation) -> str:
    kind = deviation.kind
    return f"{kind} is not checked" if deviation.unserved else f"{len(deviation.aside)} rules of {kind} are not applied"
