"""Claims of storage that a pod brings along."""

from __future__ import annotations

from typing import Final

from webhook.golang.names import dns_1123_label
from webhook.ground.fieldpath import FieldPath
from webhook.kubernetes.judge import Judge, rule
from webhook.kubernetes.metadata import check_annotations
from webhook.kubernetes.values import Json, field, quantities, text, texts
from webhook.schema.fielderror import forbidden, invalid, not_supported, required

_MODES: Final = ("ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod")
_ONE_POD: Final = "ReadWriteOncePod"
_NAMES: Final = ("name", "generateName", "namespace", "selfLink", "uid", "resourceVersion", "generation")
_MORE: Final = ("creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "ownerReferences", "finalizers")
_FIELDS: Final = (*_NAMES, *_MORE, "managedFields")
_GO_NAMES: Final = {"uid": "uID"}


@rule("PersistentVolumeClaimTemplate")
def _claim_template(judge: Judge, value: Json, at: FieldPath) -> None:
    meta = field(value, "metadata") or {}
    check_annotations(judge, meta, at.child("metadata", "annotations"))
    for key in _FIELDS:
        if meta.get(key):
            judge.add(forbidden(at.child("metadata", _GO_NAMES.get(key, key)), "cannot be set"))


@rule("PersistentVolumeClaimSpec")
def _claim(judge: Judge, value: Json, at: FieldPath) -> None:
    modes = texts(value, "accessModes")
    for mode in modes:
        if mode not in _MODES:
            judge.add(not_supported(at.child("accessModes"), mode, _MODES))
    if _ONE_POD in modes and any(mode in _MODES and mode != _ONE_POD for mode in modes):
        judge.add(forbidden(at.child("accessModes"), "may not use ReadWriteOncePod with other access modes"))
    storage = quantities(field(value, "resources") or {}, "requests").get("storage")
    path = at.child("resources").key("storage")
    if storage is None:
        judge.add(required(path), only_if_complete=True)
    elif storage.sign() <= 0:
        judge.add(invalid(path, str(storage), "must be greater than zero"))
    _check_sources(judge, field(value, "dataSource"), field(value, "dataSourceRef"), at)


def _check_sources(judge: Judge, source: Json | None, ref: Json | None, at: FieldPath) -> None:
    for key, value in (("dataSource", source), ("dataSourceRef", ref)):
        if value is not None and not text(value, "apiGroup") and text(value, "kind") != "PersistentVolumeClaim":
            why = "must be 'PersistentVolumeClaim' when referencing the default apiGroup"
            judge.add(invalid(at.child(key), text(value, "kind"), why))
    if ref is None:
        return
    space = text(ref, "namespace")
    judge.add_invalid(dns_1123_label(space) if space else [], space, at, "dataSourceRef", "namespace")
    if source is None:
        return
    if space:
        judge.add(invalid(at, {}, "may not be specified when dataSourceRef.namespace is specified"))
    elif any(source.get(key) != ref.get(key) for key in ("apiGroup", "kind", "name")):
        judge.add(invalid(at, {}, "must match dataSourceRef"))
