"""Whatever is written into an AIM object, the gate answers: no rule and no fact is a fault."""

import copy
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from tests.shared import ROOT
from webhook import catalog, engine
from webhook.admission.decision import GroupVersionKind, Request
from webhook.cli.cases import CasesDocument, parse_cases
from webhook.cluster import MemoryView
from webhook.engine import Options
from webhook.facts.settings import Settings
from webhook.manifests import documents
from webhook.policy import Profile

FILES = sorted((ROOT / "policies" / "aim" / "cases").glob("*.yaml"))
LOADED = catalog.load()
JUNK: tuple[Any, ...] = (None, True, -1, 1.5, "", " ", "{", [], [None], [{}], {}, {"name": None}, 2**70)
SETTINGS = Settings(aim_documented_precision=True, aim_auto_selection=True)


ABOUT: tuple[dict[str, Any], ...] = (
    {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "a", "labels": {"amd.com/gpu.device-id": "74a1"}}},
    {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {"name": "s", "annotations": {"storageclass.kubernetes.io/is-default-class": "true"}},
        "provisioner": "nfs.csi.k8s.io",
    },
    {
        "apiVersion": "aim.silogen.ai/v1alpha1",
        "kind": "AIMTemplateCache",
        "metadata": {"name": "c", "namespace": "default"},
        "spec": {"templateRef": "img-latency", "storageClassName": "s"},
        "status": {"status": "Failed"},
    },
    {
        "apiVersion": "aim.silogen.ai/v1alpha1",
        "kind": "AIMModelCache",
        "metadata": {"name": "m", "namespace": "default"},
        "spec": {"sourceUri": "hf://a/b"},
        "status": {"status": "Failed"},
    },
)


def damaged(node: Any) -> Iterator[Any]:
    """The value with each of its parts replaced by junk, one at a time."""
    yield from JUNK
    if isinstance(node, dict | list):
        for key in node if isinstance(node, dict) else range(len(node)):
            for child in damaged(node[key]):
                other = copy.copy(node)
                other[key] = child
                yield other


def key_of(metadata: dict[str, Any]) -> tuple[Any, Any]:
    return metadata.get("namespace"), metadata.get("name")


def richest(document: CasesDocument) -> dict[str, Any]:
    """The case that says most, so that every rule finds something to read."""
    specs = [case.object or {"spec": case.spec} for case in document.cases]
    return max(specs, key=lambda each: len(str(each)))


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_no_object_is_a_fault(file):
    (document,) = map(parse_cases, documents.read(file))
    target = document.target
    known = LOADED.find(GroupVersionKind(target.group, target.version, target.kind))
    view = MemoryView(document.cases[0].others)
    head = {"apiVersion": f"{target.group}/{target.version}", "kind": target.kind}
    whole = {"metadata": {"name": "s", "namespace": "default"}, **richest(document)}
    for spec in damaged(whole["spec"]):
        request = Request(known.gvk, known.plural, "CREATE", {**head, **whole, "spec": spec})
        for options in (Options(profile=Profile.STRICT), Options(settings=SETTINGS)):
            mutated = engine.mutate(request, LOADED, view, options)
            assert mutated.object is not None
            again = engine.mutate(replace(request, object=mutated.object), LOADED, view, options)
            assert again.object == mutated.object
            engine.validate(replace(request, object=mutated.object), LOADED, view, options)


@pytest.mark.parametrize(
    ("kind", "spec"),
    [
        ("AIMService", {"aimImageName": "img", "overrides": {"metric": "latency"}, "runtimeConfigName": "team"}),
        ("AIMService", {"aimImageName": "own", "cacheModel": True}),
        (
            "AIMServiceTemplate",
            {"aimImageName": "img", "caching": {"enabled": True}, "gpuSelector": {"count": 1, "model": "x"}},
        ),
        ("AIMModelCache", {"sourceUri": "hf://a/b", "size": "1Gi"}),
        ("AIMTemplateCache", {"templateRef": "img-latency"}),
        ("AIMImage", {"image": "r/x:1", "defaultServiceTemplate": "img-latency"}),
        ("AIMRuntimeConfig", {"defaultStorageClassName": "s"}),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_no_other_object_is_a_fault(kind, spec):
    (document,) = map(parse_cases, documents.read(ROOT / "policies" / "aim" / "cases" / "aimservice.yaml"))
    known = LOADED.find(GroupVersionKind("aim.silogen.ai", "v1alpha1", kind))
    head = {"apiVersion": "aim.silogen.ai/v1alpha1", "kind": kind}
    obj = {**head, "metadata": {"name": "s", "namespace": "default"}, "spec": spec}
    rival = {**obj, "metadata": {"name": "r", "namespace": "default"}}
    others = [*document.cases[0].others, *ABOUT, rival]
    request = Request(known.gvk, known.plural, "CREATE", obj)
    for index, other in enumerate(others):
        for part in {"spec", "status", "metadata", "provisioner"} & other.keys():
            for value in damaged(other[part]):
                if part == "metadata" and not (isinstance(value, dict) and key_of(value) == key_of(other[part])):
                    continue  # a view knows each object by its name
                view = MemoryView([*others[:index], {**other, part: value}, *others[index + 1 :]])
                engine.validate(request, LOADED, view, Options(settings=SETTINGS))
