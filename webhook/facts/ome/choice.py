"""The runtimes from which one is selected for a service, and what its model lacks although it decides between them.

OME's agent reads the files of a model after the model is created, and then fills in what is absent: size, architecture,
framework, and the version of the format. A runtime that is chosen before may be wrong after.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, Final

from webhook.cluster.view import ClusterView
from webhook.facts.fact import Table
from webhook.facts.nodes import Referent, at, items, mapping, namespace_of, text
from webhook.facts.ome.formats import FACETS, Facets, facets_of, lenient_fits, matches, may_match
from webhook.facts.ome.lookup import RuntimeIndex, RuntimeLists, find_model, runtime_lists, runtimes_in
from webhook.facts.ome.notation import SizeRange, range_of
from webhook.facts.ome.ranking import RANKINGS
from webhook.facts.ome.selection import Selection, select
from webhook.facts.settings import Behaviour, Settings

_ANY_SIZE: Final = SizeRange(None, None)
_READY: Final = "Ready"


def awaited(model: Referent, ranked: Sequence[tuple[Referent, int]], lists: RuntimeLists) -> str:
    """The fields of a model that are absent and that decide which runtime is selected; "" if none does.

    Args:
        model: the model. Its agent has finished when its status is Ready; only the size is awaited then.
        ranked: the runtimes that can be selected now, each with its score.
        lists: those of the runtimes.
    """
    if not text(model.spec, "modelFormat", "name"):
        return "modelFormat"
    is_ready = text(model.object, "status", "state") == _READY
    found = [] if is_ready else _of_format(facets_of(model.spec), lists)
    if not text(model.spec, "modelParameterSize") and _size_decides(ranked):
        found.append("modelParameterSize")
    return " and ".join(found)


def _of_format(model: Facets, lists: RuntimeLists) -> list[str]:
    """The absent fields that keep a runtime from matching."""
    absent = {
        "modelArchitecture": model.architecture is None,
        "modelFramework": model.framework is None,
        "modelFormat.version": model.format.version is None,
    }
    if not any(absent.values()):
        return []
    sort = (model.format.name, model.quantization, model.architecture)
    same = [runtime for runtime in _INDEX.of(lists, sort) if not runtime.disabled]
    near = [entry for runtime in same for entry in _selectable(runtime, model)]
    wanted = {
        "modelArchitecture": any(entry.architecture is not None for entry in near),
        "modelFramework": any(entry.framework is not None for entry in near),
        "modelFormat.version": any(entry.format.version is not None for entry in near),
    }
    return [field for field, is_absent in absent.items() if is_absent and wanted[field]]


def _selectable(runtime: Referent, model: Facets) -> list[Facets]:
    """The entries with autoSelect that the model may match later, but does not match now."""
    entries = zip(items(runtime.spec, "supportedModelFormats"), FACETS(runtime.object), strict=True)
    return [
        facets
        for entry, facets in entries
        if entry.get("autoSelect") is True
        and may_match(model, facets, lenient_fits)
        and not matches(model, facets, lenient_fits)
    ]


def _sorts(runtime: dict[str, Any]) -> frozenset[tuple[str, str | None, str | None]]:
    """Format, quantization and architecture of each entry, and the same without the architecture."""
    entries = FACETS(runtime)
    return frozenset(
        (each.format.name, each.quantization, architecture)
        for each in entries
        for architecture in (each.architecture, None)
    )


_INDEX: Final = RuntimeIndex(_sorts)


def _size_decides(ranked: Sequence[tuple[Referent, int]]) -> bool:
    """Whether a size can select another runtime than the first.

    With a size, the first is the best whose range is the narrowest. Another one is selected for a size that only the
    other fits.
    """
    sizes = {index: range_of(runtime.spec) or _ANY_SIZE for index, (runtime, _) in enumerate(ranked)}
    fitting = [index for index in sizes if sizes[index].width >= 0]  # min above max fits no size
    if not fitting:
        return False
    best = min(fitting, key=lambda index: (ranked[index][0].cluster_scoped, -ranked[index][1], sizes[index].width))
    low, high = sizes[best].bounds
    others = (sizes[index].bounds for index in fitting)
    return best != 0 or any(other[0] < low or other[1] > high for other in others)


ACCELERATOR: Final = "ome.io/accelerator-class"

_INDEXES: Final = {behaviour: RuntimeIndex(ranking.sorts) for behaviour, ranking in RANKINGS.items()}


def selection_of(service: dict[str, Any], view: ClusterView, settings: Settings) -> Selection:
    """The choice for a service, even if it names a runtime, with the reasons against the others."""
    namespace, model = namespace_of(service), model_of(service, view, settings)
    if model is None:
        name = text(service, "spec", "model", "name")
        return Selection(error=f"No BaseModel or ClusterBaseModel with the name: {name}")
    return explained_choice(model, settings.ome, namespace, runtime_lists(view, namespace), accelerators_of(service))


def explained_choice(
    model: Referent,
    behaviour: Behaviour,
    namespace: str,
    lists: RuntimeLists,
    accelerators: frozenset[str] = frozenset(),
) -> Selection:
    """The choice among the runtimes of some lists of services of a namespace, with the reasons against the others."""
    name, runtimes = text(model.object, "metadata", "name"), runtimes_in(lists)
    selection = select(model.spec, runtimes, namespace, behaviour, accelerators, name, explain=True)
    return _completed(selection, model, behaviour, lists)


def choice(
    model: Referent, behaviour: Behaviour, lists: RuntimeLists, accelerators: frozenset[str] = frozenset()
) -> Selection:
    """The choice among the runtimes of some lists, without those that cannot be selected."""
    runtimes = _INDEXES[behaviour].of(lists, RANKINGS[behaviour].sort(facets_of(model.spec)))  # the others do not match
    return _completed(select(model.spec, runtimes, "", behaviour, accelerators), model, behaviour, lists)


def _completed(selection: Selection, model: Referent, behaviour: Behaviour, lists: RuntimeLists) -> Selection:
    """A selection with the fields that it awaits."""
    if behaviour is not Behaviour.RECOMMENDED:
        return selection
    return replace(selection, awaits=awaited(model, [(each.runtime, each.score) for each in selection.ranked], lists))


def accelerators_of(service: dict[str, Any]) -> frozenset[str]:
    spec = mapping(service, "spec")
    asked = [
        at(service, "metadata", "annotations", ACCELERATOR),
        at(spec, "acceleratorSelector", "acceleratorClass"),
        *(at(spec, part, "acceleratorOverride", "acceleratorClass") for part in ("engine", "decoder")),
    ]
    return frozenset(each for each in asked if isinstance(each, str))


def model_of(service: dict[str, Any], view: ClusterView, settings: Settings) -> Referent | None:
    """The model that a service names."""
    name = text(service, "spec", "model", "name")
    return find_model(view, namespace_of(service), name, preferred(service, "model", settings))


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
    found = selection_of(service, view, settings)
    for each in found.ranked:
        yield f"{each.runtime.kind} {each.runtime.name}: can be selected (score {each.score})"
    for each in found.excluded:
        yield f"{each.runtime.kind} {each.runtime.name}: {each.reason}"


def ranking_tables(service: dict[str, Any], view: ClusterView, settings: Settings) -> Iterator[Table]:
    """Every runtime for the model of a service, the best first."""
    name = text(service, "spec", "model", "name")
    if not name:
        return
    found = selection_of(service, view, settings)
    named = at(service, "spec", "runtime", "name")
    title = f"runtimes for model {name}"
    if isinstance(named, str):
        title += f" (not used: the service names {named})"
    elif found.error and not found.ranked:
        title += f": {found.error}"
    elif found.awaits:
        title += f" (the choice depends on {found.awaits} of the model, which is absent)"
    rows = [
        (str(number), one.runtime.name, one.runtime.kind, str(one.score), "selected" if number == 1 else "")
        for number, one in enumerate(found.ranked, 1)
    ]
    rows += [("-", one.runtime.name, one.runtime.kind, "", one.reason) for one in found.excluded]
    best = max((one.score for one in found.ranked), default=0)
    shares = (*(one.score / best if best else 0.0 for one in found.ranked), *(None for _ in found.excluded))
    yield Table(title, ("rank", "runtime", "kind", "score", "reason"), tuple(rows), shares, name)
