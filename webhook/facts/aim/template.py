"""Resolve the template of a service: named, default of the image, derived by overrides, or selected."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from webhook.cluster.view import ClusterView
from webhook.facts.aim.gpus import models_on_nodes
from webhook.facts.aim.lookup import IMAGES, TEMPLATES, Found, default_template, find, is_derived, templates_for
from webhook.facts.aim.overrides import derived_name, derived_spec, same_common, same_template, suffix
from webhook.facts.aim.selection import Choice, select
from webhook.facts.nodes import at, mapping, namespace_of, trimmed

__all__ = ["Origin", "Resolution", "resolve_template"]


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
    template: Found | None = None
    base_found: Found | None = None
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
