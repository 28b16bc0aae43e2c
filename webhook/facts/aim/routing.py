"""The HTTP route of a service: whether it exists, its gateway and its path."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from webhook.facts.aim.lookup import Found
from webhook.facts.aim.routetemplate import Route, normalised, render
from webhook.facts.nodes import at, mapping, namespace_of, trimmed

__all__ = ["Routing", "effective_routing", "route_of"]


@dataclass(frozen=True, slots=True)
class Routing:
    """``own``: whether the service has a routing block, which takes precedence over that of its runtime config."""

    enabled: bool = False
    own: bool = False
    gateway: dict[str, Any] | None = None
    template: str = ""


def effective_routing(service: dict[str, Any], config: Found | None) -> Routing:
    """Merge the routing of a service over its runtime config. Even a defaulted ``enabled`` of the service applies."""
    own, base = at(service, "spec", "routing"), mapping(config.spec, "routing") if config else {}
    mine = own if isinstance(own, dict) else {}
    enabled = mine.get("enabled") if isinstance(own, dict) else base.get("enabled")
    gateway = mapping(mine, "gatewayRef") or mapping(base, "gatewayRef")
    templates = (at(each, "routeTemplate") for each in (mine, base))
    template = next((each for each in templates if isinstance(each, str) and each), "")
    return Routing(enabled is True, isinstance(own, dict), gateway or None, template)


def route_of(service: dict[str, Any], template: str) -> Route:
    """The path of a service's route: the rendered template, otherwise namespace and UID."""
    if template:
        return render(template, service)
    uid = trimmed(service, "metadata", "uid")
    return normalised(f"/{namespace_of(service)}/{uid}") if uid else Route()
