"""Where each field of an object comes from, and what was chosen for it among other objects."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from webhook.cluster import ClusterView, Kind
from webhook.facts import EXPLANATIONS, Table
from webhook.facts.settings import Settings
from webhook.ground.fieldpath import field_path
from webhook.library.apiserver import kind_of, placed
from webhook.library.changes import Change, changes
from webhook.library.review import ReviewedManifest
from webhook.manifests.documents import Document

__all__ = ["Explanation", "Origin", "explained"]

_HEAD: Final = frozenset({"apiVersion", "kind", "metadata", "status"})


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
    """``tables`` compare what could be chosen, such as the runtimes of an InferenceService, the best first."""

    title: str
    tables: tuple[Table, ...]
    fields: tuple[Origin, ...]


def explained(outcome: ReviewedManifest, view: ClusterView, settings: Settings) -> Explanation:
    return Explanation(outcome.title, tuple(_tables(outcome, view, settings)), tuple(_origins(outcome)))


def _tables(outcome: ReviewedManifest, view: ClusterView, settings: Settings) -> Iterator[Table]:
    value = outcome.merged
    gvk = kind_of(value)
    explain = EXPLANATIONS.get(Kind(gvk.group, gvk.kind))
    if explain is not None and isinstance(outcome.document.value.get("metadata"), dict):
        yield from explain(placed(value, None), view, settings)


def _origins(outcome: ReviewedManifest) -> Iterator[Origin]:
    """The origin of each leaf outside of metadata."""
    document, stored = outcome.document, outcome.mutation.object or outcome.document.value
    filled = {each.path: each for each in changes(outcome.merged, stored, outcome.mutation.defaults)}
    for path, value in _leaves((), {key: stored[key] for key in stored if key not in _HEAD}):
        yield Origin(path, value, _origin(field_path(path), document, filled))


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


def _leaves(path: tuple[str | int, ...], value: Any) -> Iterator[tuple[tuple[str | int, ...], Any]]:
    if isinstance(value, dict) and value:
        for key, item in value.items():
            yield from _leaves((*path, key), item)
    elif isinstance(value, list) and value:
        for index, item in enumerate(value):
            yield from _leaves((*path, index), item)
    else:
        yield path, value
