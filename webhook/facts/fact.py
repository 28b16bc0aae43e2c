"""One fact of a kind: how it is computed, and its schema for the rules that read it."""

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

    ``compute`` takes the object and the view. It changes neither and never raises, not even for
    an object that the CRD refuses: rules run together with the schema, so that one response
    reports all errors. It returns JSON that fits ``schema``, a structural OpenAPI schema against
    which the rules that read the fact are type-checked.

    A ``configurable`` fact depends on the settings: its ``compute`` takes them as a third
    argument. A ``raw`` fact receives the object as it was sent, with unknown fields: it is about
    other releases, so it does not apply where another one is installed. A ``stored``
    fact receives the stored object of an update; for other requests, an empty object. A ``constant`` fact depends on
    nothing but the settings.
    """

    compute: Callable[..., Any]
    schema: Mapping[str, Any]
    configurable: bool = False
    raw: bool = False
    stored: bool = False
    constant: bool = False

    def value(self, obj: dict[str, Any], view: ClusterView, settings: Settings) -> Any:
        return self.compute(obj, view, settings) if self.configurable else self.compute(obj, view)
