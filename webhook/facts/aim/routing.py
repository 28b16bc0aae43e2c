"""The HTTP route of a service: whether it exists, its gateway and its path."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from webhook.cluster.view import ClusterView, Kind
from webhook.facts.aim.lookup import GROUP, Found, config_of
from webhook.facts.aim.routetemplate import Route, normalised, render
from webhook.facts.nodes import at, mapping, name_of, namespace_of, trimmed

__all__ = ["Routing", "effective_routing", "route_of", "same_routes"]


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


def same_routes(service: dict[str, Any], view: ClusterView) -> list[dict[str, Any]]:
    """The other services whose routes have the same path on the same gateway.

    Those that are known to be younger do not count. Only the oldest route gets requests, and a tenant who comes later
    must not make the service of another one wrong.

    Only paths from a route template can be the same: the default path contains the UID.
    """
    mine = _route(service, view)
    if mine is None or not (path := route_of(service, mine.template).path):
        return []
    itself = namespace_of(service), name_of(service)
    return [
        each
        for each in view.list(Kind(GROUP, "AIMService"))
        if (other := _route(each, view)) is not None
        and other.listener == mine.listener
        and route_of(each, other.template).path == path
        and (namespace_of(each), name_of(each)) != itself
        and not _younger(each, service)
    ]


def _younger(other: dict[str, Any], service: dict[str, Any]) -> bool:
    theirs, mine = (trimmed(each, "metadata", "creationTimestamp") for each in (other, service))
    return bool(theirs and mine) and theirs > mine


class _Route(NamedTuple):
    """``listener``: namespace, name, section and port of the gateway."""

    listener: tuple[str, ...]
    template: str


def _route(service: dict[str, Any], view: ClusterView) -> _Route | None:
    """The route of a service; None without a route, or with the default path."""
    namespace = namespace_of(service)
    config = config_of(view, namespace, trimmed(service, "spec", "runtimeConfigName"))
    routing = effective_routing(service, config)
    if not (routing.enabled and routing.gateway and routing.template and name_of(service)):
        return None
    gateway = {"namespace": namespace, **routing.gateway}
    keys = ("namespace", "name", "sectionName", "port")
    return _Route(tuple(str(gateway.get(key, "")) for key in keys), routing.template)
