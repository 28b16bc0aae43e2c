"""Ingress and NetworkPolicy (``pkg/apis/networking/validation``)."""

from __future__ import annotations

from typing import Any, Final

from webhook.golang.names import dns_1123_label, dns_1123_subdomain
from webhook.golang.net import is_ip
from webhook.ground.fieldpath import ROOT, FieldPath
from webhook.kubernetes.formats import FORMATS
from webhook.kubernetes.judge import Judge
from webhook.kubernetes.objects.selecting import check_cidr, check_reference, check_selector, network_of
from webhook.kubernetes.values import Json, field, number, structs, text, texts
from webhook.schema.fielderror import invalid, not_supported, required

_SPEC: Final = ROOT.child("spec")
_PATH_TYPES: Final = ("Exact", "ImplementationSpecific", "Prefix")
_SEQUENCES: Final = ("//", "/./", "/../", "%2f", "%2F")
_ENDS: Final = ("/..", "/.")
_PROTOCOLS: Final = ("TCP", "UDP", "SCTP")
_WILDCARD: Final = (
    "a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS subdomain, which must consist of "
    "lower case alphanumeric characters, '-' or '.' and end with an alphanumeric character (e.g. '*.example.com', "
    r"regex used for validation is '\*\.[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
)
_CLASS_NOTE: Final = "kubernetes.io/ingress.class"


def check_ingress(judge: Judge, obj: Json) -> None:
    spec = field(obj, "spec") or {}
    rules, backend = structs(spec, "rules"), field(spec, "defaultBackend")
    if not rules and backend is None:
        judge.add(invalid(_SPEC, [], "either `defaultBackend` or `rules` must be specified"))
    if backend is not None:
        _check_backend(judge, backend, _SPEC.child("defaultBackend"))
    for index, rule in rules:
        _check_rule(judge, rule, _SPEC.child("rules").index(index))
    for index, tls in structs(spec, "tls"):
        for number_, host in enumerate(texts(tls, "hosts")):
            _check_host(judge, host, _SPEC.child("tls").index(index).child("hosts").index(number_))
        name = text(tls, "secretName")
        judge.add_invalid(dns_1123_subdomain(name) if name else [], name, _SPEC.child("tls").index(index), "secretName")
    _check_class(judge, obj, spec)


def _check_class(judge: Judge, obj: Json, spec: Json) -> None:
    name = spec.get("ingressClassName")
    if not isinstance(name, str):
        return
    judge.add_invalid(dns_1123_subdomain(name), name, _SPEC, "ingressClassName")
    notes = field(field(obj, "metadata") or {}, "annotations") or {}
    if not judge.updates and _CLASS_NOTE in notes and notes[_CLASS_NOTE] != name:
        why = "must match `ingressClassName` when both are specified"
        judge.add(invalid(ROOT.child("annotations").child(_CLASS_NOTE), notes[_CLASS_NOTE], why))


def _check_rule(judge: Judge, rule: Json, at: FieldPath) -> None:
    host, http = text(rule, "host"), field(rule, "http")
    if host:
        if is_ip(host):
            judge.add(invalid(at.child("host"), host, "must be a DNS name, not an IP address"))
        _check_host(judge, host, at.child("host"))
    if http is None:
        return
    paths, at = structs(http, "paths"), at.child("http", "paths")
    if not paths:
        judge.add(required(at))
    for index, path in paths:
        _check_path(judge, path, at.index(index))


def _check_host(judge: Judge, host: str, at: FieldPath) -> None:
    """A name, or all names below one."""
    if "*" in host:
        rest = host.removeprefix("*.")
        if rest == host or dns_1123_subdomain(rest):
            judge.add(invalid(at, host, _WILDCARD))
        return
    judge.add_invalid(dns_1123_subdomain(host), host, at)


def _check_path(judge: Judge, path: Json, at: FieldPath) -> None:
    kind, given = path.get("pathType"), text(path, "path")
    if kind is None:
        judge.add(required(at.child("pathType"), "pathType must be specified"))
        return
    if kind in ("Exact", "Prefix"):
        if not given.startswith("/"):
            judge.add(invalid(at.child("path"), given, "must be an absolute path"))
        for sequence in _SEQUENCES if given else ():
            if sequence in given:
                judge.add(invalid(at.child("path"), given, f"must not contain '{sequence}'"))
        for end in _ENDS if given else ():
            if given.endswith(end):
                judge.add(invalid(at.child("path"), given, f"cannot end with '{end}'"))
    elif kind == "ImplementationSpecific":
        if given and not given.startswith("/"):
            judge.add(invalid(at.child("path"), given, "must be an absolute path"))
    else:
        judge.add(not_supported(at.child("pathType"), kind, _PATH_TYPES))
    _check_backend(judge, field(path, "backend") or {}, at.child("backend"))


def _check_backend(judge: Judge, backend: Json, at: FieldPath) -> None:
    resource, service = field(backend, "resource"), field(backend, "service")
    if resource is not None and service is not None:
        judge.add(invalid(at, "", "cannot set both resource and service backends"))
    elif resource is not None:
        check_reference(judge, resource, ("kind", "name"), at.child("resource"))
        group = resource.get("apiGroup")
        judge.add_invalid(
            dns_1123_subdomain(group) if isinstance(group, str) else [], group, at, "resource", "apiGroup"
        )
    elif service is None:
        judge.add(invalid(at, "", "resource or service backend is required"))
    else:
        _check_service(judge, service, at)


def _check_service(judge: Judge, service: Json, at: FieldPath) -> None:
    name, port = text(service, "name"), field(service, "port") or {}
    if not name:
        judge.add(required(at.child("service", "name")))
    judge.add_invalid(dns_1123_label(name) if name else [], name, at, "service", "name")
    own, count = text(port, "name"), number(port, "number") or 0
    if own and count:
        judge.add(invalid(at, "", "cannot set both port name & port number"))
    elif own:
        judge.add_invalid(FORMATS["portName"][1](own), own, at, "service", "port", "name")
    elif count:
        judge.add_invalid(FORMATS["port"][1](count), count, at, "service", "port", "number")
    else:
        judge.add(required(at, "port name or number is required"))


def check_network_policy(judge: Judge, obj: Json) -> None:
    spec = field(obj, "spec") or {}
    selector = field(spec, "podSelector")
    if selector is not None:
        check_selector(judge, selector, _SPEC.child("podSelector"))
    for direction, end in (("ingress", "from"), ("egress", "to")):
        for index, rule in structs(spec, direction):
            at = _SPEC.child(direction).index(index)
            for place, port in structs(rule, "ports"):
                _check_port(judge, port, at.child("ports").index(place))
            for place, peer in structs(rule, end):
                _check_peer(judge, peer, at.child(end).index(place))
    kinds = texts(spec, "policyTypes")
    if len(kinds) > 2:
        judge.add(invalid(_SPEC.child("policyTypes"), kinds, "may not specify more than two policyTypes"))
        return
    for index, kind in enumerate(kinds):
        if kind not in ("Ingress", "Egress"):
            judge.add(not_supported(_SPEC.child("policyTypes").index(index), kind, ("Ingress", "Egress")))


def _check_port(judge: Judge, port: Json, at: FieldPath) -> None:
    protocol, given, last = port.get("protocol"), port.get("port"), number(port, "endPort")
    if protocol is not None and protocol not in _PROTOCOLS:
        judge.add(not_supported(at.child("protocol"), protocol, _PROTOCOLS))
    is_text, own = isinstance(given, str), number(port, "port") or 0
    if given is not None:
        judge.add_invalid(FORMATS["portName" if is_text else "port"][1](given if is_text else own), given, at, "port")
    if last is None:
        return
    if given is None:
        judge.add(invalid(at.child("endPort"), last, "may not be specified when `port` is not specified"))
    elif is_text:
        judge.add(invalid(at.child("endPort"), last, "may not be specified when `port` is non-numeric"))
    else:
        if last < own:
            judge.add(invalid(at.child("endPort"), last, "must be greater than or equal to `port`"))
        judge.add_invalid(FORMATS["port"][1](last), last, at, "endPort")


def _check_peer(judge: Judge, peer: Json, at: FieldPath) -> None:
    there = 0
    for key in ("podSelector", "namespaceSelector"):
        selector = field(peer, key)
        if selector is not None:
            there += 1
            check_selector(judge, selector, at.child(key))
    block = field(peer, "ipBlock")
    if block is not None:
        there += 1
        _check_block(judge, block, at.child("ipBlock"))
    if not there:
        judge.add(required(at, "must specify a peer"))
    elif there > 1 and block is not None:
        judge.add(invalid(at, peer, "may not specify both ipBlock and another peer"))


def _check_block(judge: Judge, block: Json, at: FieldPath) -> None:
    given = text(block, "cidr")
    if not given:
        judge.add(required(at.child("cidr")))
        return
    check_cidr(judge, given, at.child("cidr"))
    whole: Any = network_of(given, strict=False)
    for index, part in enumerate(texts(block, "except")):
        own = at.child("except").index(index)
        check_cidr(judge, part, own)
        inner: Any = network_of(part, strict=False)
        if whole is None or inner is None:
            continue
        if inner.version != whole.version or not inner.subnet_of(whole) or inner.prefixlen <= whole.prefixlen:
            judge.add(invalid(own, part, "must be a strict subset of `cidr`"))
