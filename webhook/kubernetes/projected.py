"""Volumes that are made of several sources, and the downward API."""

from __future__ import annotations

from typing import Final

from webhook.golang.names import dns_1123_label, dns_1123_subdomain, label_key
from webhook.golang.strconv import quote
from webhook.ground.fieldpath import FieldPath
from webhook.kubernetes.env import check_field_ref, check_resource_ref
from webhook.kubernetes.judge import DATA, Judge, rule, walk
from webhook.kubernetes.values import Json, field, go_struct, number, structs, text
from webhook.schema import annotations_size
from webhook.schema.fielderror import FieldError, forbidden, invalid, required, too_long

_SOURCES: Final = ("secret", "configMap", "downwardAPI", "serviceAccountToken", "clusterTrustBundle", "podCertificate")
_CERTIFICATE_PATHS: Final = ("credentialBundlePath", "keyPath", "certificateChainPath")
_BUNDLE: Final = ("name", "signerName", "labelSelector", "optional", "path", "user")
_DAY: Final = 24 * 60 * 60


@rule("DownwardAPIVolumeSource")
def _downward(judge: Judge, value: Json, at: FieldPath) -> None:
    for _, file in structs(value, "items"):
        _check_file(judge, file, at)


def _check_file(judge: Judge, file: Json, at: FieldPath) -> None:
    """``validateDownwardAPIVolumeFile``; Kubernetes gives the path of the volume, not of the file."""
    walk(judge, "DownwardAPIVolumeFile", file, at)
    ref, resource = field(file, "fieldRef"), field(file, "resourceFieldRef")
    if ref is not None:
        check_field_ref(judge, ref, at.child("fieldRef"), DATA["fieldPaths"]["volume"])
        if resource is not None:
            judge.add(invalid(at, "resource", "fieldRef and resourceFieldRef can not be specified simultaneously"))
    elif resource is not None:
        check_resource_ref(judge, resource, at.child("resourceFieldRef"), volume=True)
    else:
        judge.add(required(at, "one of fieldRef and resourceFieldRef is required"))


class _Paths:
    """The files that the sources of one volume make; two of one name conflict."""

    def __init__(self, judge: Judge, at: FieldPath) -> None:
        self.judge, self.path, self.seen = judge, at, set[str]()

    def add(self, path: str, value: str) -> None:
        if path in self.seen:
            self.judge.add(invalid(self.path, value, "conflicting duplicate paths"))
        self.seen.add(path)


@rule("ProjectedVolumeSource")
def _projected(judge: Judge, value: Json, at: FieldPath) -> None:
    paths = _Paths(judge, at)
    for index, source in structs(value, "sources"):
        own = at.child("sources").index(index)
        for key in ("secret", "configMap"):
            _check_items(judge, field(source, key), own.child(key), paths)
        for _, file in structs(field(source, "downwardAPI") or {}, "items"):
            _check_file(judge, file, own.child("downwardAPI"))
            if text(file, "path"):
                paths.add(file["path"], file["path"])
        _check_token(judge, field(source, "serviceAccountToken"), own.child("serviceAccountToken"), at)
        _check_bundle(judge, field(source, "clusterTrustBundle"), own.child("clusterTrustBundle"), paths)
        _check_certificate(judge, field(source, "podCertificate"), own.child("podCertificate"), paths)
        if sum(isinstance(source.get(key), dict) for key in _SOURCES) > 1:
            judge.add(forbidden(own, "may not specify more than 1 volume type per source"))


def _check_items(judge: Judge, source: Json | None, at: FieldPath, paths: _Paths) -> None:
    if source is None:
        return
    name = text(source, "name")
    if not name:
        judge.add(required(at.child("name")))
    for index, item in structs(source, "items"):
        walk(judge, "KeyToPath", item, at.child("items").index(index))
        if text(item, "path"):
            paths.add(item["path"], name)


def _check_token(judge: Judge, token: Json | None, at: FieldPath, volume: FieldPath) -> None:
    """Kubernetes gives the errors of ``path`` at the volume."""
    if token is None:
        return
    seconds, own = number(token, "expirationSeconds"), at.child("expirationSeconds")
    if seconds is not None and seconds < 600:
        judge.add(invalid(own, seconds, "may not specify a duration less than 10 minutes"))
    if seconds is not None and seconds > 2**32:
        judge.add(invalid(own, seconds, "may not specify a duration larger than 2^32 seconds"))
    walk(judge, "ServiceAccountTokenProjection", token, volume)


def _check_bundle(judge: Judge, bundle: Json | None, at: FieldPath, paths: _Paths) -> None:
    if bundle is None:
        return
    name, signer, selector = bundle.get("name"), bundle.get("signerName"), field(bundle, "labelSelector")
    if isinstance(name, str) and isinstance(signer, str):
        shown = go_struct(bundle | {"path": text(bundle, "path"), "labelSelector": _printed(selector)}, _BUNDLE)
        judge.add(invalid(at, shown, "only one of name and signerName may be used"))
    elif isinstance(name, str):
        if not name:
            judge.add(required(at.child("name"), "must be a valid object name"))
        for problem in _bundle_name_problems(name):
            judge.add(invalid(at.child("name"), name, f"not a valid clustertrustbundlename: {problem}"))
        if selector is not None:
            judge.add(invalid(at.child("labelSelector"), selector, "labelSelector must be unset if name is specified"))
    elif isinstance(signer, str):
        if not signer:
            judge.add(required(at.child("signerName"), "must be a valid signer name"))
        _check_signer(judge, signer, at.child("signerName"))
        if selector is not None:
            walk(judge, "LabelSelector", selector, at.child("labelSelector"))
    else:
        judge.add(required(at, "either name or signerName must be specified"))
    walk(judge, "ClusterTrustBundleProjection", bundle, at)
    paths.add(text(bundle, "path"), text(bundle, "path"))


def _printed(selector: Json | None) -> Json | None:
    """A label selector as Go prints it: the key and the operator of a requirement are never left out."""
    if selector is None or "matchExpressions" not in selector:
        return selector
    requirements = [{"key": "", "operator": ""} | item for _, item in structs(selector, "matchExpressions")]
    return selector | {"matchExpressions": requirements}


def _bundle_name_problems(name: str) -> list[str]:
    """``ValidateClusterTrustBundleName`` with the signer that the name itself names."""
    signer, colon, own = name.rpartition(":")
    if not colon:
        return dns_1123_subdomain(name)
    return (
        dns_1123_subdomain(own) if signer else ['ClusterTrustBundle without signer name must not have ":" in its name']
    )


def _check_signer(judge: Judge, name: str, path: FieldPath) -> None:
    """``ValidateSignerName``."""
    if not name:
        judge.add(required(path))
        return
    domain, _, own = name.partition("/")
    if name.count("/") != 1:
        why = "must be a fully qualified domain and path of the form 'example.com/signer-name'"
        judge.add(invalid(path, name, why))
        return
    if len(domain.encode()) > 253:
        judge.add(too_long(path, 253))
    for part, problems_of in ((domain, dns_1123_label), (own, dns_1123_subdomain)):
        for label in part.split("."):
            problems = problems_of(label)
            for problem in problems:
                judge.add(invalid(path, part, f"validating label {quote(label)}: {problem}"))
            if problems:
                break
    if "." not in domain:
        judge.add(invalid(path, domain, "should be a domain with at least two segments separated by dots"))
    if len(name.encode()) > 571:  # two subdomains, a label, a dot and a slash
        judge.add(too_long(path, 571))


def _check_certificate(judge: Judge, value: Json | None, at: FieldPath, paths: _Paths) -> None:
    if value is None:
        return
    signer, notes, seconds = (
        text(value, "signerName"),
        field(value, "userAnnotations"),
        number(value, "maxExpirationSeconds"),
    )
    _check_signer(judge, signer, at.child("signerName"))
    for error in _user_annotations(notes or {}, at.child("userAnnotations")):
        judge.add(error)
    walk(judge, "PodCertificateProjection", value, at)
    if seconds is not None:
        host = signer.partition("/")[0]
        most = _DAY if f".{host}".endswith(".kubernetes.io") else 91 * _DAY
        for wrong, sign in ((seconds < 3600, ">= 3600"), (seconds > most, f"<= {most}")):
            if wrong:
                why = f"if provided, maxExpirationSeconds must be {sign}"
                judge.add(invalid(at.child("maxExpirationSeconds"), seconds, why))
    files = [path for key in _CERTIFICATE_PATHS if (path := text(value, key))]
    for path in files:
        paths.add(path, path)
    if not files:
        why = "specify at least one of credentialBundlePath, keyPath, and certificateChainPath"
        judge.add(required(at, why))


def _user_annotations(notes: Json, path: FieldPath) -> list[FieldError]:
    errors: list[FieldError] = []
    for name in map(str.lower, notes):
        problems = label_key(name) if name else []
        errors += [required(path)] if not name else [invalid(path, name, problem) for problem in problems]
        if name and not problems and "/" not in name:
            errors.append(invalid(path, name, 'must be a domain-prefixed key (such as "acme.io/foo")'))
    texts_only = {key: note for key, note in notes.items() if isinstance(note, str)}
    return errors + annotations_size(texts_only, path)
