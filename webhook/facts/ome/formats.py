"""Whether an entry of a runtime's supportedModelFormats is for a model, and if not, why not.

Every comparison is letter by letter, and what only one side names does not match: an entry without an architecture
is no wildcard (pkg/runtimeselector/matcher.go).
"""

from __future__ import annotations

from collections.abc import Callable
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
    """Whether an entry is for a model."""
    return not mismatches(model, entry, fits)


def supported(model: Json, runtime_spec: Json, fits: VersionFits) -> bool:
    """Whether some entry of a runtime is for the model."""
    return any(matches(model, entry, fits) for entry in items(runtime_spec, "supportedModelFormats"))


def mismatches(model: Json, entry: Json, fits: VersionFits) -> list[str]:
    """What differs between a model's spec and an entry, in upstream's words and order."""
    found = (
        _one_sided("architecture", model.get("modelArchitecture"), entry.get("modelArchitecture")),
        _one_sided("quantization", model.get("quantization"), entry.get("quantization")),
        _format(mapping(model, "modelFormat"), mapping(entry, "modelFormat"), fits),
        _framework(model.get("modelFramework"), entry.get("modelFramework"), fits),
        _pipeline(model.get("diffusionPipeline"), entry.get("diffusionPipeline")),
    )
    return [each for each in found if each]


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


# Each of these says what differs in one part, "" where nothing does.


def _one_sided(word: str, model: Any, runtime: Any) -> str:
    """An empty text is a value like any other."""
    if isinstance(model, str) and isinstance(runtime, str):
        return "" if model == runtime else f"{word} mismatch (model={model}, runtime={runtime})"
    if isinstance(runtime, str):
        return f"model has no {word} but runtime requires {runtime}"
    return f"model has {word} {model} but runtime has no {word} requirement" if isinstance(model, str) else ""


def _format(model: Json, runtime: Json, fits: VersionFits) -> str:
    ours, theirs = text(model, "name"), text(runtime, "name")
    if ours != theirs:
        return f"format name mismatch (model={ours}, runtime={theirs})"
    return _versions("format", model, runtime, fits)


def _framework(model: Any, runtime: Any, fits: VersionFits) -> str:
    if isinstance(model, dict) and isinstance(runtime, dict):
        ours, theirs = text(model, "name"), text(runtime, "name")
        if ours != theirs:
            return f"framework name mismatch (model={ours}, runtime={theirs})"
        return _versions("framework", model, runtime, fits)
    if isinstance(runtime, dict):
        return f"model has no framework but runtime requires {text(runtime, 'name')}"
    if isinstance(model, dict):
        return f"model has framework {text(model, 'name')} but runtime has no framework requirement"
    return ""


def _versions(word: str, model: Json, runtime: Json, fits: VersionFits) -> str:
    ours, theirs = model.get("version"), runtime.get("version")
    if isinstance(ours, str) and isinstance(theirs, str):
        fit = fits(ours, theirs, text(runtime, "operator") or "Equal")
        return "" if fit else f"{word} version mismatch (model={ours}, runtime={theirs})"
    if isinstance(theirs, str):
        return f"model has no {word} version but runtime requires {theirs}"
    return f"model has {word} version but runtime has no version requirement" if isinstance(ours, str) else ""


def _pipeline(model: Any, runtime: Any) -> str:
    """A field of later releases: only what the entry sets is compared."""
    if not isinstance(runtime, dict):
        return ""
    if not isinstance(model, dict):
        return "diffusion pipeline required by runtime but not specified in model"
    return "unknown mismatch" if any(value != at(model, part) for part, value in runtime.items()) else ""
