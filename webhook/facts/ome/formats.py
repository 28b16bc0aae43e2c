"""Whether an entry of a runtime's supportedModelFormats matches a model, and if not, why.

All comparisons are exact. A property that only one side sets does not match: an entry without an architecture is not a
wildcard (pkg/runtimeselector/matcher.go).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Hashable, Iterable, Mapping
from functools import lru_cache
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from webhook.facts.nodes import Memo, at, items, mapping, text
from webhook.facts.ome.notation import version_fits

VersionFits = Callable[[str, str, str], bool]
"""Whether a model's version fits a runtime's version under the runtime's operator, in that order."""


class Named(NamedTuple):
    """A format or a framework. ``operator`` is how the runtime compares the version."""

    name: str
    version: str | None
    operator: str


class Facets(NamedTuple):
    """The compared properties of a model or an entry. None means absent.

    ``pipeline`` is a field of later releases: each of its parts with the JSON of its value.
    """

    architecture: str | None
    quantization: str | None
    format: Named
    framework: Named | None
    pipeline: frozenset[tuple[str, str]] | None


def facets_of(spec: Any) -> Facets:
    """Return the facets of a model's spec or of an entry."""
    framework = at(spec, "modelFramework")
    return Facets(
        _text(at(spec, "modelArchitecture")),
        _text(at(spec, "quantization")),
        _named(mapping(spec, "modelFormat")),
        _named(framework) if isinstance(framework, dict) else None,
        _parts(at(spec, "diffusionPipeline")),
    )


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _named(given: Any) -> Named:
    return Named(text(given, "name"), _text(at(given, "version")), text(given, "operator") or "Equal")


def _parts(given: Any) -> frozenset[tuple[str, str]] | None:
    if not isinstance(given, dict):
        return None
    return frozenset((part, json.dumps(value, sort_keys=True)) for part, value in given.items() if value is not None)


FACETS: Final = Memo(
    lambda runtime: tuple(facets_of(entry) for entry in items(runtime, "spec", "supportedModelFormats"))
)
"""The facets of each entry of a runtime. The argument is the whole object."""


def lenient_fits(model: str, runtime: str, operator: str) -> bool:
    """Compare as OME does, except that equal text is equal even if OME cannot parse the version."""
    return (operator == "Equal" and model == runtime) or version_fits(model, runtime, operator)


def matches(model: Facets, entry: Facets, fits: VersionFits) -> bool:
    """Whether an entry matches a model."""
    return not differences(model, entry, fits)


def may_match(model: Facets, entry: Facets, fits: VersionFits) -> bool:
    """Whether an entry matches a model once OME's agent has filled in what the model leaves out.

    The agent finds architecture, framework and the version of the format. It never changes what is set.
    """
    return matches(
        model._replace(
            architecture=entry.architecture if model.architecture is None else model.architecture,
            framework=entry.framework if model.framework is None else model.framework,
            format=model.format if model.format.version else model.format._replace(version=entry.format.version),
        ),
        entry,
        fits,
    )


def supported(model: Facets, entries: Iterable[Facets], fits: VersionFits) -> bool:
    """Whether any entry of a runtime matches the model."""
    return any(matches(model, entry, fits) for entry in entries)


def unsupported(model: Facets, entries: Iterable[Facets], fits: VersionFits) -> str:
    """The reason why no entry of a runtime matches the model, in upstream's words and order; "" if one matches."""
    reasons: list[str] = []
    for entry in entries:
        found = differences(model, entry, fits)
        if not found:
            return ""
        reasons.append(", ".join(found.values()))
    listed = "; ".join(reasons) or "no supported formats defined"
    return f"model format '{label_of(model)}' not in supported formats: {listed}"


@lru_cache(maxsize=4096)
def label_of(facets: Facets) -> str:
    """Format, architecture, quantization and framework as one label."""
    framework = facets.framework or Named("", None, "")
    parts = (
        facets.format.name,
        facets.format.version,
        facets.architecture,
        facets.quantization,
        framework.name or None,
        framework.version,
    )
    return ":".join(["mt", *(part for part in parts if part is not None)])


def sort_of(facets: Facets) -> tuple[Hashable, ...]:
    """The properties that a model and every matching entry share: all compared properties except versions."""
    framework = facets.framework
    return facets.architecture, facets.quantization, facets.format.name, framework.name if framework else None


@lru_cache(maxsize=4096)  # hundreds of runtimes share a few dozen kinds of entries, compared for every service
def differences(model: Facets, entry: Facets, fits: VersionFits) -> Mapping[str, str]:
    """The parts in which a model differs from an entry, each with the difference in words."""
    found = {
        "architecture": _one_sided("architecture", model.architecture, entry.architecture),
        "quantization": _one_sided("quantization", model.quantization, entry.quantization),
        "format": _both("format", model.format, entry.format, fits),
        "framework": _framework(model.framework, entry.framework, fits),
        "pipeline": _pipeline(model.pipeline, entry.pipeline),
    }
    return MappingProxyType({part: words for part, words in found.items() if words})


# Each of these functions returns the difference in one part, or "".


def _one_sided(word: str, model: str | None, runtime: str | None) -> str:
    """Compare an optional property. An empty string is a normal value."""
    if model == runtime:
        return ""
    if model is None:
        return f"model has no {word} but runtime requires {runtime}"
    if runtime is None:
        return f"model has {word} {model} but runtime has no {word} requirement"
    return f"{word} mismatch (model={model}, runtime={runtime})"


def _framework(model: Named | None, runtime: Named | None, fits: VersionFits) -> str:
    if model is not None and runtime is not None:
        return _both("framework", model, runtime, fits)
    if runtime is not None:
        return f"model has no framework but runtime requires {runtime.name}"
    return f"model has framework {model.name} but runtime has no framework requirement" if model is not None else ""


def _both(word: str, model: Named, runtime: Named, fits: VersionFits) -> str:
    if model.name != runtime.name:
        return f"{word} name mismatch (model={model.name}, runtime={runtime.name})"
    ours, theirs = model.version, runtime.version
    if ours is not None and theirs is not None:
        fit = fits(ours, theirs, runtime.operator)
        return "" if fit else f"{word} version mismatch (model={ours}, runtime={theirs})"
    if theirs is not None:
        return f"model has no {word} version but runtime requires {theirs}"
    return f"model has {word} version but runtime has no version requirement" if ours is not None else ""


def _pipeline(model: frozenset[tuple[str, str]] | None, runtime: frozenset[tuple[str, str]] | None) -> str:
    """Compare only the parts that the entry sets."""
    if runtime is None:
        return ""
    if model is None:
        return "diffusion pipeline required by runtime but not specified in model"
    return "" if runtime <= model else "unknown mismatch"
