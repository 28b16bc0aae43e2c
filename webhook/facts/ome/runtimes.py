"""Errors in a runtime itself, and other runtimes that serve the same models with the same priority."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from typing import Any, Final

from webhook.cluster.view import ClusterView
from webhook.facts.nodes import Memo, Referent, at, items, mapping, name_of, namespace_of, text, texts, whole
from webhook.facts.ome.formats import facets_of, sort_of
from webhook.facts.ome.lookup import RuntimeIndex, RuntimeLists, runtime_lists, runtimes_in
from webhook.facts.ome.notation import SizeRange, parse_size, parse_version, range_of, version_fits
from webhook.facts.settings import Behaviour, Settings

MULTI_NODE: Final = (
    "for MultiNode deployment, both leader and worker must be defined and worker.size must be greater than 0"
)
_STRUCTURES: Final = ("modelFormat", "modelFramework")
RAW: Final = "for RawDeployment, leader and worker must not be defined"


def configuration_error(spec: Any) -> str:
    """The error in the combination of engine, decoder and workers. Only the top-level workers are checked."""
    engine, decoder = at(spec, "engineConfig"), at(spec, "decoderConfig")
    if engine is not None and decoder is not None:
        return ""
    size = whole(spec, "workers", "size")
    if size is not None and size <= 0:
        return MULTI_NODE
    modes = set(_modes(spec)) if engine is not None else set()
    if "MultiNode" in modes and size is None:
        return MULTI_NODE
    return RAW if "RawDeployment" in modes and size is not None else ""


def _modes(spec: Any) -> Iterator[str]:
    for container in items(spec, "containers"):
        yield from (text(each, "value") for each in items(container, "env") if text(each, "name") == "DEPLOYMENT_MODE")


def priority_conflict(runtime: Any, view: ClusterView, settings: Settings) -> str:
    """The format that has two priorities in a runtime, with a leading space; "" if there is none.

    Upstream puts all entries without a (deprecated) name into one group, and only checks if other runtimes exist.
    Modelgate groups such entries by the models that they match.
    """
    spec = mapping(runtime, "spec")
    ours = settings.ome is Behaviour.RECOMMENDED
    if not ours and not any(_same_scope(each, runtime) for each in runtimes_in(_lists(runtime, view))):
        return ""
    first: dict[Hashable, int | None] = {}
    for entry in items(spec, "supportedModelFormats"):
        priority = whole(entry, "priority")
        if entry.get("autoSelect") is not True or (ours and priority is None):
            continue
        group = text(entry, "name") or (_models(entry) if ours else "")
        if None not in {priority, first.setdefault(group, priority)} and first[group] != priority:
            shown = text(entry, "name") or (text(entry, "modelFormat", "name") if ours else "")
            return f" {shown}"
    return ""


def same_priority(runtime: Any, view: ClusterView) -> str:
    """What OME until 0.1.2 denies: the format and the two runtimes, with a leading space; "" if there is none."""
    spec = mapping(runtime, "spec")
    protocols, given, entries = {*texts(spec, "protocolVersions")}, _range(spec), _comparable(spec)
    if not protocols or not entries:
        return ""
    for other in _without(runtime, runtimes_in(_lists(runtime, view))):
        if not _same_scope(other, runtime) or protocols.isdisjoint(texts(other.spec, "protocolVersions")):
            continue
        if other.disabled or given != _range(other.spec):
            continue
        theirs = _comparable(other.spec)
        for compared, mine in entries.items():
            if compared in theirs:
                kinds, names = f"{other.kind.lower()}s", f"{other.name} and {text(runtime, 'metadata', 'name')}"
                where = "" if other.cluster_scoped else f" in namespace {namespace_of(runtime)}"
                return f" {text(mine, 'name')} in the {kinds} {names}{where}"
    return ""


def _range(spec: Any) -> tuple[Any, Any] | None:
    given = at(spec, "modelSizeRange")
    return None if given is None else (at(given, "min"), at(given, "max"))


def _comparable(spec: Any) -> dict[tuple[Hashable, ...], dict[str, Any]]:
    """The entries with a priority, the first of each that Go counts as equal, by what it compares."""
    entries: dict[tuple[Hashable, ...], dict[str, Any]] = {}
    for entry in items(spec, "supportedModelFormats"):
        is_selected = entry.get("autoSelect") is True and whole(entry, "priority") is not None
        if is_selected and (compared := _compared(entry)) is not None:
            entries.setdefault(compared, entry)
    return entries


def _compared(entry: dict[str, Any]) -> tuple[Hashable, ...] | None:
    """What Go compares: a structure with a pointer, to a version, never equals another one, and is None here."""
    structures = [_unversioned(entry, part) for part in _STRUCTURES]
    parts = [repr(entry.get(part)) for part in ("version", "quantization", "modelArchitecture")]
    return None if "=" in structures else (text(entry, "name").lower(), *parts, whole(entry, "priority"), *structures)


def _unversioned(entry: dict[str, Any], part: str) -> str | None:
    """The name of a format without a version, None without a format, "=" for a format with a version."""
    if entry.get(part) is None:
        return None
    return "=" if at(entry, part, "version") is not None else text(entry, part, "name")


def overlaps(runtime: Any, view: ClusterView) -> list[str]:
    """Runtimes of any scope that support the same models, with the same priority and an equally narrow range.

    Within one scope only the name decides. Across scopes the namespaced runtime hides the other one. Runtimes of the
    same scope come first in the result.
    """
    spec = mapping(runtime, "spec")
    if spec.get("disabled") is True:
        return []
    alike, given = _INDEX.of(_lists(runtime, view), *_selectable(spec)), range_of(spec)
    others = [other for other in _without(runtime, alike) if _meet(given, range_of(other.spec)) and not other.disabled]
    kind, namespace = text(runtime, "kind"), namespace_of(runtime)
    ordered = [other for other in others if other.kind == kind] + [other for other in others if other.kind != kind]
    return list(dict.fromkeys(_named(*other, namespace) for other in ordered))


def _named(kind: str, other: Any, namespace: str) -> str:
    """Kind and name of another runtime; without the name if it belongs to another namespace."""
    visible = namespace_of(other) in {"", namespace}
    return f"{kind} {name_of(other)}" if visible else f"a {kind} of a namespace"


def _selectable(spec: Any) -> set[tuple[Any, ...]]:
    """What a runtime can be selected for: the models and the priority of each entry."""
    entries = (entry for entry in items(spec, "supportedModelFormats") if entry.get("autoSelect") is True)
    return {(*_models(entry), whole(entry, "priority") or 1) for entry in entries}


def _models(entry: dict[str, Any]) -> tuple[Any, ...]:
    """The models that an entry matches: its sort, with versions as numbers."""
    facets = facets_of(entry)
    framework = facets.framework.version if facets.framework else None
    return (*sort_of(facets), _as_numbers(facets.format.version), _as_numbers(framework))


def _as_numbers(version: str | None) -> Hashable:
    known = None if version is None else parse_version(version)
    return known.key if known else version


def _meet(first: SizeRange | None, second: SizeRange | None) -> bool:
    """Whether the ranges overlap and are equally narrow."""
    if first is None or second is None:
        return first is second
    low, high = max(first.bounds[0], second.bounds[0]), min(first.bounds[1], second.bounds[1])
    return low <= high and first.width == second.width


_INDEX: Final = RuntimeIndex(Memo(lambda runtime: _selectable(mapping(runtime, "spec"))))


def _lists(runtime: Any, view: ClusterView) -> RuntimeLists:
    return runtime_lists(view, namespace_of(runtime) or None)


def _without(runtime: Any, all_runtimes: Iterable[Referent]) -> Iterator[Referent]:
    """All runtimes but the one itself."""
    kind, name = text(runtime, "kind"), text(runtime, "metadata", "name")
    return (other for other in all_runtimes if (other.kind, other.name) != (kind, name))


def _same_scope(other: Referent, runtime: Any) -> bool:
    return other.kind == text(runtime, "kind")


def unreadable_versions(spec: Any) -> dict[str, bool]:
    """Versions of formats and frameworks that OME cannot parse, so they never match."""
    entries = [spec, *items(spec, "supportedModelFormats")]
    places = [text(entry, part, "version") for entry in entries for part in ("modelFormat", "modelFramework")]
    return dict.fromkeys((version for version in places if version and parse_version(version) is None), True)


def stray_versions(spec: Any) -> dict[str, bool]:
    """The deprecated versions of entries that are not those of their formats: "<version> <version of modelFormat>"."""
    pairs = [
        (text(entry, "version"), text(entry, "modelFormat", "version"))
        for entry in items(spec, "supportedModelFormats")
    ]
    stray = (pair for pair in pairs if pair[0] not in {"", pair[1]} and not version_fits(*pair))
    return dict.fromkeys((f"{ours} {theirs}" for ours, theirs in stray), True)


def unreadable_sizes(spec: Any) -> list[str]:
    """Sizes that OME reads as 0 or as a few parameters, including an empty end of a range; and negative sizes."""
    sizes = [text(spec, "modelParameterSize") or None, *(at(spec, "modelSizeRange", end) for end in ("min", "max"))]
    return [size for size in sizes if isinstance(size, str) and not _is_size(size)]


def _is_size(size: str) -> bool:
    """Whether it is 0, or at least a thousand parameters: a smaller number lacks its unit."""
    parsed = parse_size(size)
    return parsed is not None and (parsed == 0 or parsed >= 1000)


def fits_nothing(spec: Any) -> bool:
    """Whether the size range of a runtime has min above max."""
    sizes = range_of(spec)
    return sizes is not None and sizes.width < 0
