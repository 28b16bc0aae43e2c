"""AdmissionReviews about an object of any kind of the catalog, as the API server writes them."""

from __future__ import annotations

import copy
from functools import cache
from typing import Any

import orjson
import yaml

from tests.shared import ROOT
from webhook import catalog
from webhook.admission import GroupVersionKind
from webhook.catalog import Catalog, KnownKind

Json = dict[str, Any]

NAMESPACE = "inference"
FEW_BYTES = 64 * 1024
FEW_TOKENS = 2000
"""Up to both, a review is small: the gate decides it on its event loop."""


@cache
def loaded() -> Catalog:
    return catalog.load()


@cache
def kinds() -> dict[str, KnownKind]:
    """The kinds of the catalog by their names. Of the two InferenceServices, LLMKube's has its API before the name."""
    names = {gvk: gvk.kind for gvk in sorted(loaded().kinds)}  # the later of two groups has the name for itself
    last = {kind: gvk for gvk, kind in names.items()}
    return {
        kind if last[kind] == gvk else f"{loaded().kinds[gvk].api}/{kind}": loaded().kinds[gvk]
        for gvk, kind in names.items()
    }


def name_of(known: KnownKind) -> str:
    """The name by which :func:`kinds` has a kind."""
    return next(name for name, each in kinds().items() if each is known)


def review(known: KnownKind, obj: Json, old: Json | None = None) -> bytes:
    """A creation, or with ``old`` an update."""
    api = {"group": known.gvk.group, "version": known.gvk.version}
    request = {
        "uid": "705ab4f5-6393-11e8-b7cc-42010a800002",
        "kind": {**api, "kind": known.gvk.kind},
        "resource": {**api, "resource": known.plural},
        "name": obj["metadata"]["name"],
        "namespace": obj["metadata"].get("namespace", ""),
        "operation": "UPDATE" if old else "CREATE",
        "userInfo": {"username": "admin", "groups": ["system:masters"]},
        "object": obj,
        "oldObject": old,
        "dryRun": False,
        "options": {"kind": "UpdateOptions" if old else "CreateOptions", "apiVersion": "meta.k8s.io/v1"},
    }
    return orjson.dumps({"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1", "request": request})


def tokens(body: bytes) -> int:
    """The count by which the gate tells a large review before it parses one."""
    return body.count(b",") + body.count(b"[") + body.count(b"{")


def is_small(body: bytes) -> bool:
    return len(body) <= FEW_BYTES and tokens(body) <= FEW_TOKENS


def values(node: Any) -> int:
    """JSON values of an object, containers included."""
    if isinstance(node, dict):
        return 1 + sum(map(values, node.values()))
    return 1 + sum(map(values, node)) if isinstance(node, list) else 1


@cache
def cases() -> dict[GroupVersionKind, list[Json]]:
    """The cases of each kind, as they are written."""
    written: dict[GroupVersionKind, list[Json]] = {}
    for file in sorted(ROOT.glob("policies/*/cases/*.yaml")):
        document = yaml.load(file.read_text(), Loader=yaml.CSafeLoader)
        written.setdefault(GroupVersionKind(**document["target"]), []).extend(document["cases"])
    return written


def _written(known: KnownKind) -> list[Json]:
    """The objects of the kind's cases that nothing is found against."""
    plain = [case for case in cases()[known.gvk] if case.keys() <= {"name", "spec", "object", "others", "expect"}]
    silent = [case for case in plain if not case["expect"].keys() & {"deny", "warn"}]
    silent = silent or [case for case in plain if not any(map(case["expect"].get, ("deny", "warn")))]
    return [case.get("object") or {"spec": case.get("spec")} for case in silent]


def good(known: KnownKind) -> Json:
    """The smallest object with a spec of the kind's cases that nothing is found against, with a name."""
    return copy.deepcopy(_good(known.gvk))


@cache
def _good(gvk: GroupVersionKind) -> Json:
    known = loaded().kinds[gvk]
    smallest = min((obj for obj in _written(known) if obj.get("spec")), key=lambda obj: len(orjson.dumps(obj)))
    metadata = {"name": "a", **({"namespace": NAMESPACE} if known.namespaced else {})}
    head = {"apiVersion": f"{known.gvk.group}/{known.gvk.version}", "kind": known.gvk.kind, "metadata": metadata}
    return {**smallest, **head}


def stamped(obj: Json, text: str) -> Json:
    """The object with a stamp of this text, as a user may write one."""
    metadata = obj["metadata"]
    annotations = {**(metadata.get("annotations") or {}), "modelgate.dev/normalised": text}
    return {**obj, "metadata": {**metadata, "annotations": annotations}}


def made_up_stamp(size: int) -> str:
    """A well-formed stamp of about so many bytes, with as many defaulted fields as fit."""
    one = len('"spec.a00000":"a",')
    defaulted = {f"spec.a{number:05}": "a" for number in range(size // one)}
    return orjson.dumps({"catalog": "0" * 16, "defaulted": defaulted, "spec": "0" * 64}).decode()
