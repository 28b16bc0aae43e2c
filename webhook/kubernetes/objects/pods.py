"""A Pod that is created by itself: what is asked of it beside what is asked of a template (``ValidatePodCreate``)."""

from __future__ import annotations

from typing import Final

from webhook.ground.fieldpath import ROOT
from webhook.kubernetes.judge import Judge, walk
from webhook.kubernetes.metadata import all_containers, check_old_profiles, check_pod_annotations
from webhook.kubernetes.pod import POD
from webhook.kubernetes.values import Json, field, structs, text
from webhook.schema.fielderror import forbidden, invalid

_SPEC: Final = ROOT.child("spec")


def check_pod(judge: Judge, obj: Json) -> None:
    meta, spec = field(obj, "metadata") or {}, field(obj, "spec") or {}
    judge.owner = POD
    walk(judge, "PodSpec", spec, _SPEC)
    check_pod_annotations(judge, meta, spec, ROOT.child("metadata", "annotations"))
    check_old_profiles(judge, meta, spec, _SPEC)
    _check_images(judge, spec)
    _check_tokens(judge, spec)
    if spec.get("ephemeralContainers"):
        judge.add(forbidden(_SPEC.child("ephemeralContainers"), "cannot be set on create"))
    if spec.get("schedulingGates") and text(spec, "nodeName"):
        judge.add(forbidden(_SPEC.child("nodeName"), "cannot be set until all schedulingGates have been cleared"))


def _check_images(judge: Judge, spec: Json) -> None:
    """A template may have blanks around an image, but no pod that is made of it."""
    for at, container in all_containers(spec, _SPEC):
        image = text(container, "image")
        if image != image.strip():
            judge.add(invalid(at.child("image"), image, "must not have leading or trailing whitespace"))


def _check_tokens(judge: Judge, spec: Json) -> None:
    """A volume with a token needs an account, which admission fills in later."""
    if text(spec, "serviceAccountName"):
        return
    for index, volume in structs(spec, "volumes"):
        for place, source in structs(field(volume, "projected") or {}, "sources"):
            if field(source, "serviceAccountToken") is not None:
                at = _SPEC.child("volumes").index(index).child("projected", "sources").index(place)
                why = "must not be specified when serviceAccountName is not set"
                judge.add(forbidden(at.child("serviceAccountToken"), why))
