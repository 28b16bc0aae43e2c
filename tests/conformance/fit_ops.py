"""Cases of fit: an object, the others of the cluster and its nodes, and the level of what may be said of it."""

from __future__ import annotations

from typing import Any

from webhook import catalog
from webhook.admission import Request, cut_end, kind_of
from webhook.cluster import MemoryView
from webhook.engine import FIT_CODES, Options, mutate, validate
from webhook.engine.findings import MESSAGE
from webhook.engine.placement.findings import faults_of, judged_of
from webhook.engine.review import ObjectReview
from webhook.facts.settings import Settings

OP = "fit"
CODES = {
    "nodes": ("KN001", "KN002"),
    "accelerator": ("KN003",),
    "weights": ("KF001", "KF002"),
    "ranks": ("KF003",),
    "storage": ("KF004",),
    "refused": ("KF005",),
    "metal": ("KF006",),
}
RELEASES = (("llmkube", "0.9.19"),)
"""Cases describe the newest release of LLMKube: the pod differs by release."""

_SYSTEM = ("system-cluster-critical", "system-node-critical")


def is_fit(document: dict[str, Any]) -> bool:
    return "fleets" in document and "cases" in document


def fit_cases(document: dict[str, Any]) -> list[dict[str, Any]]:
    fleets = document["fleets"]
    return [{**case, "op": OP, "fleet": fleets.get(case.get("nodes") or "", [])} for case in document["cases"]]


def _around(facts: dict[str, Any]) -> list[dict[str, Any]]:
    """What every cluster has, and what the case says of its autoscaler and of classes of devices."""
    classes = [_object("scheduling.k8s.io/v1", "PriorityClass", name) for name in _SYSTEM]
    told = {"present": "cluster-autoscaler-status", "absent": "kube-root-ca.crt"}.get(facts.get("autoscaler", ""))
    maps = [_object("v1", "ConfigMap", told, namespace="kube-system")] if told else []
    devices = [
        {**_object("resource.k8s.io/v1", "DeviceClass", f"d{place}"), "spec": {"extendedResourceName": resource}}
        for place, resource in enumerate(facts.get("draExtended", ()))
    ]
    return [*classes, *maps, *devices]


def _object(version: str, kind: str, name: str, **metadata: str) -> dict[str, Any]:
    return {"apiVersion": version, "kind": kind, "metadata": {"name": name, **metadata}}


def said(case: dict[str, Any]) -> list[tuple[str, str, str, bool]]:
    """The findings about the first object: code, field, text, and whether it is certain."""
    obj, *others = case["objects"]
    view = MemoryView([*others, *case["fleet"], *_around(case.get("facts", {}))])
    loaded = _catalog()
    known = loaded.find(kind_of(obj))
    assert known is not None, obj["kind"]
    names = {"name": obj["metadata"]["name"], "namespace": obj["metadata"].get("namespace", "")}
    options = Options(settings=Settings(releases=RELEASES))
    request = Request(known.gvk, known.plural, "CREATE", obj, None, **names)
    changed = mutate(request, loaded, view, options).object
    decision = validate(Request(known.gvk, known.plural, "CREATE", changed, None, **names), loaded, view, options)
    told = [(each.code, each.field, each.message) for each in decision.warnings if each.code in FIT_CODES]
    request = Request(known.gvk, known.plural, "CREATE", changed, None, **names)
    review = ObjectReview.of(known, request, loaded, view, options)
    judged = judged_of(review, review.obj)
    faults = () if judged is None else faults_of(judged, is_complete=options.complete)
    certain = {(fault.code, fault.field, cut_end(fault.text, MESSAGE)) for fault in faults if fault.certain}
    return [(*each, each in certain) for each in told]


_LOADED: list[Any] = []


def _catalog() -> Any:
    if not _LOADED:
        _LOADED.append(catalog.load(settings=Settings(releases=RELEASES)))
    return _LOADED[0]


def fit(case: dict[str, Any]) -> str | None:
    codes = CODES[case["expect"]["rule"]]
    found = [each for each in said(case) if each[0] in codes]
    level = "silent" if not found else "certain" if any(each[3] for each in found) else "probable"
    wanted = case["expect"]["level"]
    return None if level == wanted else f"{level}, not {wanted}: {found} ({case['expect']['why']})"


OPS = {OP: fit}
