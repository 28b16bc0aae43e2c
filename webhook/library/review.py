"""Review one manifest: the API server's part and the engine's, as if it were created or applied."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import PurePath
from typing import Any, Final, NamedTuple

from webhook import engine
from webhook.admission import Cause, Decision, GroupVersionKind, Request
from webhook.admission.errors import Fault
from webhook.catalog import Catalog, KnownKind
from webhook.children import Child
from webhook.cluster import ClusterView
from webhook.engine import KUBERNETES_CODES, Options
from webhook.golang.names import with_generated_name
from webhook.ground.budget import SpentError
from webhook.ground.fieldpath import field_path
from webhook.library.apiserver import (
    Definitions,
    applied,
    as_applied,
    builtin_causes,
    defaulted,
    is_definition,
    is_judged,
    kind_of,
    metadata_causes,
    placed,
    receive,
    replicas_causes,
    stored_object,
)
from webhook.library.kinds import as_meant, unserved, why_unchecked, without_rules, without_schema
from webhook.library.rulings import JudgedAs
from webhook.library.unknown import NOTHING, Narrowing, Undecided, Unjudged, World
from webhook.manifests.documents import Document

Key = tuple[str, str, str, str]
"""Group, kind, namespace and name."""


@dataclass(frozen=True, slots=True)
class ReviewedManifest:
    """One document and the decisions about it.

    ``reviewed`` is False for a kind that neither the catalog nor a policy covers; ``unchecked`` then says why.
    ``unknown`` are the values that are not judged, because Flux substitutes or SOPS encrypts them. ``comparison`` are
    lines about the objects among which one is chosen for this one; see ``check -v``. ``judged_as`` is the release by
    which it is judged; None if its operator has no releases. ``describe`` gives the objects that the operator makes of
    it, as far as they are described.
    """

    document: Document
    reviewed: bool
    mutation: Decision
    validation: Decision
    unchecked: str = ""
    comparison: tuple[str, ...] = ()
    base: dict[str, Any] | None = None
    unknown: tuple[str, ...] = ()
    judged_as: JudgedAs | None = None
    describe: Callable[[], Sequence[Child]] = field(default=tuple, repr=False, compare=False)

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


@dataclass(frozen=True, slots=True)
class Stored:
    """What a cluster holds already: objects that a file updates, and the definitions that are refused.

    ``world`` are the unknown values of all objects among the files.
    """

    objects: Mapping[Key, dict[str, Any]] = field(default_factory=dict)
    definitions: Definitions = field(default_factory=lambda: Definitions({}, {}))
    world: World = field(default_factory=World)


class Decided(NamedTuple):
    """The request that the API server makes of an object, and the two decisions about it."""

    request: Request
    mutation: Decision
    validation: Decision


NOTHING_STORED: Final = Stored()


def applied_before(
    given: Iterable[Document], loaded: Catalog, view: ClusterView, options: Options
) -> Iterator[dict[str, Any]]:
    """Earlier files as a cluster stores them after `kubectl apply`: normalised, and annotated with the file."""
    for document in given:
        kind = loaded.find(kind_of(document.value))
        received = receive(_filled(document, kind), kind)
        if not received.object["metadata"].get("name"):
            continue
        decided = engine.mutate(_request(received.object, kind, None), loaded, view, options)
        yield stored_object(as_applied(decided.object or received.object, _filled(document, kind)), kind)


def in_cluster(found: Iterable[Document], loaded: Catalog, stored: Stored = NOTHING_STORED) -> Iterator[dict[str, Any]]:
    """The objects that others can refer to, as a cluster stores them; the last one of a name counts.

    One whose kind is misspelt is of the kind that is meant: that is one fault, not also that of each reference to it.
    """
    for document in found:
        item = replace(document, value=as_meant(document.value, loaded))
        kind = loaded.find(kind_of(item.value))
        value = _filled(item, kind)
        old = stored.objects.get(key_of(placed(value, kind)))
        obj = stored_object(value if old is None else applied(old, value), kind)
        if obj["metadata"].get("name"):
            yield obj


def _filled(document: Document, kind: KnownKind | None) -> dict[str, Any]:
    """The object with stand-ins for its unknown values."""
    return Unjudged.of(document.value, kind, World()).stand_in(document.value)


def key_of(obj: dict[str, Any]) -> Key:
    metadata, gvk = obj["metadata"], kind_of(obj)
    return gvk.group, gvk.kind, metadata.get("namespace", ""), metadata.get("name", "")


def review(
    document: Document,
    loaded: Catalog,
    view: ClusterView,
    options: Options,
    stored: Stored = NOTHING_STORED,
    *,
    strict_kinds: bool = False,
) -> ReviewedManifest:
    """Review one document as an object that is being created, or updated if it is stored.

    ``strict_kinds`` refuses a kind that has no definition, which is otherwise not reviewed.
    """
    found = _reviewed(document, loaded, view, options, stored, strict_kinds=strict_kinds)
    if not document.repeats:
        return found
    repeats = (Cause(field_path(each.path), "FieldValueDuplicate", each.message) for each in document.repeats)
    return replace(found, validation=replace(found.validation, causes=(*repeats, *found.validation.causes)))


def _reviewed(
    document: Document,
    loaded: Catalog,
    view: ClusterView,
    options: Options,
    stored: Stored,
    *,
    strict_kinds: bool,
) -> ReviewedManifest:
    value = document.value
    gvk = kind_of(value)
    kind = loaded.find(gvk)
    if why := stored.definitions.contested.get((gvk.group, gvk.kind)):
        return ReviewedManifest(document, False, Decision(value), Decision(value), why)
    refusal = unserved(gvk, loaded, stored.definitions.crds, strict=strict_kinds)
    if refusal is not None:
        return ReviewedManifest(document, True, Decision(value), Decision(value, (refusal,)))
    if kind is None and options.native is None and not is_definition(value) and not _is_whole(document):
        return ReviewedManifest(document, False, Decision(value), Decision(value), why_unchecked(gvk, loaded))
    unjudged = Unjudged.of(value, kind, stored.world)
    judged = unjudged.stand_in(value)
    old = stored.objects.get(key_of(placed(judged, kind)))
    if unjudged.unknown:
        options = replace(options, native=None)
    sent = judged if old is None else applied(old, judged)
    refused = stored.definitions.refused.get(id(document), ())
    narrowing, undecided = unjudged.narrowing(loaded, sent, old, view, options.settings), NOTHING
    if narrowing is None:
        _, mutation, validation = decide(sent, old, kind, loaded, view, options, refused=refused)
    else:
        found, undecided = _narrowed(narrowing, options, refused)
        _, mutation, validation = found
    if kind is not None:
        loaded.prepared(kind).prepare_if_due()
    mutation, validation = (unjudged.decided(each, judged, value, undecided) for each in (mutation, validation))
    more = (*without_schema(gvk, loaded), *without_rules(gvk, loaded))
    validation = replace(validation, warnings=(*validation.warnings, *more))
    base = None if old is None else unjudged.written(applied(old, judged), value)
    unknown = tuple(unjudged.unknown.values())
    return ReviewedManifest(document, True, _as_written(mutation, value), validation, base=base, unknown=unknown)


def _is_whole(document: Document) -> bool:
    """Whether an object's kind is judged as Kubernetes does, and it is not a part that patches another object."""
    return is_judged(document.value) and "patch" not in PurePath(document.source).name.lower()


def _narrowed(narrowing: Narrowing, options: Options, refused: Iterable[Cause]) -> tuple[Decided, Undecided]:
    """The decision by what unknown values do not decide.

    What they decide is seen in the object with its defaults, and which these are depends on it: so both are repeated
    until nothing more is undecided.
    """
    sent, old, view = narrowing.sent, narrowing.old, narrowing.view
    undecided = narrowing.undecided(sent)
    while True:
        catalog = narrowing.narrowed(undecided)
        decided = decide(sent, old, catalog.find(narrowing.kind.gvk), catalog, view, options, refused=refused)
        more = narrowing.undecided(decided.mutation.object or sent, undecided)
        if more == undecided:
            return decided, undecided
        undecided = more


def decide(
    value: dict[str, Any],
    old: dict[str, Any] | None,
    kind: KnownKind | None,
    loaded: Catalog,
    view: ClusterView,
    options: Options,
    *,
    assigned: bool = False,
    refused: Iterable[Cause] = (),
) -> Decided:
    """The mutation of a value, and the validation with everything that the API server refuses.

    ``old`` is what is stored (:func:`stored_object`), ``refused`` what is known to be wrong already, ``assigned`` as
    for :func:`receive`.
    """
    received = receive(value, kind, old, assigned=assigned)
    if kind is None and options.native is not None and not received.causes:  # policies see what is filled in
        received = replace(received, object=defaulted(received.object))
    request = _request(received.object, kind, old)
    if not received.readable:
        unread = Decision(received.object, received.causes, received.warnings)
        return Decided(request, Decision(received.object), unread)
    mutation = engine.mutate(request, loaded, view, options)
    obj = mutation.object or received.object
    metadata = metadata_causes(obj, kind, old)
    causes = [*received.causes, *metadata, *replicas_causes(obj, kind), *refused]
    if kind is None and not received.causes and not is_definition(value):
        causes += builtin_causes(obj, old)
    validation = mutation
    if mutation.allowed:
        named = with_generated_name(obj)  # the API server does so between both calls
        about = replace(request, object=named, name=request.name if named is obj else named["metadata"]["name"])
        validation = engine.validate(about, loaded, view, options)
    said = {cause.field for cause in metadata}
    causes += [each for each in validation.causes if each not in causes and not (each.code and each.field in said)]
    warnings = [warn for warn in validation.warnings if not (warn.field in said and warn.code in KUBERNETES_CODES)]
    overruled = [warn for warn in mutation.warnings if warn.code]
    found = replace(validation, causes=tuple(causes), warnings=(*received.warnings, *overruled, *warnings))
    return Decided(request, mutation, found)


def described(outcome: ReviewedManifest, loaded: Catalog, view: ClusterView, options: Options) -> Sequence[Child]:
    """What the operator makes of the reviewed object with its defaults; nothing of one that cannot be judged."""
    value = outcome.mutation.object or outcome.merged
    kind = loaded.find(kind_of(value))
    if kind is None or not kind.policy.children or not outcome.reviewed:
        return ()
    received = receive(value, kind)
    if not received.readable:
        return ()
    try:
        return engine.described(_request(received.object, kind, None), loaded, view, replace(options, native=None))
    except (Fault, SpentError):
        return ()


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
    from webhook.vap import resource_of_kind  # noqa: PLC0415 - loaded for kinds that are not ours

    return resource_of_kind(gvk).name
