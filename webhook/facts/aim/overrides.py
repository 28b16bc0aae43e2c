"""Templates that the overrides of a service derive from another template: their name and specification."""

from __future__ import annotations

import hashlib
from typing import Any, Final

from webhook.facts.aim.lookup import DEFAULT_CONFIG
from webhook.facts.aim.resources import amount
from webhook.facts.nodes import at, mapping, trimmed
from webhook.golang.json import GoStruct, marshal

__all__ = ["derived_name", "derived_spec", "same", "same_common", "same_template", "suffix"]

LONGEST: Final = 63
"""The maximum length of a name that is used as a label value."""
HASH: Final = 8
_INFIX: Final = "-ovr-"
_PARAMETERS: Final = ("metric", "precision", "gpuSelector")
_COMMON: Final = frozenset({"aimImageName", *_PARAMETERS, "runtimeConfigName", "resources"})


def suffix(overrides: dict[str, Any]) -> str:
    """Eight hex digits of the SHA-256 of the overrides as Go encodes them: in its field order, absent ones omitted."""
    gpus = mapping(overrides, "gpuSelector")
    chosen = {
        "metric": at(overrides, "metric"),
        "precision": at(overrides, "precision"),
        "gpuSelector": GoStruct({key: gpus[key] for key in ("count", "model") if key in gpus}),
    }
    written = marshal(GoStruct({key: value for key, value in chosen.items() if value}))
    return hashlib.sha256(written.encode(errors="surrogatepass")).hexdigest()[:HASH]


def derived_name(base: str, hashed: str) -> str:
    """``<base>-ovr-<hash>``, with the base cut so that the name is a valid label value."""
    cut = base[: LONGEST - len(_INFIX) - HASH]
    return f"{cut.rstrip('-') or cut}{_INFIX}{hashed}"


def derived_spec(service: dict[str, Any], base: dict[str, Any]) -> dict[str, Any]:
    """The specification of the derived template: the base with the overrides and settings of the service."""
    spec = mapping(service, "spec")
    overrides = mapping(spec, "overrides")
    derived = {**base, **{key: overrides[key] for key in _PARAMETERS if overrides.get(key)}}
    derived["aimImageName"] = trimmed(base, "aimImageName") or trimmed(spec, "aimImageName")
    config = trimmed(spec, "runtimeConfigName") or trimmed(base, "runtimeConfigName")
    derived["runtimeConfigName"] = config or DEFAULT_CONFIG
    derived.update({key: spec[key] for key in ("env", "imagePullSecrets") if spec.get(key)})
    if isinstance(at(spec, "resources"), dict):
        derived["resources"] = spec["resources"]
    if at(spec, "cacheModel") is True:
        derived["caching"] = {"enabled": True, **({"env": spec["env"]} if spec.get("env") else {})}
    return _said(derived)


def same(one: dict[str, Any] | None, other: dict[str, Any] | None) -> bool:
    """Whether two specifications are equal. Quantities are compared by amount, not by notation."""
    return one == other or _comparable(one) == _comparable(other)


def same_template(expected: dict[str, Any], spec: dict[str, Any]) -> bool:
    """Whether a namespaced template has the expected specification."""
    if any(expected.get(key) != spec.get(key) for key in _PARAMETERS):
        return False  # excludes nearly all of hundreds of templates, at less cost than a full comparison
    return same(expected, _said({"runtimeConfigName": DEFAULT_CONFIG, **spec}))


def same_common(expected: dict[str, Any], spec: dict[str, Any]) -> bool:
    """Whether a cluster template has the expected specification. It only has the fields common to all templates."""
    return not expected.keys() - _COMMON and same_template(expected, spec)


def _said(spec: dict[str, Any]) -> dict[str, Any]:
    """Drop what Go does not distinguish from an absent field: null and empty lists, but not empty blocks."""
    return {key: value for key, value in spec.items() if value not in (None, [])}


def _comparable(spec: dict[str, Any] | None) -> dict[str, Any]:
    resources = mapping(spec, "resources")
    amounts = {part: _amounts(mapping(resources, part)) for part in ("requests", "limits")}
    return {**(spec or {}), **({"resources": {**resources, **amounts}} if resources else {})}


def _amounts(quantities: dict[str, Any]) -> dict[str, Any]:
    return {name: amount(quantity) for name, quantity in quantities.items()}
