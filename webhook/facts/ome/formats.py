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

Json = dict[str, Any]
VersionFits = Callable[[str, str, str], bool]
"""Of a model's version, a runtime's version and the runtime's operator."""


def lenient_fits(model: str, runtime: str, operator: str) -> bool:
    """As OME, but the same text is the same version even where OME cannot read it."""
    return version_fits(model, runtime, operator) or (operator == "Equal" and model == runtime)


def matches(model: Json, entry: Json, fits: VersionFits) -> bool:
    """Whether an entry is for a model: as soon as something differs, it is not."""
    return next(mismatches(model, entry, fits), None) is None


def supported(model: Json, runtime_spec: Json, fits: VersionFits) -> bool:
    """Whether some entry of a runtime is for the model."""
    return any(matches(model, entry, fits) for entry in items(runtime_spec, "supportedModelFormats"))


def mismatches(model: Json, entry: Json, fits: VersionFits) -> Iterator[str]:
    """What differs between a model's spec and an entry, in upstream's words and order."""
    yield from _one_sided("architecture", model.get("modelArchitecture"), entry.get("modelArchitecture"))
    yield from _one_sided("quantization", model.get("quantization"), entry.get("quantization"))
    yield from _format(mapping(model, "modelFormat"), mapping(entry, "modelFormat"), fits)
    yield from _framework(model.get("modelFramework"), entry.get("modelFramework"), fits)
    yield from _pipeline(model.get("diffusionPipeline"), entry.get("diffusionPipeline"))


def unsupported(model: Json, runtime_spec: Json, fits: VersionFits) -> str:
    """Why no entry of a runtime is for the model, "" where one is."""
    reasons: list[str] = []
    for entry in items(runtime_spec, "supportedModelFormats"):
        found = ", ".join(mismatches(model, entry, fits))
        if not found:
            return ""
        reasons.append(found)
    listed = "; ".join(reasons) or "no supported formats defined"
    return f"model format '{label_of(model)}' not in supported formats: {listed}"


def label_of(model: Json) -> str:
    """Format, architecture, quantization and framework in one word."""
    given, framework = mapping(model, "modelFormat"), mapping(model, "modelFramework")
    parts = [
        given.get("name"),
        given.get("version"),
        model.get("modelArchitecture"),
        model.get("quantization"),
        framework.get("name"),
        framework.get("version"),
    ]
    return ":".join(["mt", *(part for part in parts if isinstance(part, str))])


def sort_of(spec: Json) -> tuple[str | None, ...]:
    """What a model and every entry that is for it have in common: all that is compared but the versions."""
    one_sided = spec.get("modelArchitecture"), spec.get("quantization")
    framework = spec.get("modelFramework")
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


def _format(model: Json, runtime: Json, fits: VersionFits) -> Iterator[str]:
    ours, theirs = text(model, "name"), text(runtime, "name")
    if ours != theirs:
        yield f"format name mismatch (model={ours}, runtime={theirs})"
    else:
        yield from _versions("format", model, runtime, fits)


def _framework(model: Any, runtime: Any, fits: VersionFits) -> Iterator[str]:
    if isinstance(model, dict) and isinstance(runtime, dict):
        ours, theirs = text(model, "name"), text(runtime, "name")
        if ours != theirs:
            yield f"framework name mismatch (model={ours}, runtime={theirs})"
        else:
            yield from _versions("framework", model, runtime, fits)
    elif isinstance(runtime, dict):
        yield f"model has no framework but runtime requires {text(runtime, 'name')}"
    elif isinstance(model, dict):
        yield f"model has framework {text(model, 'name')} but runtime has no framework requirement"


def _versions(word: str, model: Json, runtime: Json, fits: VersionFits) -> Iterator[str]:
    ours, theirs = model.get("version"), runtime.get("version")
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
