"""The runtimes from which one is selected for a service."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Final

from webhook.cluster.view import ClusterView
from webhook.facts.nodes import at, mapping, namespace_of, text
from webhook.facts.ome.awaited import awaited
from webhook.facts.ome.formats import facets_of
from webhook.facts.ome.lookup import RuntimeIndex, find_model, runtimes_for
from webhook.facts.ome.ranking import RANKINGS
from webhook.facts.ome.selection import Selection, select
from webhook.facts.settings import Behaviour, Settings

__all__ = ["comparison", "preferred", "selection_of"]

ACCELERATOR: Final = "ome.io/accelerator-class"

_INDEXES: Final = {behaviour: RuntimeIndex(ranking.sorts) for behaviour, ranking in RANKINGS.items()}


def selection_of(service: dict[str, Any], view: ClusterView, settings: Settings, *, explain: bool = False) -> Selection:
    """The choice for a service, even if it names a runtime; ``explain`` also gives the reasons against the others."""
    namespace, name = namespace_of(service), text(service, "spec", "model", "name")
    model = find_model(view, namespace, name, preferred(service, "model", settings))
    if model is None:
        return Selection(error=f"No BaseModel or ClusterBaseModel with the name: {name}")
    ranking = RANKINGS[settings.ome]
    if explain:
        runtimes = list(runtimes_for(view, namespace))
    else:  # the others do not match
        runtimes = _INDEXES[settings.ome].of(view, namespace, ranking.sort(facets_of(model.spec)))
    found = select(model.spec, runtimes, namespace, settings.ome, _accelerators(service), name, explain=explain)
    if settings.ome is not Behaviour.RECOMMENDED:
        return found
    ranked = [(each.runtime, each.score) for each in found.ranked]
    return replace(found, awaits=awaited(model, ranked, view, namespace))


def _accelerators(service: dict[str, Any]) -> frozenset[str]:
    spec = mapping(service, "spec")
    asked = [
        at(service, "metadata", "annotations", ACCELERATOR),
        at(spec, "acceleratorSelector", "acceleratorClass"),
        *(at(spec, part, "acceleratorOverride", "acceleratorClass") for part in ("engine", "decoder")),
    ]
    return frozenset(each for each in asked if isinstance(each, str))


def preferred(service: dict[str, Any], part: str, settings: Settings) -> str:
    """The kind in a reference; upstream ignores it."""
    return text(service, "spec", part, "kind") if settings.ome is Behaviour.RECOMMENDED else ""


def comparison(service: dict[str, Any], view: ClusterView, settings: Settings) -> Iterator[str]:
    """A line for each runtime: those that can be selected, the best first, then the others with the reason.

    Nothing for a service that names its runtime, or whose model is not known.
    """
    spec = mapping(service, "spec")
    if spec.get("runtime") is not None or not text(spec, "model", "name"):
        return
    found = selection_of(service, view, settings, explain=True)
    for each in found.ranked:
        yield f"{each.runtime.kind} {each.runtime.name}: can be selected (score {each.score})"
    for each in found.excluded:
        yield f"{each.runtime.kind} {each.runtime.name}: {each.reason}"
