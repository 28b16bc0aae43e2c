"""Service (``ValidateService``). Addresses and node ports are the allocators' concern, which know the cluster."""

from __future__ import annotations

import ipaddress
from typing import Any, Final

from webhook.golang.names import dns_1123_label, dns_1123_subdomain, label_key
from webhook.ground.fieldpath import ROOT, FieldPath
from webhook.kubernetes.formats import FORMATS
from webhook.kubernetes.judge import Judge, check_labels
from webhook.kubernetes.objects.selecting import check_address, check_cidr
from webhook.kubernetes.values import Json, field, number, structs, text, texts
from webhook.schema.fielderror import duplicate, forbidden, invalid, not_supported, required

_SPEC: Final = ROOT.child("spec")
_TYPES: Final = ("ClusterIP", "ExternalName", "LoadBalancer", "NodePort")
_PROTOCOLS: Final = ("SCTP", "TCP", "UDP")
_POLICIES: Final = ("Cluster", "Local")
_AFFINITIES: Final = ("ClientIP", "None")
_DISTRIBUTIONS: Final = ("PreferClose", "PreferSameZone", "PreferSameNode")
_KUBELET: Final = 10_250
_DAY: Final = 86_400
_BALANCED: Final = "may only be used when `type` is 'LoadBalancer'"
_RANGES: Final = "service.beta.kubernetes.io/load-balancer-source-ranges"


def check_service(judge: Judge, obj: Json) -> None:
    spec = field(obj, "spec") or {}
    kind = text(spec, "type")
    headless = texts(spec, "clusterIPs")[:1] == ["None"]
    if not spec.get("ports") and not headless and kind != "ExternalName":
        judge.add(required(_SPEC.child("ports")))
    _check_type(judge, spec, kind, headless=headless)
    _check_ports(judge, spec, kind)
    if "selector" in spec:
        check_labels(judge, spec["selector"], _SPEC.child("selector"))
    _check_affinity(judge, spec)
    for index, address in enumerate(texts(spec, "externalIPs")):
        own = _SPEC.child("externalIPs").index(index)
        if check_address(judge, address, own):
            _check_ordinary(judge, address, own)
    _check_balancer(judge, obj, spec, kind)
    _check_traffic(judge, spec, kind)


def _check_type(judge: Judge, spec: Json, kind: str, *, headless: bool) -> None:
    if kind not in _TYPES:
        judge.add(not_supported(_SPEC.child("type"), kind, _TYPES))
    elif kind in ("LoadBalancer", "NodePort"):
        if headless:
            why = f"may not be set to 'None' for {kind} services"
            judge.add(invalid(_SPEC.child("clusterIPs").index(0), "None", why))
    elif kind == "ExternalName":
        for key in ("clusterIPs", "ipFamilies", "ipFamilyPolicy"):
            if spec.get(key):
                judge.add(forbidden(_SPEC.child(key), "may not be set for ExternalName services"))
        name = text(spec, "externalName").removesuffix(".")
        if not name:
            judge.add(required(_SPEC.child("externalName")))
        judge.add_invalid(dns_1123_subdomain(name) if name else [], name, _SPEC, "externalName")


def _check_ports(judge: Judge, spec: Json, kind: str) -> None:
    ports, names = structs(spec, "ports"), set[str]()
    seen, nodes = set[tuple[str, int]](), set[tuple[str, int]]()
    for index, port in ports:
        at = _SPEC.child("ports").index(index)
        _check_port(judge, port, at, names, named=len(ports) > 1)
        protocol, own, node = text(port, "protocol"), number(port, "port") or 0, number(port, "nodePort") or 0
        if kind == "LoadBalancer" and own == _KUBELET:
            why = "may not expose port 10250 externally since it is used by kubelet"
            judge.add(invalid(at, own, why))
        if node and kind == "ClusterIP":
            judge.add(forbidden(at.child("nodePort"), "may not be used when `type` is 'ClusterIP'"))
        if node and (protocol, node) in nodes:
            judge.add(duplicate(at.child("nodePort"), node))
        if (protocol, own) in seen:
            judge.add(duplicate(at, port))
        nodes.add((protocol, node))
        seen.add((protocol, own))


def _check_port(judge: Judge, port: Json, at: FieldPath, names: set[str], *, named: bool) -> None:
    name, protocol, target = text(port, "name"), text(port, "protocol"), port.get("targetPort")
    if not name:
        if named:
            judge.add(required(at.child("name")))
    else:
        judge.add_invalid(dns_1123_label(name), name, at, "name")
        if name in names:
            judge.add(duplicate(at.child("name"), name))
        names.add(name)
    own = number(port, "port") or 0
    judge.add_invalid(FORMATS["port"][1](own), own, at, "port")
    if protocol not in _PROTOCOLS:
        judge.add(not_supported(at.child("protocol"), protocol, _PROTOCOLS))
    of_target = target if isinstance(target, str) else number(port, "targetPort") or 0
    judge.add_invalid(
        FORMATS["portName" if isinstance(target, str) else "port"][1](of_target), target, at, "targetPort"
    )
    spoken = port.get("appProtocol")
    judge.add_invalid(label_key(spoken) if isinstance(spoken, str) else [], spoken, at, "appProtocol")


def _check_affinity(judge: Judge, spec: Json) -> None:
    kind, config = text(spec, "sessionAffinity"), field(spec, "sessionAffinityConfig")
    if kind not in _AFFINITIES:
        judge.add(not_supported(_SPEC.child("sessionAffinity"), kind, _AFFINITIES))
    if kind == "ClientIP":
        at = _SPEC.child("sessionAffinityConfig", "clientIP", "timeoutSeconds")
        seconds = number(field(config or {}, "clientIP") or {}, "timeoutSeconds") or 0
        if not 0 < seconds <= _DAY:
            judge.add(invalid(at, seconds, f"must be greater than 0 and less than {_DAY}"))


def _check_ordinary(judge: Judge, address: str, at: FieldPath) -> None:
    """``ValidateNonSpecialIP``: an address that a host can have."""
    read: Any = ipaddress.ip_address(address)
    if read.is_unspecified:
        judge.add(invalid(at, address, f"may not be unspecified ({read})"))
    elif read.is_loopback:
        judge.add(invalid(at, address, "may not be in the loopback range (127.0.0.0/8, ::1/128)"))
    elif read.is_link_local:
        judge.add(invalid(at, address, "may not be in the link-local range (169.254.0.0/16, fe80::/10)"))
    elif read.is_multicast and (str(read).startswith("224.0.0.") or str(read).startswith("ff02:")):
        judge.add(invalid(at, address, "may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)"))


def _check_balancer(judge: Judge, obj: Json, spec: Json, kind: str) -> None:
    """What only a load balancer has."""
    ranges, at = texts(spec, "loadBalancerSourceRanges"), _SPEC.child("LoadBalancerSourceRanges")
    if ranges:
        if kind != "LoadBalancer":
            judge.add(forbidden(at, _BALANCED))
        for index, network in enumerate(ranges):
            check_cidr(judge, network.strip(), at.index(index))
    else:
        _check_note(judge, obj, kind)
    if spec.get("allocateLoadBalancerNodePorts") is not None and kind != "LoadBalancer":
        judge.add(forbidden(_SPEC.child("allocateLoadBalancerNodePorts"), _BALANCED))
    name = spec.get("loadBalancerClass")
    if isinstance(name, str):
        if kind != "LoadBalancer":
            judge.add(forbidden(_SPEC.child("loadBalancerClass"), _BALANCED))
        else:
            judge.add_invalid(label_key(name), name, _SPEC, "loadBalancerClass")


def _check_note(judge: Judge, obj: Json, kind: str) -> None:
    """Ranges may stand in an annotation."""
    notes = field(field(obj, "metadata") or {}, "annotations") or {}
    if _RANGES not in notes:
        return
    at = ROOT.child("metadata", "annotations").key(_RANGES)
    if kind != "LoadBalancer":
        judge.add(forbidden(at, _BALANCED))
    for network in filter(None, text(notes, _RANGES).strip().split(",")):
        check_cidr(judge, network.strip(), at)


def _check_traffic(judge: Judge, spec: Json, kind: str) -> None:
    outside, inside = text(spec, "externalTrafficPolicy"), text(spec, "internalTrafficPolicy")
    is_outside = kind in ("LoadBalancer", "NodePort") or (kind == "ClusterIP" and bool(spec.get("externalIPs")))
    at = _SPEC.child("externalTrafficPolicy")
    if not is_outside:
        if outside:
            judge.add(invalid(at, outside, "may only be set for externally-accessible services"))
    elif outside not in _POLICIES:
        judge.add(not_supported(at, outside, _POLICIES))
    port, at = number(spec, "healthCheckNodePort") or 0, _SPEC.child("healthCheckNodePort")
    if port and not (kind == "LoadBalancer" and outside == "Local"):
        why = "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'"
        judge.add(invalid(at, port, why))
    elif port:
        judge.add_invalid(FORMATS["port"][1](port), port, at)
    if spec.get("internalTrafficPolicy") is not None and inside not in _POLICIES:
        judge.add(not_supported(_SPEC.child("internalTrafficPolicy"), inside, _POLICIES))
    spread = spec.get("trafficDistribution")
    if isinstance(spread, str) and spread not in _DISTRIBUTIONS:
        judge.add(not_supported(_SPEC.child("trafficDistribution"), spread, _DISTRIBUTIONS))
