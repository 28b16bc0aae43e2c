"""The kinds and versions that a gate lets pass without rules: its webhooks and its packs do not fit together."""

from __future__ import annotations

import logging
from typing import Final

from prometheus_client import Gauge

from webhook.admission import GroupVersionKind, one_line
from webhook.catalog import Catalog

log = logging.getLogger("modelgate")

_MOST: Final = 20
"""Kinds that are named: each caller of the gate may choose them."""
_LONGEST: Final = 200


class Uncovered:
    """Says once of each kind, in the log, in a metric and for ``/readyz``, that the gate has no rules for it."""

    def __init__(self, metric: Gauge) -> None:
        self._metric = metric
        self._texts = dict[GroupVersionKind, str]()
        self._logged = dict[GroupVersionKind, str]()

    @property
    def texts(self) -> tuple[str, ...]:
        """A sentence about each kind."""
        return tuple(self._texts.values())

    def clear(self) -> None:
        """Forget the kinds: other rules count now. What was so before is not logged again."""
        self._logged, self._texts = self._texts, {}
        self._metric.clear()

    def add(self, gvk: GroupVersionKind, catalog: Catalog) -> None:
        """Note a kind for which the gate was called, or a version that its packs leave out."""
        if gvk in self._texts or len(self._texts) >= _MOST:
            return
        self._texts[gvk] = text = _text(gvk, catalog)
        self._metric.labels(_name(gvk)).set(1)
        if self._logged.get(gvk) != text:
            log.warning("%s", text)


def _name(gvk: GroupVersionKind) -> str:
    return one_line(str(gvk))[:_LONGEST]


def _text(gvk: GroupVersionKind, catalog: Catalog) -> str:
    versions = catalog.with_rules(gvk)
    there = f"only {' and '.join(versions)} of it {'has' if len(versions) == 1 else 'have'} rules" if versions else ""
    remedy = "add this version to its policies" if versions else "give its pack by --policies"
    if gvk in catalog.kinds:
        return f"{_name(gvk)} is judged by its schema alone: {there}; {remedy}"
    why = there or "nothing has rules for it"
    return f"called for {_name(gvk)}, which is allowed unread: {why}; {remedy}, or take it out of the webhooks"
