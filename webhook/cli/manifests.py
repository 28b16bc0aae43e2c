"""What `check` and `normalise` share: files to requests, and each request through API server and engine."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any, Final, NamedTuple

from webhook import engine
from webhook.admission import Cause, Decision, GroupVersionKind, Request, Warn
from webhook.admission.errors import CatalogError, DocumentError, Problem
from webhook.cli import choices
from webhook.cli.input.before import earlier
from webhook.cli.input.definitions import deciding, defined
from webhook.cli.input.flags import excluded
from webhook.cli.output import say
from webhook.cluster import ClusterView, MemoryView
from webhook.engine import Native, Options, catalog
from webhook.engine.catalog import Catalog, KnownKind
from webhook.engine.installed import Deviation, with_installed
from webhook.facts import COMPARISONS
from webhook.facts.settings import Settings
from webhook.manifests.contents import Contents
from webhook.manifests.documents import Document
from webhook.manifests.folders import read_all
from webhook.manifests.reading import Manifests, Reading, read_paths
from webhook.offline import (
    Definitions,
    applied,
    as_applied,
    is_builtin,
    is_definition,
    kind_of,
    metadata_causes,
    placed,
    read_definitions,
    receive,
    stored_object,
)
from webhook.policy import Profile

__all__ = ["Outcomes", "ReviewedManifest", "Stored", "in_cluster", "outcomes", "review", "title_of"]

Key = tuple[str, str, str, str]
"""Group, kind, namespace and name."""


@dataclass(frozen=True, slots=True)
class ReviewedManifest:
    """One document and the decisions about it.

    ``reviewed`` is False for a kind that neither the catalog nor a policy covers; ``suggestion`` is then a similar kind
    of the catalog. ``comparison`` are lines about the objects among which one is chosen for this one; see ``check -v``.
    """

    document: Document
    reviewed: bool
    mutation: Decision
    validation: Decision
    suggestion: GroupVersionKind | None = None
    comparison: tuple[str, ...] = ()
    base: dict[str, Any] | None = None

    @property
    def merged(self) -> dict[str, Any]:
        """The document as `kubectl apply` merges it with the stored object, before any default."""
        return self.document.value if self.base is None else self.base

    @property
    def title(self) -> str:
        return title_of(self.document.value)


def title_of(value: Mapping[str, Any]) -> str:
    """Kind, namespace and name of an object, as far as it has them."""
    metadata = value.get("metadata")
    if not isinstance(metadata, dict) or not isinstance(metadata.get("name") or metadata.get("generateName"), str):
        return f"{value['kind']} without a name"
    name = metadata.get("name") or f"{metadata['generateName']}…"
    namespace = metadata.get("namespace")
    return f"{value['kind']} {namespace}/{name}" if namespace else f"{value['kind']} {name}"


class Outcomes(NamedTuple):
    """``remarks`` are warnings about the admission policies; ``problems`` are the documents that cannot be read.

    ``given`` is what the paths hold; ``judge`` reviews one more document beside the objects of ``view``; ``codes``
    gives those of all rules.
    """

    reviews: list[ReviewedManifest]
    remarks: list[Problem]
    problems: list[Problem]
    given: Manifests
    judge: Callable[[Document], ReviewedManifest]
    codes: Callable[[], frozenset[str]]
    view: ClusterView
    settings: Settings


@dataclass(frozen=True, slots=True)
class Stored:
    """What a cluster holds already: objects that a file updates, and the definitions that are refused."""

    objects: Mapping[Key, dict[str, Any]] = field(default_factory=dict)
    definitions: Definitions = field(default_factory=lambda: Definitions({}, {}))


NOTHING_STORED: Final = Stored()


def outcomes(options: argparse.Namespace) -> Outcomes:
    """Mutate and validate each document of the files: as on UPDATE if the view has the object, else as on CREATE.

    Raises:
        CatalogError: admission policies or definitions that do not load.
        DocumentError: no object is found, or the view cannot be read.
        SettingsError: a flag with an invalid value.
    """
    settings = choices.chosen(options)
    given = _read(options)
    if not given.documents and (given.problems or not given.skipped):
        names = ", ".join("stdin" if str(path) == "-" else str(path) for path in options.files)
        raise DocumentError(given.problems or [Problem(names, "", "no object found")])
    there = read_all(options.view)
    before = earlier(options.old, options.commit, options.files)
    built_in = catalog.load(settings=settings)
    beside = [*read_definitions(options.crds), *there]
    decided = deciding(options, beside, given.documents, before, built_in)
    installed, deviations = _installed(built_in, decided.documents, given.documents)
    loaded = decided.checked.extend(installed)
    real = {_key(each): each for each in in_cluster(there, loaded)}
    decide = Options(Profile(options.profile or Profile.STANDARD), strict_fields=True, settings=settings)
    previous = applied_before(before, loaded, decide)
    stored = Stored({**{_key(each): each for each in previous}, **real}, decided.checked)
    objects = [*real.values(), *in_cluster(given.documents, loaded, stored)]
    native, remarks = _native(options.admission_policies, loaded, objects)
    closed = options.references == "closed" or (options.references is None and bool(options.view))
    decide = replace(decide, complete=closed, native=native)
    view = MemoryView(objects)

    def judge(document: Document) -> ReviewedManifest:
        return review(document, loaded, view, decide, stored)

    found = [judge(item) for item in given.documents]
    if not any(each.reviewed for each in found):
        given.problems += excluded(given, options)
    shown = [_compared(each, view, settings) for each in found] if options.verbose else found

    @cache  # it compiles the rules of all kinds
    def codes() -> frozenset[str]:
        return frozenset(code for kind in loaded.kinds.values() for code in kind.policy.codes)

    remarks = [*decided.remarks, *deviations, *remarks]
    return Outcomes(shown, remarks, given.problems, given, judge, codes, view, settings)


def _read(options: argparse.Namespace) -> Manifests:
    how = Reading(lenient=bool(options.manifests_only), exclude=tuple(options.exclude))
    given = read_paths(options.files, how)
    if not options.kustomize:
        return given
    from webhook.cli.input.kustomize import built  # noqa: PLC0415 - most calls start no program

    return built(given)


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


def _native(
    folder: Path | Contents | None, loaded: Catalog, objects: list[dict[str, Any]]
) -> tuple[Native | None, list[Problem]]:
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


def applied_before(found: Sequence[Document], loaded: Catalog, options: Options) -> Iterator[dict[str, Any]]:
    """Earlier files as a cluster stores them after `kubectl apply`: normalised, and annotated with the file."""
    view = MemoryView(in_cluster(found, loaded))
    for document in found:
        kind = loaded.find(kind_of(document.value))
        received = receive(document.value, kind)
        if not received.object["metadata"].get("name"):
            continue
        decided = engine.mutate(_request(received.object, kind, None), loaded, view, options)
        yield stored_object(as_applied(decided.object or received.object, document.value), kind)


def in_cluster(found: Iterable[Document], loaded: Catalog, stored: Stored = NOTHING_STORED) -> Iterator[dict[str, Any]]:
    """The objects that others can refer to, as a cluster stores them; the last one of a name counts."""
    for item in found:
        kind = loaded.find(kind_of(item.value))
        old = stored.objects.get(_key(placed(item.value, kind)))
        obj = stored_object(item.value if old is None else applied(old, item.value), kind)
        if obj["metadata"].get("name"):
            yield obj


def _key(obj: dict[str, Any]) -> Key:
    metadata, gvk = obj["metadata"], kind_of(obj)
    return gvk.group, gvk.kind, metadata.get("namespace", ""), metadata.get("name", "")


def review(
    document: Document, loaded: Catalog, view: ClusterView, options: Options, stored: Stored = NOTHING_STORED
) -> ReviewedManifest:
    """Review one document as an object that is being created, or updated if it is stored."""
    value = document.value
    gvk = kind_of(value)
    kind = loaded.find(gvk)
    unserved = _unserved(gvk, loaded)
    if unserved is not None:
        return ReviewedManifest(document, True, Decision(value), Decision(value, (unserved,)))
    suggestion = loaded.nearest(gvk) if kind is None else None
    if kind is None and options.native is None and not is_definition(value):
        return ReviewedManifest(document, False, Decision(value), Decision(value), suggestion)
    mutation, validation = _decisions(document, kind, loaded, view, options, stored)
    unknown = () if kind is not None or is_builtin(gvk) else (_without_schema(gvk, suggestion),)
    validation = replace(validation, warnings=(*validation.warnings, *unknown))
    old = stored.objects.get(_key(placed(value, kind)))
    base = None if old is None else applied(old, value)
    return ReviewedManifest(document, True, _as_written(mutation, value), validation, base=base)


def _unserved(gvk: GroupVersionKind, loaded: Catalog) -> Cause | None:
    """The refusal of a kind or version that no definition of its group has, in kubectl's words."""
    group = sorted(known for known in loaded.kinds if known.group == gvk.group)
    if not group or gvk in group:
        return None
    text = f'no matches for kind "{gvk.kind}" in version "{gvk.group}/{gvk.version}"'
    versions = [known.version for known in group if known.kind == gvk.kind]
    if versions:
        return Cause("apiVersion", "FieldValueNotFound", f"{text}: use {' or '.join(versions)}")
    meant = loaded.nearest(gvk)
    suggestion = f"did you mean {meant.kind}? Otherwise give" if meant and meant.group == gvk.group else "give"
    return Cause("kind", "FieldValueNotFound", f"{text}: {suggestion} its CustomResourceDefinition with --crds")


def _without_schema(gvk: GroupVersionKind, suggestion: GroupVersionKind | None) -> Warn:
    meant = f"; did you mean {suggestion.group}/{suggestion.version} {suggestion.kind}?" if suggestion else ""
    return Warn("", f"only policies are evaluated: the schema of {gvk.kind} is not known; use --crds{meant}")


def _decisions(
    document: Document,
    kind: KnownKind | None,
    loaded: Catalog,
    view: ClusterView,
    options: Options,
    stored: Stored,
) -> tuple[Decision, Decision]:
    """The mutation, and the validation with everything that the API server refuses."""
    value = document.value
    old = stored.objects.get(_key(placed(value, kind)))
    received = receive(value if old is None else applied(old, value), kind, old)
    request = _request(received.object, kind, old)
    if not received.readable:
        return Decision(received.object), Decision(received.object, received.causes, received.warnings)
    mutation = engine.mutate(request, loaded, view, options)
    obj = mutation.object or received.object
    metadata = metadata_causes(obj, kind, old)
    causes = [*received.causes, *metadata, *stored.definitions.refused.get(id(document), ())]
    validation = mutation
    if mutation.allowed:
        validation = engine.validate(replace(request, object=obj), loaded, view, options)
    if kind is not None:
        loaded.prepared(kind).prepare_if_due()
    causes += [cause for cause in validation.causes if cause not in causes]
    return mutation, replace(validation, causes=tuple(causes), warnings=(*received.warnings, *validation.warnings))


def _as_written(mutation: Decision, value: dict[str, Any]) -> Decision:
    """The decision without the namespace, if the file leaves that to kubectl."""
    obj, metadata = mutation.object, value.get("metadata")
    if obj is None or (isinstance(metadata, dict) and metadata.get("namespace")):
        return mutation
    metadata = {key: item for key, item in obj["metadata"].items() if key != "namespace"}
    return replace(mutation, object={**obj, "metadata": metadata})


def _request(obj: dict[str, Any], kind: KnownKind | None, old: dict[str, Any] | None) -> Request:
    """The request that the API server makes of a POST or PATCH."""
    gvk, metadata = kind_of(obj), obj["metadata"]
    name = metadata.get("name", "")
    namespace = name if (gvk.group, gvk.kind) == ("", "Namespace") else metadata.get("namespace", "")
    resource = _plural(gvk) if kind is None else kind.plural
    operation = "CREATE" if old is None else "UPDATE"
    return Request(gvk, resource, operation, obj, old, name=name, namespace=namespace)


def _plural(gvk: GroupVersionKind) -> str:
    from webhook.vap import resource_of_kind  # noqa: PLC0415 - as above

    return resource_of_kind(gvk).name
