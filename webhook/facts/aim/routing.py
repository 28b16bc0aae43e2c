"""The HTTP route of a service: whether it exists, its gateway, and its path, which a routeTemplate gives.

A routeTemplate is a path with JSONPath expressions over an AIMService in braces.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from webhook.cluster.view import ClusterView, Kind
from webhook.facts.aim.expression import Missing, Unreadable, Value, evaluate
from webhook.facts.aim.lookup import GROUP, config_of
from webhook.facts.nodes import Referent, at, mapping, name_of, namespace_of, trimmed

LONGEST: Final = 200
"""The maximum length of a path, in bytes. The operator's message calls them characters."""
SEGMENT: Final = 63
_PLACEHOLDER: Final = re.compile(r"\{([^{}]+)\}")


@dataclass(frozen=True, slots=True)
class Route:
    """A rendered path, or the operator's ``error``. Both are empty if only the operator can compute the path."""

    path: str = ""
    error: str = ""


def render(template: str, service: dict[str, Any]) -> Route:
    """Render the path of a service's route."""
    parts: list[str] = []
    known = True
    position = 0
    for match in _PLACEHOLDER.finditer(template):
        expression = match[1].strip()
        try:
            value = evaluate(expression, service)
        except Unreadable as error:
            return Route(error=f'failed to evaluate route template "{expression}": {error}')
        known = known and value is not None
        parts += [template[position : match.start()], _inserted(value)]
        position = match.end()
    return normalised("".join([*parts, template[position:]])) if known else Route()


def template_error(template: str) -> str:
    """The reason why this template fails for every service, "" if it works for some service."""
    for match in _PLACEHOLDER.finditer(template):
        expression = match[1].strip()
        try:
            evaluate(expression, {})
        except Missing:
            continue
        except Unreadable as error:
            return f'failed to evaluate route template "{expression}": {error}'
    return _shortest(template).error if template else ""


def _shortest(template: str) -> Route:
    """The path if every expression is empty."""
    literal = _PLACEHOLDER.sub("", template)
    return normalised(literal if literal == template else literal.strip() or "/")


def normalised(path: str) -> Route:
    """Normalise a path as the operator does: each segment is a DNS label, without a trailing slash."""
    path = path.strip()
    if not path:
        return Route(error="route template produced an empty path")
    path = "/" + path.removeprefix("/").rstrip("/")
    if len(path.encode(errors="replace")) > LONGEST:
        return Route(error=f'route path "{path}" exceeds {LONGEST} characters')
    return Route("/" + "/".join(filter(None, map(as_segment, path.split("/")))))


def as_segment(text: str) -> str:
    """Convert text into a DNS label: ``Meta/Llama-3-8B`` → ``meta-llama-3-8b``."""
    text = re.sub(r"[^a-z0-9.-]+", "-", text.lower()).strip("-.")
    return re.sub(r"[-.]{2,}", "-", text)[:SEGMENT].rstrip("-")


def _inserted(value: Value | None) -> str:
    if value is None:
        return ""
    return value.text.strip() if value.raw else as_segment(value.text.strip())


@dataclass(frozen=True, slots=True)
class Routing:
    """``own``: whether the service has a routing block, which takes precedence over that of its runtime config."""

    enabled: bool = False
    own: bool = False
    gateway: dict[str, Any] | None = None
    template: str = ""


def effective_routing(service: dict[str, Any], config: Referent | None) -> Routing:
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
