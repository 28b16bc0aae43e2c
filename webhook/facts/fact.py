"""One fact of a kind: how it is computed, and what it looks like to the rules that read it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from webhook.cluster.view import ClusterView
from webhook.facts.settings import Settings

__all__ = ["Fact"]


@dataclass(frozen=True, slots=True)
class Fact:
    """Something a rule reads as ``facts.<name>``.

    ``compute`` takes the object and the view, changes neither and never raises, not even on an
    object that its CRD refuses (rules run beside the schema, so that all that is wrong is said
    at once). It returns JSON that fits ``schema``, an OpenAPI schema (structural, as in a CRD)
    from which the rules that read the fact are type-checked. A fact whose value depends on the
    settings is ``configurable``: its ``compute`` takes them as a third argument. A ``raw`` one is
    told the object as it was sent, with the fields that its API does not have; a ``stored`` one
    the object that an update is of, an empty one where there is none.
    """

    compute: Callable[..., Any]
    schema: Mapping[str, Any]
    configurable: bool = False
    raw: bool = False
    stored: bool = False

    def value(self, obj: dict[str, Any], view: ClusterView, settings: Settings) -> Any:
        return self.compute(obj, view, settings) if self.configurable else self.compute(obj, view)
