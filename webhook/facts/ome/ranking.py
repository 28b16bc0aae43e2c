"""How each behaviour selects a runtime: which runtimes match, which entries are scored, and how they are ordered."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from webhook.facts.nodes import Memo, Referent, items, text, whole
from webhook.facts.ome.formats import (
    FACETS,
    Facets,
    label_of,
    lenient_fits,
    matches,
    sort_of,
    supported,
    unsupported,
)
from webhook.facts.ome.notation import range_of, version_fits
from webhook.facts.settings import Behaviour


@dataclass(frozen=True, slots=True)
class Ranking:
    """The decisions of one behaviour. Models and the entries of runtimes are given as their facets.

    ``sort`` is equal for a model and every entry that matches it; ``sorts`` are those of a runtime. ``supports``:
    whether a runtime matches a model; ``reason``: why it does not, "" if it does. ``chosen`` are the entries that are
    scored. ``rank`` is the sort key of a runtime.
    """

    sort: Callable[[Facets], Hashable]
    sorts: Callable[[dict[str, Any]], frozenset[Hashable]]
    supports: Callable[[Facets, Sequence[Facets]], bool]
    reason: Callable[[Facets, Sequence[Facets]], str]
    chosen: Callable[[Facets, Referent], list[dict[str, Any]]]
    rank: Callable[[Any, Referent, int], tuple[Any, ...]]
    scored: bool = True


# The decisions of upstream's newest code


def _head_chosen(_: Facets, runtime: Referent) -> list[dict[str, Any]]:
    """All entries except ``autoSelect: false``, if any entry has ``true``, even an entry for other models."""
    entries = items(runtime.spec, "supportedModelFormats")
    if not any(entry.get("autoSelect") is True for entry in entries):
        return []
    return [entry for entry in entries if entry.get("autoSelect") is not False]


def _head_rank(model: Any, runtime: Referent, score: int) -> tuple[Any, ...]:
    """If the model has a size, a runtime without a range comes first, then the narrowest range."""
    sizes = range_of(runtime.spec)
    width = sizes.width if sizes and text(model, "modelParameterSize") else 0.0
    return -score, width, runtime.name


# The decisions of Modelgate


def _our_chosen(model: Facets, runtime: Referent) -> list[dict[str, Any]]:
    """The entries that match the model and have autoSelect."""
    entries = zip(items(runtime.spec, "supportedModelFormats"), FACETS(runtime.object), strict=True)
    return [
        entry for entry, facets in entries if entry.get("autoSelect") is True and matches(model, facets, lenient_fits)
    ]


def _our_rank(model: Any, runtime: Referent, score: int) -> tuple[Any, ...]:
    """If the model has a size, a matching range comes before no range, and the narrower range first."""
    sizes = range_of(runtime.spec)
    width = sizes.width if sizes and text(model, "modelParameterSize") else math.inf
    return -score, width, runtime.name


# The decisions of the code at the time of the API document


def _doc_supports(model: Facets, entries: Sequence[Facets]) -> bool:
    """Compare the labels as exact text, so 1 is not 1.0.0."""
    return label_of(model) in map(label_of, entries)


def _doc_reason(model: Facets, entries: Sequence[Facets]) -> str:
    if _doc_supports(model, entries):
        return ""
    return f"model format '{label_of(model)}' not in supported formats {[label_of(entry) for entry in entries]}"


def _doc_chosen(_: Facets, runtime: Referent) -> list[dict[str, Any]]:
    return [entry for entry in items(runtime.spec, "supportedModelFormats") if entry.get("autoSelect") is True]


def _doc_rank(model: Any, runtime: Referent, _: int) -> tuple[Any, ...]:
    """A range before no range, then the priority of the first entry with the (deprecated) format name, then age."""
    name = text(model, "modelFormat", "name")
    entries = items(runtime.spec, "supportedModelFormats")
    named = next((entry for entry in entries if text(entry, "name") == name), {})
    priority = whole(named, "priority")
    unranged = range_of(runtime.spec) is None
    return unranged, priority is None, -(priority or 0), _newest_first(runtime), runtime.name


def _newest_first(runtime: Referent) -> tuple[int, ...]:
    """Sort the newest first: creation times have one format, so the negated bytes sort in reverse order."""
    created = text(runtime.object, "metadata", "creationTimestamp")
    return tuple(-byte for byte in created.encode())


def _sorts(sort: Callable[[Facets], Hashable]) -> Memo[frozenset[Hashable]]:
    return Memo(lambda runtime: frozenset(map(sort, FACETS(runtime))))


_SORTS: Final = _sorts(sort_of)

RANKINGS: Final = {
    Behaviour.RECOMMENDED: Ranking(
        sort_of,
        _SORTS,
        partial(supported, fits=lenient_fits),
        partial(unsupported, fits=lenient_fits),
        _our_chosen,
        _our_rank,
    ),
    Behaviour.UPSTREAM_HEAD: Ranking(
        sort_of,
        _SORTS,
        partial(supported, fits=version_fits),
        partial(unsupported, fits=version_fits),
        _head_chosen,
        _head_rank,
    ),
    Behaviour.DOC_ERA: Ranking(
        label_of, _sorts(label_of), _doc_supports, _doc_reason, _doc_chosen, _doc_rank, scored=False
    ),
}
