"""What `check` and `normalise` share: files to requests, and each request through API server and engine."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from webhook.admission import GroupVersionKind
from webhook.admission.errors import CatalogError, DocumentError, Problem
from webhook.cli import choices
from webhook.cli.input.before import earlier
from webhook.cli.input.kustomize import built
from webhook.cli.judging import ReviewedManifest, Stored, applied_before, in_cluster, key_of, review
from webhook.cli.judging.kinds import concerns
from webhook.cluster import ClusterView, MemoryView
from webhook.engine import Native, Options, catalog
from webhook.engine.catalog import Catalog
from webhook.engine.installed import with_installed
from webhook.facts import COMPARISONS
from webhook.facts.settings import Settings
from webhook.manifests.documents import Document
from webhook.manifests.folders import read_all
from webhook.manifests.private import user_cache
from webhook.manifests.reading import Manifests, Reading, read_paths
from webhook.offline import Definitions, is_definition, kind_of, placed, read_definitions
from webhook.offline.unknown import World, prepared
from webhook.policy import Profile

__all__ = ["Outcomes", "ReviewedManifest", "Stored", "in_cluster", "outcomes", "review"]


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
    built_in = catalog.load(settings=settings, cache=user_cache(os.environ))
    there = read_all(options.view)
    crds = read_definitions(options.crds)
    given = _read(options, [*built_in.kinds, *_defined_kinds((*crds, *there))])
    if not given.documents and (given.problems or not given.skipped):
        names = ", ".join("stdin" if str(path) == "-" else str(path) for path in options.files)
        raise DocumentError(given.problems or [Problem(names, "", "no object found")])
    given.documents = [prepared(each) for each in given.documents]
    before = [prepared(each) for each in earlier(options.old, options.git, options.files)]
    run = _run(options, built_in, crds, there, given.documents, before)
    at_commit = _run(options, built_in, crds, there, before, []).reviews if options.git and not options.all else []
    built_in.keep()
    found = run.reviews
    shown = [_compared(each, run.view, settings) for each in found] if options.verbose else found

    def judge(document: Document) -> ReviewedManifest:
        return run.judge(prepared(document))

    @cache  # it compiles the rules of all kinds
    def codes() -> frozenset[str]:
        return frozenset(code for kind in run.loaded.kinds.values() for code in kind.policy.codes)

    return Outcomes(shown, run.remarks, given.problems, given, judge, codes, run.view, settings, at_commit)


class _Run(NamedTuple):
    """The review of some files: what :class:`Outcomes` says of them, and the catalog by their definitions."""

    reviews: list[ReviewedManifest]
    remarks: list[Problem]
    judge: Callable[[Document], ReviewedManifest]
    view: ClusterView
    loaded: Catalog


def _run(
    options: argparse.Namespace,
    built_in: Catalog,
    crds: Sequence[Document],
    there: Sequence[Document],
    given: Sequence[Document],
    before: Sequence[Document],
) -> _Run:
    """Review files under definitions and beside objects that are ``there``, as updates of those ``before``."""
    settings = choices.chosen(options)
    defining = [item for item in (*crds, *there, *given) if is_definition(item.value)]
    definitions = Definitions.among(defining)
    installed, deviations = _installed(built_in, defining)
    loaded = definitions.extend(installed)
    real = {key_of(each): each for each in in_cluster(there, loaded)}
    decide = Options(Profile(options.profile or Profile.STANDARD), strict_fields=True, settings=settings)
    previous = applied_before(before, loaded, decide)
    world = World.of(item.value for item in (*there, *given))
    stored = Stored({**{key_of(each): each for each in previous}, **real}, definitions, world)
    objects = [*real.values(), *in_cluster(given, loaded, stored)]
    native, remarks = _native(options.admission_policies, loaded, objects)
    closed = options.references == "closed" or (options.references is None and bool(options.view))
    decide = replace(decide, complete=closed, native=native)
    view = MemoryView(objects)

    def judge(document: Document) -> ReviewedManifest:
        return review(document, loaded, view, decide, stored, strict_kinds=options.unknown_kinds == "error")

    return _Run([judge(item) for item in given], [*deviations, *remarks], judge, view, loaded)


def _read(options: argparse.Namespace, kinds: Collection[GroupVersionKind]) -> Manifests:
    """What the paths hold. A file that cannot be read is a problem if it may hold an object of these kinds."""
    exclude = tuple(options.exclude)
    how = Reading(lenient=True, exclude=exclude, concerns=_always if options.strict else concerns(kinds))
    given = read_paths(options.files, how)
    return built(given) if options.kustomize else given


def _always(_: bytes) -> bool:
    return True


def _defined_kinds(found: Iterable[Document]) -> Iterator[GroupVersionKind]:
    """The kinds that definitions define, of any version."""
    for each in found:
        if is_definition(each.value):
            yield GroupVersionKind(_defined(each.value)[0], "", _defined(each.value)[1])


def _compared(outcome: ReviewedManifest, view: ClusterView, settings: Settings) -> ReviewedManifest:
    """The outcome with the candidates for what was chosen, compared."""
    gvk = kind_of(outcome.document.value)
    compare = COMPARISONS.get((gvk.group, gvk.kind))
    if compare is None or not isinstance(outcome.document.value.get("metadata"), dict):
        return outcome
    return replace(outcome, comparison=tuple(compare(placed(outcome.document.value, None), view, settings)))


def _installed(loaded: Catalog, definitions: list[Document]) -> tuple[Catalog, list[Problem]]:
    """The catalog by these definitions, with a warning about each that is of another release."""
    judged, deviations = with_installed(loaded, [item.value for item in definitions], trusted=False)
    where = {_defined(item.value): f"{item.source}:{item.line}" for item in definitions}
    notable = [each for each in deviations if each.is_notable]
    return judged, [Problem(where.get((each.kind.group, each.kind.kind), "--crds"), "", str(each)) for each in notable]


def _defined(definition: Mapping[str, Any]) -> tuple[str, str]:
    """The group and the kind of a definition, as far as it names them."""
    spec = definition.get("spec")
    names = spec.get("names") if isinstance(spec, dict) else None
    return (
        (str(spec.get("group")), str(names.get("kind")))
        if isinstance(spec, dict) and isinstance(names, dict)
        else ("", "")
    )


def _native(folder: Path | None, loaded: Catalog, objects: list[dict[str, Any]]) -> tuple[Native | None, list[Problem]]:
    """The admission policies of a folder, over the objects given, with warnings about them.

    Raises:
        CatalogError: a policy does not load, or there is none.
    """
    if folder is None:
        return None, []
    from webhook.engine import policyset  # noqa: PLC0415 - the language of native policies takes 40 ms
    from webhook.engine.context import Offline  # noqa: PLC0415

    policies = policyset.load(folder)
    if not policies:
        nothing = "no ValidatingAdmissionPolicy or MutatingAdmissionPolicy found"
        raise CatalogError([*policies.foreign, Problem(str(folder), "", nothing)])
    context = Offline(loaded, [*policies.objects, *objects], assume=True)
    return Native(policies.policies, context), policies.remarks(loaded)
