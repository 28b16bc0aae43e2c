"""Whether an entry of a runtime's supportedModelFormats is for a model, and if not, why not.

Every comparison is letter by letter, and what only one side names does not match: an entry without an architecture
is no wildcard (pkg/runtimeselector/matcher.go).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from webhook.facts.ome.modelversion import version_fits
from webhook.facts.ome.nodes import at, items, mapping, text

__all__ = ["VersionFits", "label_of", "lenient_fits", "matches", "mismatches", "sort_of", "supported", "unsupported"]

VersionFits = Callable[[str, str, str], bool]
"""Of a model's version, a runtime's version and the runtime's operator."""


def lenient_fits(model: str, runtime: str, operator: str) -> bool:
    """As OME, but the same text is the same version even where OME cannot read it."""
    return version_fits(model, runtime, operator) or (operator == "Equal" and model == runtime)


def matches(model: Any, entry: Any, fits: VersionFits) -> bool:
    """Whether an entry is for a model: as soon as something differs, it is not."""
    return next(mismatches(model, entry, fits), None) is None


def supported(model: Any, runtime_spec: Any, fits: VersionFits) -> bool:
    """Whether some entry of a runtime is for the model."""
    return any(matches(model, entry, fits) for entry in items(runtime_spec, "supportedModelFormats"))


def mismatches(model: Any, entry: Any, fits: VersionFits) -> Iterator[str]:
    """What differs between a model's spec and an entry, in upstream's words and order."""
    yield from _one_sided("architecture", at(model, "modelArchitecture"), at(entry, "modelArchitecture"))
    yield from _one_sided("quantization", at(model, "quantization"), at(entry, "quantization"))
    yield from _format(mapping(model, "modelFormat"), mapping(entry, "modelFormat"), fits)
    yield from _framework(at(model, "modelFramework"), at(entry, "modelFramework"), fits)
    yield from _pipeline(at(model, "diffusionPipeline"), at(entry, "diffusionPipeline"))


def unsupported(model: Any, runtime_spec: Any, fits: VersionFits) -> str:
    """Why no entry of a runtime is for the model, "" where one is."""
    reasons: list[str] = []
    for entry in items(runtime_spec, "supportedModelFormats"):
        found = ", ".join(mismatches(model, entry, fits))
        if not found:
            return ""
        reasons.append(found)
    listed = "; ".join(reasons) or "no supported formats defined"
    return f"model format '{label_of(model)}' not in supported formats: {listed}"


def label_of(model: Any) -> str:
    """Format, architecture, quantization and framework in one word."""
    given, framework = mapping(model, "modelFormat"), mapping(model, "modelFramework")
    parts = [
        at(given, "name"),
        at(given, "version"),
        at(model, "modelArchitecture"),
        at(model, "quantization"),
        at(framework, "name"),
        at(framework, "version"),
    ]
    return ":".join(["mt", *(part for part in parts if isinstance(part, str))])


def sort_of(spec: dict[str, Any]) -> tuple[str | None, ...]:
    """What a model and every entry that is for it have in common: all that is compared but the versions."""
    one_sided = (at(spec, "modelArchitecture"), at(spec, "quantization"))
    framework = at(spec, "modelFramework")
    return (
        *(value if isinstance(value, str) else None for value in one_sided),
        text(spec, "modelFormat", "name"),
        text(framework, "name") if isinstance(framework, dict) else None,
    )


def _one_sided(word: str, model: Any, runtime: Any) -> Iterator[str]:
    """An empty text is a value like any other."""
    if isinstance(model, str) and isinstance(runtime, str):
        if model != runtime:
            yield f"{word} mismatch (model={model}, runtime={runtime})"
    elif isinstance(runtime, str):
        yield f"model has no {word} but runtime requires {runtime}"
    elif isinstance(model, str):
        yield f"model has {word} {model} but runtime has no {word} requirement"


def _format(model: dict[str, Any], runtime: dict[str, Any], fits: VersionFits) -> Iterator[str]:
    if text(model, "name") != text(runtime, "name"):
        yield f"format name mismatch (model={text(model, 'name')}, runtime={text(runtime, 'name')})"
    else:
        yield from _versions("format", model, runtime, fits)


def _framework(model: Any, runtime: Any, fits: VersionFits) -> Iterator[str]:
    if isinstance(model, dict) and isinstance(runtime, dict):
        if text(model, "name") != text(runtime, "name"):
            yield f"framework name mismatch (model={text(model, 'name')}, runtime={text(runtime, 'name')})"
        else:
            yield from _versions("framework", model, runtime, fits)
    elif isinstance(runtime, dict):
        yield f"model has no framework but runtime requires {text(runtime, 'name')}"
    elif isinstance(model, dict):
        yield f"model has framework {text(model, 'name')} but runtime has no framework requirement"


def _versions(word: str, model: dict[str, Any], runtime: dict[str, Any], fits: VersionFits) -> Iterator[str]:
    ours, theirs = at(model, "version"), at(runtime, "version")
    if isinstance(ours, str) and isinstance(theirs, str):
        if not fits(ours, theirs, text(runtime, "operator") or "Equal"):
            yield f"{word} version mismatch (model={ours}, runtime={theirs})"
    elif isinstance(theirs, str):
        yield f"model has no {word} version but runtime requires {theirs}"
    elif isinstance(ours, str):
        yield f"model has {word} version but runtime has no version requirement"


def _pipeline(model: Any, runtime: Any) -> Iterator[str]:
    """A field of later releases: only what the entry sets is compared."""
    if isinstance(runtime, dict) and not isinstance(model, dict):
        yield "diffusion pipeline required by runtime but not specified in model"
    elif isinstance(runtime, dict) and any(value != at(model, part) for part, value in runtime.items()):
        yield "unknown mismatch"
