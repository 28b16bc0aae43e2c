"""Claims of storage that a pod brings along."""

from __future__ import annotations

from typing import Final

from webhook.golang.names import dns_1123_label
from webhook.kubernetes.judge import Judge, rule
from webhook.kubernetes.metadata import check_annotations
from webhook.kubernetes.values import Json, field, quantities, text, texts
from webhook.schema.fielderror import forbidden, invalid, not_supported, required

__all__: list[str] = []

_MODES: Final = ("ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod")
_ONE_POD: Final = "ReadWriteOncePod"
_NAMES: Final = ("name", "generateName", "namespace", "selfLink", "uid", "resourceVersion", "generation")
_MORE: Final = ("creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "ownerReferences", "finalizers")
_FIELDS: Final = (*_NAMES, *_MORE, "managedFields")
_GO_NAMES: Final = {"uid": "uID"}


@rule("PersistentVolumeClaimTemplate")
def _claim_template(judge: Judge, value: Json, at: str) -> None:
    meta = field(value, "metadata") or {}
    check_annotations(judge, meta, f"{at}metadata.annotations")
    for key in _FIELDS:
        if meta.get(key):
            judge.say(forbidden(f"{at}metadata.{_GO_NAMES.get(key, key)}", "cannot be set"))


@rule("PersistentVolumeClaimSpec")
def _claim(judge: Judge, value: Json, at: str) -> None:
    modes = texts(value, "accessModes")
    for mode in modes:
        if mode not in _MODES:
            judge.say(not_supported(f"{at}accessModes", mode, _MODES))
    if _ONE_POD in modes and any(mode in _MODES and mode != _ONE_POD for mode in modes):
        judge.say(forbidden(f"{at}accessModes", "may not use ReadWriteOncePod with other access modes"))
    storage = quantities(field(value, "resources") or {}, "requests").get("storage")
    path = f"{at}resources[storage]"
    if storage is None:
        judge.whole(required(path))
    elif storage.sign() <= 0:
        judge.say(invalid(path, str(storage), "must be greater than zero"))
    _check_sources(judge, field(value, "dataSource"), field(value, "dataSourceRef"), at)


def _check_sources(judge: Judge, source: Json | None, ref: Json | None, at: str) -> None:
    for key, value in (("dataSource", source), ("dataSourceRef", ref)):
        if value is not None and not text(value, "apiGroup") and text(value, "kind") != "PersistentVolumeClaim":
            why = "must be 'PersistentVolumeClaim' when referencing the default apiGroup"
            judge.say(invalid(at + key, text(value, "kind"), why))
    if ref is None:
        return
    space = text(ref, "namespace")
    for problem in dns_1123_label(space) if space else []:
        judge.say(invalid(f"{at}dataSourceRef.namespace", space, problem))
    if source is None:
        return
    if space:
        judge.say(invalid(at[:-1], {}, "may not be specified when dataSourceRef.namespace is specified"))
    elif any(source.get(key) != ref.get(key) for key in ("apiGroup", "kind", "name")):
        judge.say(invalid(at[:-1], {}, "must match dataSourceRef"))
