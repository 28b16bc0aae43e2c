"""Templates that a service derives from another by its overrides: their name and what they say."""

from __future__ import annotations

import hashlib
import json
from typing import Any, Final

from webhook.facts.aim.lookup import DEFAULT_CONFIG
from webhook.facts.aim.nodes import at, mapping, text

__all__ = ["derived_name", "derived_spec", "same_common", "same_template", "suffix"]

LONGEST: Final = 63
"""Of a name that becomes a label's value."""
HASH: Final = 8
_INFIX: Final = "-ovr-"
_PARAMETERS: Final = ("metric", "precision", "gpuSelector")
_COMMON: Final = frozenset({"aimImageName", *_PARAMETERS, "runtimeConfigName", "resources"})


def suffix(overrides: dict[str, Any]) -> str:
    """Eight hex digits of the SHA-256 of the overrides as Go writes them: fields in its order, without absent ones."""
    gpus = mapping(overrides, "gpuSelector")
    chosen = {
        "metric": at(overrides, "metric"),
        "precision": at(overrides, "precision"),
        "gpuSelector": {key: gpus[key] for key in ("count", "model") if key in gpus} or None,
    }
    written = json.dumps(
        {key: value for key, value in chosen.items() if value}, ensure_ascii=False, separators=(",", ":")
    )
    for character in "<>&":  # which Go escapes for the sake of HTML
        written = written.replace(character, f"\\u{ord(character):04x}")
    return hashlib.sha256(written.encode(errors="surrogatepass")).hexdigest()[:HASH]


def derived_name(base: str, hashed: str) -> str:
    """``<base>-ovr-<hash>``, the base cut so that the whole is a label's value."""
    cut = base[: LONGEST - len(_INFIX) - HASH]
    return f"{cut.rstrip('-') or cut}{_INFIX}{hashed}"


def derived_spec(service: dict[str, Any], base: dict[str, Any]) -> dict[str, Any]:
    """The specification of the template that the service needs, from that of its base."""
    spec = mapping(service, "spec")
    overrides = mapping(spec, "overrides")
    derived = {**base, **{key: overrides[key] for key in _PARAMETERS if overrides.get(key)}}
    derived["aimImageName"] = text(base, "aimImageName") or text(spec, "aimImageName")
    derived["runtimeConfigName"] = text(spec, "runtimeConfigName") or text(base, "runtimeConfigName") or DEFAULT_CONFIG
    derived.update({key: spec[key] for key in ("env", "imagePullSecrets", "resources") if spec.get(key)})
    if at(spec, "cacheModel") is True:
        derived["caching"] = {"enabled": True, **({"env": spec["env"]} if spec.get("env") else {})}
    return {key: value for key, value in derived.items() if value not in (None, [], {})}


def same_template(expected: dict[str, Any], spec: dict[str, Any]) -> bool:
    """Whether a template of the namespace says what is expected."""
    if any(expected.get(key) != spec.get(key) for key in _PARAMETERS):
        return False  # of hundreds nearly all: cheaper than to compare whole specifications
    said = {"runtimeConfigName": DEFAULT_CONFIG, **spec}
    return expected == {key: value for key, value in said.items() if value not in (None, [], {})}


def same_common(expected: dict[str, Any], spec: dict[str, Any]) -> bool:
    """Whether a cluster template does, which can say no more than what all templates have in common."""
    return not expected.keys() - _COMMON and same_template(expected, spec)
