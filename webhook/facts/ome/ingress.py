"""The ingress of an InferenceService: an Ingress or HTTPRoutes, by the configuration of OME and annotations over it.

Source: pkg/controller/v1beta1/inferenceservice/reconcilers/ingress and utils of OME (17b77eda). It makes none before
the components are ready. Where it would end with an error, there is none. Istio's VirtualService is left out.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, Final

from webhook.cluster.view import ClusterView, Kind
from webhook.facts.fact import OPEN, STRING, TEXTS, fields, listed
from webhook.facts.nodes import mapping, name_of, namespace_of, text, whole
from webhook.facts.ome.service import CONFIG, MULTI_NODE, RAW
from webhook.facts.ome.wiring import NOT_KEPT, Json, shortened, text_map
from webhook.facts.settings import Settings
from webhook.golang.names import dns_1123_label, dns_1123_subdomain

_SHIPPED: Final[Json] = {"ingressDomain": "svc.cluster.local", "disableIngressCreation": True}
"""What OME ships, where its ConfigMap is not in view; without the class, which is a matter of the cluster."""
_TEMPLATE: Final = "{{ .Name }}.{{ .Namespace }}.{{ .IngressDomain }}"
_DOMAIN: Final = "example.com"
_TEXTS: Final = ("ingressDomain", "domainTemplate", "ingressClassName", "omeIngressGateway")
_SWITCHES: Final = ("disableIngressCreation", "enableGatewayAPI")
_REQUIRED: Final = ("ingressGateway", "ingressService")
_OVER: Final = {"ingressDomain": "ome.io/ingress-domain", "domainTemplate": "ome.io/ingress-domain-template"}
_SWITCH: Final = "ome.io/ingress-disable-creation"
_VARIABLE: Final = re.compile(r"\{\{\s*\.(Name|Namespace|IngressDomain)\s*\}\}")
_HOST: Final = 63
"""Characters of the first label of a host."""
_SECONDS: Final = 60
_NOT_OF_ROUTES: Final = NOT_KEPT | {"networking.knative.dev/visibility"}

_PLACE: Final = {**dict.fromkeys(("host", "service"), STRING), "merged": OPEN}
_ROUTE: Final = fields(**_PLACE, **dict.fromkeys(("labels", "annotations"), TEXTS), timeout=STRING)
INGRESS: Final = fields(
    **dict.fromkeys(("className", "gateway", "gatewayNamespace"), STRING),
    rules=listed(fields(**_PLACE)),
    routes=listed(_ROUTE),
)
"""``rules`` are those of an Ingress, and ``routes`` are HTTPRoutes; at most one of them is there."""


def ingress_config(service: Json, view: ClusterView, settings: Settings) -> Json:
    """What OME's ConfigMap says of ingresses, with the annotations of a service over it; empty if OME refuses it."""
    config = _configured(view.get(Kind("", "ConfigMap"), settings.ome_namespace, CONFIG))
    annotations = text_map(service, "metadata", "annotations")
    if not config:
        return {}
    over = {key: annotations[name] for key, name in _OVER.items() if annotations.get(name)}
    switch = {"disableIngressCreation": annotations[_SWITCH] == "true"} if _SWITCH in annotations else {}
    return {**config, **over, **switch}


def _configured(config: Mapping[str, Any] | None) -> Json:
    written = mapping(config, "data").get("ingress")
    if config is None or not isinstance(written, str):
        return _SHIPPED if config is None else {"disableIngressCreation": False}
    try:
        given = json.loads(written)
    except (ValueError, RecursionError):
        return {}
    if not isinstance(given, dict) or not all(text(given, key) for key in _REQUIRED):
        return {}
    texts = all(isinstance(given.get(key), str | None) for key in _TEXTS)
    switches = all(isinstance(given.get(key), bool | None) for key in _SWITCHES)
    return {"disableIngressCreation": False, **_without_nulls(given)} if texts and switches else {}


def _without_nulls(given: Json) -> Json:
    return {key: value for key, value in given.items() if value is not None}


def ingress_of(service: Json, config: Json, modes: Mapping[str, str]) -> Json:
    """As :data:`INGRESS`, for a service whose components have these modes, by role; empty without an ingress."""
    entry = next((role for role in ("router", "decoder", "engine") if role in modes), "")
    if config.get("disableIngressCreation") is not False or modes.get(entry) not in {RAW, MULTI_NODE}:
        return {}
    return _routes(service, config, modes) if config.get("enableGatewayAPI") else _rules(service, config, modes, entry)


def _rules(service: Json, config: Json, modes: Mapping[str, str], entry: str) -> Json:
    """An Ingress: the host of the service leads to the router, else to the engine; others lead to each component."""
    name, own = name_of(service), [role for role in ("router", "engine", "decoder") if role in modes and len(modes) > 1]
    pairs = [(name, "router" if entry == "router" else "engine"), *((f"{name}-{role}", role) for role in own)]
    rules = [_rule(service, config, host, f"{name}-{role}") for host, role in pairs]
    made = {"className": config["ingressClassName"]} if "ingressClassName" in config else {}
    if not all(rule["host"] for rule in rules) or any(map(dns_1123_subdomain, made.values())):
        return {}
    return {"rules": rules, **made}


def _routes(service: Json, config: Json, modes: Mapping[str, str]) -> Json:
    """HTTPRoutes of engine and decoder: OME waits for ever for what it wants to know before that of a router."""
    namespace, gateway = [*text(config, "omeIngressGateway").split("/"), "", ""][:2]
    names = {"predictor": name_of(service), "decoder": f"{name_of(service)}-decoder"}
    parts = ["predictor", *(["decoder"] if "decoder" in modes else [])]
    routes = [_route(service, part, _rule(service, config, names[part], names[part])) for part in parts]
    if not (namespace and gateway and all(route["host"] for route in routes)):
        return {}
    return {"routes": routes, "gateway": gateway, "gatewayNamespace": namespace}


def _route(service: Json, part: str, rule: Json) -> Json:
    """A route with its timeout, which only the decoder and the old predictor say."""
    seconds = whole(service, "spec", part, "timeoutSeconds")
    places = {"timeout": "" if seconds is None else f"spec.{part}.timeoutSeconds"}
    route: Json = {"timeout": f"{_SECONDS if seconds is None else seconds}s"}
    for key in ("labels", "annotations"):
        given = text_map(service, "metadata", key).items()
        if kept := {name: value for name, value in given if name not in _NOT_OF_ROUTES}:
            route[key], places[key] = kept, f"metadata.{key}"
    return {**rule, **route, "merged": {**rule["merged"], **{key: {"at": place} for key, place in places.items()}}}


def _rule(service: Json, config: Json, name: str, target: str) -> Json:
    """Which host leads to which Service: "" for a host that OME refuses, or whose template is not understood."""
    annotations = text_map(service, "metadata", "annotations")
    written = next((over for key in ("domainTemplate", "ingressDomain") if annotations.get(over := _OVER[key])), None)
    at = f"metadata.annotations[{written}]" if written else "metadata.name"
    merged = {"host": {"at": at}, "service": {"at": "metadata.name"}}
    return {"host": _host(service, config, name), "service": target, "merged": merged}


def _host(service: Json, config: Json, name: str) -> str:
    values = {
        "Name": shortened(name, _HOST, letter=True),
        "Namespace": namespace_of(service),
        "IngressDomain": text(config, "ingressDomain") or _DOMAIN,
    }
    host = _VARIABLE.sub(lambda match: values[match[1]], text(config, "domainTemplate") or _TEMPLATE)
    labels = host.removesuffix(".").split(".")
    refused = dns_1123_subdomain(".".join(labels)) or len(labels) < 2 or any(map(dns_1123_label, labels))
    return "" if refused else host
