"""Resolve the template of a service: named, default of the image, derived by overrides, or selected.

Overrides derive a template from another one, with a name and a specification of its own. A template is selected for a
service that names none, as AIM does from release 0.2 on; here it is an opt-in.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, Final

from webhook.cluster.view import ClusterView
from webhook.facts.aim.lookup import (
    DEFAULT_CONFIG,
    IMAGES,
    TEMPLATES,
    default_template,
    find,
    is_derived,
    templates_for,
)
from webhook.facts.aim.resources import amount, gpu_model, models_on_nodes
from webhook.facts.nodes import Referent, at, mapping, namespace_of, trimmed
from webhook.golang.json import GoStruct, marshal

TYPES: Final = ("optimized",)
GPUS: Final = ("MI325X", "MI300X", "MI250X", "MI210")
METRICS: Final = ("latency", "throughput")
PRECISIONS: Final = ("fp4", "int4", "fp8", "int8", "fp16", "bf16", "fp32")
"""Each in order of preference. Unlisted values come last."""


@dataclass(frozen=True, slots=True)
class Choice:
    """The selected template, or the reason why no template was selected."""

    template: Referent | None = None
    error: str = ""


@dataclass(frozen=True, slots=True)
class _Offer:
    """The properties of a template. The profile takes precedence over the spec, except for the GPU model."""

    template: Referent
    type: str
    gpu: str
    gpus: Any
    metric: str
    precision: str

    @property
    def rank(self) -> tuple[int, ...]:
        """Lower is better."""
        said = ((TYPES, self.type), (GPUS, self.gpu), (METRICS, self.metric), (PRECISIONS, self.precision))
        return tuple(order.index(value) if value in order else len(order) for order, value in said)


def select(
    templates: Iterable[Referent], image: str, overrides: dict[str, Any], gpus: frozenset[str] | None = None
) -> Choice:
    """Select the best available template of an image that fits the overrides. A tie is an error.

    ``gpus`` are the GPU models on the nodes of the cluster, or None if they are unknown.
    """
    of_image = [template for template in templates if trimmed(template.spec, "aimImageName") == image]
    if not of_image:
        return Choice(error=f'No templates found for image "{image}"')
    available = [template for template in of_image if trimmed(template.object, "status", "status") == "Available"]
    if not available:
        return Choice(error="Waiting for templates to become Available")
    offers = [_offer(template) for template in available]
    fitting = [offer for offer in offers if _tuned(offer) and _fits(offer, overrides) and _runs(offer, gpus)]
    if not fitting:
        return Choice(error=f'No available templates match the service requirements for image "{image}"')
    nearest = [offer for offer in fitting if not offer.template.cluster_scoped] or fitting
    ranks = [offer.rank for offer in nearest]
    if (best := ranks.count(min(ranks))) > 1:
        return Choice(error=f'Multiple templates ({best}) satisfy image "{image}"')
    return Choice(nearest[ranks.index(min(ranks))].template)


def _offer(template: Referent) -> _Offer:
    spec, profile = template.spec, mapping(template.object, "status", "profile", "metadata")
    return _Offer(
        template,
        trimmed(profile, "type"),
        gpu_model(trimmed(spec, "gpuSelector", "model") or trimmed(profile, "gpu")),
        at(profile, "gpu_count") or at(spec, "gpuSelector", "count"),
        trimmed(profile, "metric") or trimmed(spec, "metric"),
        trimmed(profile, "precision") or trimmed(spec, "precision"),
    )


def _tuned(offer: _Offer) -> bool:
    """Whether the profile is optimized. Profiles of the document's release do not have a type and are accepted."""
    return offer.type in {"", *TYPES}


def _fits(offer: _Offer, overrides: dict[str, Any]) -> bool:
    wishes = (
        (trimmed(overrides, "metric"), offer.metric),
        (trimmed(overrides, "precision"), offer.precision),
        (gpu_model(trimmed(overrides, "gpuSelector", "model")), offer.gpu),
    )
    if any(wish and wish != said for wish, said in wishes):
        return False
    count = at(overrides, "gpuSelector", "count")
    return not count or not offer.gpus or count == offer.gpus


def _runs(offer: _Offer, gpus: frozenset[str] | None) -> bool:
    """Whether a node has the GPU model of the template, even if its GPUs are in use."""
    return gpus is None or not offer.gpu or offer.gpu in gpus


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


class Origin(StrEnum):
    """The origin of the base name."""

    EXPLICIT = "explicit"
    DEFAULT = "default"
    SELECTED = "selected"
    NONE = "none"


@dataclass(frozen=True, slots=True)
class Resolution:
    """The template of a service.

    ``base`` is the name before overrides, ``name`` the final name. ``derived``: whether the service has overrides.
    ``template`` is the existing template, or None if it must be created or is missing. ``base_found`` is the template
    of the base, or the selected one. ``spec`` is the specification that the operator writes for a service with
    overrides that does not use an existing template. ``error`` is the operator's message if the template cannot be
    resolved.
    """

    origin: Origin
    base: str = ""
    name: str = ""
    derived: bool = False
    template: Referent | None = None
    base_found: Referent | None = None
    spec: dict[str, Any] | None = None
    error: str = ""

    @property
    def makes(self) -> bool:
        """Whether the operator writes a template for this service."""
        return self.spec is not None


def resolve_template(service: dict[str, Any], view: ClusterView, *, choose: bool = False) -> Resolution:
    """Resolve the template of a service.

    ``choose``: whether to select among the available templates of the image if the service names no template and the
    image has no default, as AIM does from release 0.2 on.
    """
    found = _base(service, view, choose=choose)
    if found.error:
        return found
    if isinstance(at(service, "spec", "overrides"), dict):
        return _derived(service, view, found)
    template = found.base_found or find(view, TEMPLATES, namespace_of(service), found.base)
    error = "" if template else f'Template "{found.base}" not found. Create the template or verify the template name.'
    return replace(found, name=found.base, template=template, base_found=template, error=error)


def _base(service: dict[str, Any], view: ClusterView, *, choose: bool) -> Resolution:
    namespace, image = namespace_of(service), trimmed(service, "spec", "aimImageName")
    if explicit := trimmed(service, "spec", "templateRef"):
        return Resolution(Origin.EXPLICIT, explicit)
    default, _ = default_template(view, namespace, image)
    if default:
        return Resolution(Origin.DEFAULT, default)
    if choose:
        chosen = _chosen(service, view, namespace, image)
        if chosen.template:
            return Resolution(Origin.SELECTED, chosen.template.name, base_found=chosen.template)
        return Resolution(Origin.NONE, error=chosen.error)
    if isinstance(at(service, "spec", "overrides"), dict):
        return Resolution(Origin.NONE, derived=True, error="Observation failed: base template name is empty")
    return Resolution(
        Origin.NONE,
        error="No template reference specified and no default template found on the image. "
        "Provide spec.templateRef or configure the image's defaultServiceTemplate field.",
    )


def _chosen(service: dict[str, Any], view: ClusterView, namespace: str, image: str) -> Choice:
    found = find(view, IMAGES, namespace, image)
    if found is None:
        return Choice(error=f'No AIMImage or AIMClusterImage found for "{image}"')
    status = trimmed(found.object, "status", "status") or "Pending"
    if status != "Ready":
        return Choice(error=f'Waiting for image "{image}" to become Ready, it is {status}')
    overrides = mapping(service, "spec", "overrides")
    offered = (template for template in templates_for(view, namespace) if not is_derived(template))
    return select(offered, image, overrides, models_on_nodes(view))


def _derived(service: dict[str, Any], view: ClusterView, found: Resolution) -> Resolution:
    """Find the derived template by name, otherwise the first equal template, otherwise one to be created."""
    namespace = namespace_of(service)
    name = derived_name(found.base, suffix(mapping(service, "spec", "overrides")))
    result = replace(found, name=name, derived=True)
    base = found.base_found or find(view, TEMPLATES, namespace, found.base)
    named = find(view, TEMPLATES, namespace, name)
    expected = derived_spec(service, base.spec) if base else None
    if named and not named.cluster_scoped:
        return replace(result, template=named, base_found=base, spec=expected if is_derived(named) else None)
    if base is None or expected is None:
        return replace(result, error=f'Observation failed: base template "{found.base}" not found')
    for template in templates_for(view, namespace):
        same = same_common if template.cluster_scoped else same_template
        if same(expected, template.spec):
            return replace(result, name=template.name, template=template, base_found=base)
    return replace(result, base_found=base, spec=expected)
