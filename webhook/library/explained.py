"""Where the fields of an object come from: what the gate and the API server change, and what was chosen for it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from webhook.admission import Default, patch
from webhook.admission.stamp import ANNOTATION
from webhook.catalog import Catalog
from webhook.cluster import ClusterView, Kind
from webhook.engine import fit_tables
from webhook.facts import EXPLANATIONS, Table
from webhook.facts.settings import Settings
from webhook.ground.fieldpath import field_keys, field_path
from webhook.library.apiserver import kind_of, placed
from webhook.library.review import Key, ReviewedManifest, key_of
from webhook.library.rulings import JudgedAs
from webhook.manifests.documents import Document

Keys = tuple[str | int, ...]
RefusalOf = Callable[[Key], str]
"""Why an object is itself refused; "" if it is not, or not judged."""

_HEAD: Final = frozenset({"apiVersion", "kind", "metadata", "status"})
_SCHEMA: Final = "default of the CRD's schema"


@dataclass(frozen=True, slots=True)
class Change:
    """``operation`` is ``add``, ``replace`` or ``remove``; ``code`` is "" for what the schema does."""

    operation: str
    path: str
    value: Any
    reason: str
    code: str = ""


def changes(written: Mapping[str, Any], stored: Mapping[str, Any], defaults: Sequence[Default]) -> list[Change]:
    """The changes, but for the stamp and what the API server assigns."""
    reasons = {each.path: each for each in defaults}
    found = []
    for operation, keys, new in patch.steps(_body(written), _body(stored)):
        for leaf, value in leaves(tuple(keys), new):
            found.append(_change(operation, field_path(leaf), value, reasons))
    return found


def _body(obj: Mapping[str, Any]) -> dict[str, Any]:
    """The object without what no default of a rule or a schema fills in."""
    body = {key: value for key, value in obj.items() if key not in {"metadata", "status"}}
    metadata = obj.get("metadata")
    named = {key: metadata.get(key) for key in ("annotations", "labels")} if isinstance(metadata, Mapping) else {}
    texts = {
        key: {name: text for name, text in named_texts.items() if name != ANNOTATION}
        for key, named_texts in named.items()
        if isinstance(named_texts, Mapping)
    }
    return {**body, "metadata": {"annotations": {}, "labels": {}, **texts}}


def _change(operation: str, path: str, value: Any, reasons: Mapping[str, Default]) -> Change:
    default = reasons.get(path)
    if operation == "remove":
        because = default.because if default else "null counts as absent"
        return Change(operation, path, None, because, default.code if default else "")
    if default is None or not default.code:
        return Change(operation, path, value, _SCHEMA)
    return Change(operation, path, value, default.because, default.code)


@dataclass(frozen=True, slots=True)
class Origin:
    """A leaf of the object as it would be stored. ``origin`` is a place of a file, the reason of a default, or the
    stored object; ``path`` has the keys of ``field``.
    """

    path: tuple[str | int, ...]
    value: Any
    origin: str

    @property
    def field(self) -> str:
        return field_path(self.path)


@dataclass(frozen=True, slots=True)
class Explanation:
    """``tables`` compare what could be chosen, such as the runtimes of an InferenceService, the best first.

    ``judged_as`` is the release of the operator that this is true of; None if it has no releases.
    """

    title: str
    tables: tuple[Table, ...]
    fields: tuple[Origin, ...]
    judged_as: JudgedAs | None = None


def explained(
    outcome: ReviewedManifest,
    view: ClusterView,
    settings: Settings,
    catalog: Catalog,
    refusal_of: RefusalOf = lambda _: "",
) -> Explanation:
    """The explanation of an object. Candidates of a choice are also said to be refused where ``refusal_of`` says so."""
    tables = tuple(_with_refusals(table, outcome, refusal_of) for table in _tables(outcome, view, settings, catalog))
    return Explanation(outcome.title, tables, tuple(_origins(outcome)), outcome.judged_as)


def _with_refusals(table: Table, outcome: ReviewedManifest, refusal_of: RefusalOf) -> Table:
    """The table of a choice. An operator would choose a candidate of the files that a cluster does not store."""
    if not table.of:
        return table
    group, _, namespace, _ = key_of(placed(outcome.document.value, None))

    def row_of(row: tuple[str, ...]) -> tuple[str, ...]:
        rank, name, kind, score, reason = row
        refusals = (refusal_of((group, kind, where, name)) for where in ("", namespace) if rank != "-")
        refusal = next(filter(None, refusals), "")
        return (rank, name, kind, score, ", but ".join(filter(None, (reason, refusal and f"refused: {refusal}"))))

    return replace(table, rows=tuple(map(row_of, table.rows)))


def _tables(outcome: ReviewedManifest, view: ClusterView, settings: Settings, catalog: Catalog) -> Iterator[Table]:
    value = outcome.merged
    gvk = kind_of(value)
    explain = EXPLANATIONS.get(Kind(gvk.group, gvk.kind))
    if not isinstance(outcome.document.value.get("metadata"), dict):
        return
    kind = catalog.find(gvk)
    if explain is not None:
        yield from explain(placed(value, None), view, settings if kind is None else kind.completed(settings))
    if kind is not None:
        yield from fit_tables(kind, placed(outcome.mutation.object or value, kind), view, settings)


def _origins(outcome: ReviewedManifest) -> Iterator[Origin]:
    """The origin of each leaf outside of metadata, and of what is filled in there."""
    document, stored = outcome.document, outcome.mutation.object or outcome.document.value
    filled = {each.path: each for each in changes(outcome.merged, stored, outcome.mutation.defaults)}
    for path, value in leaves((), {key: stored[key] for key in stored if key not in _HEAD}, lists=True):
        yield Origin(path, value, _origin(field_path(path), document, filled))
    for change in filled.values():
        if change.path.startswith("metadata.") and change.operation != "remove":
            yield Origin(tuple(field_keys(change.path)), change.value, _origin(change.path, document, filled))


def _origin(path: str, document: Document, filled: dict[str, Change]) -> str:
    change = filled.get(path)
    if change is not None:
        return f"{change.reason} ({change.code})" if change.code else change.reason
    if document.tree is None:
        return document.source
    if document.written(path) is None:
        return "the stored object"
    place = document.place(path)
    return f"{document.source}:{place.line}:{place.column}"


def leaves(path: Keys, value: Any, *, lists: bool = False) -> Iterator[tuple[Keys, Any]]:
    """The values below a path that hold no others; ``lists``: the items of a list, and not the list."""
    if isinstance(value, dict) and value:
        for key, item in value.items():
            yield from leaves((*path, key), item, lists=lists)
    elif lists and isinstance(value, list) and value:
        for index, item in enumerate(value):
            yield from leaves((*path, index), item, lists=lists)
    else:
        yield path, value
