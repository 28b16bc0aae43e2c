"""The generated function of a kind's defaults decides about new objects as the rules and the schema one by one."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import pytest

from tests.engine.test_screen import mutant
from tests.policies.test_cases import files, read, target
from webhook import engine
from webhook.admission import Request, review
from webhook.admission.patch import MOST_OPERATIONS
from webhook.cli.cases import run
from webhook.cluster import MemoryView
from webhook.engine import Options
from webhook.engine.catalog import Catalog, KnownKind
from webhook.engine.filling.fresh import fresh, operations
from webhook.policy import Profile

VERSION = "admission.k8s.io/v1"
CHANGES = 12
"""Mutants of each case's object."""
ANSWERED = 0.9
"""The part of the cases' new objects that the function must decide: else this proves nothing."""
OTHERS = {"OpenModel", "InferenceService"}
"""Kinds whose defaults depend on more than the object."""


def reply(request: Any, known: KnownKind, loaded: Catalog, view: MemoryView, options: Options) -> tuple[Any, bytes]:
    catalog = replace(loaded, kinds={known.gvk: known})
    decision = engine.mutate(request, catalog, view, options)
    return decision, review.encode("mutate", VERSION, request, decision)


@pytest.mark.parametrize("file", files(), ids=lambda file: f"{file.parent.parent.name}/{file.stem}")
def test_the_function_of_a_kind_decides_as_rules_and_schema_one_by_one(file, loaded: Catalog):
    dice = random.Random(file.stem)
    asked = answered = 0
    for document in read(file):
        known = target(document, loaded)
        known.policy.prepare()
        quick, slow = replace(known), replace(known)
        made = fresh(known)
        assert (made is None) == (known.gvk.kind in OTHERS)
        quick._fresh.append(made)
        for case in document.cases:
            base = run(case, known, loaded).request
            view, options = MemoryView(case.others), Options(Profile(case.profile), settings=case.settings)
            for index in range(1 + CHANGES):
                obj = base.object if not index else mutant(base.object, dice)
                request = replace(base, object=obj, operation="CREATE", old_object=None, uid="1")
                found, reply_ = reply(request, quick, loaded, view, options)
                expected, exact = reply(request, slow, loaded, view, options)
                assert (found, reply_) == (expected, exact), obj
                if not index and made is not None:
                    asked += 1
                    answered += made(obj) is not None
    assert answered >= ANSWERED * asked


def made_for(kind: str, loaded: Catalog) -> Any:
    known = next(known for gvk, known in loaded.kinds.items() if gvk.kind == kind)
    known.policy.prepare()
    return fresh(known)


def model_with(**spec: Any) -> dict[str, Any]:
    metadata = {"name": "m", "namespace": "d"}
    return {"apiVersion": "inference.llmkube.dev/v1alpha1", "kind": "Model", "metadata": metadata, "spec": spec}


@pytest.mark.parametrize(
    "spec",
    [
        {"source": "https://a/b.gguf", "hardware": 7},
        {"source": "https://a/b.gguf", "hardware": {"gpu": []}},
    ],
    ids=["a scalar", "a list"],
)
def test_no_answer_where_the_function_is_not_sure(spec, loaded: Catalog):
    assert made_for("Model", loaded)(model_with(**spec)) is None


ACCELERATED = {"source": "x", "hardware": {"gpu": {"enabled": True, "runtime": "rocm"}, "accelerator": "cpu"}}


@pytest.mark.parametrize(
    "spec",
    [
        {"source": "https://a/b.gguf", "format": None},
        {"format": None, "hardware": {"gpu": {"enabled": True}, "accelerator": None}, "source": "x"},
        {"hardware": {"accelerator": None, "gpu": {"enabled": True}}, "refreshPolicy": None, "source": "x"},
        ACCELERATED,
        {"source": "x", "hardware": {"gpu": {"runtime": "rocm", "enabled": True}}},
        {"hardware": {"accelerator": "cpu", "gpu": {"enabled": True, "runtime": "vulkan"}}, "source": "x"},
        {"hardware": {"accelerator": "cpu", "gpu": {"enabled": True, "runtime": "cpu"}}, "source": "x"},
    ],
)
def test_what_is_replaced_has_its_place_in_the_patch(spec, loaded: Catalog):
    known = next(known for gvk, known in loaded.kinds.items() if gvk.kind == "Model")
    known.policy.prepare()
    quick, slow = replace(known), replace(known)
    quick._fresh.append(fresh(known))
    request = Request(known.gvk, "models", "CREATE", model_with(**spec), uid="1", name="m", namespace="d")
    assert fresh(known)(request.object) is not None
    replies = [reply(request, each, loaded, MemoryView(), Options()) for each in (quick, slow)]
    assert replies[0] == replies[1]


def test_an_object_with_all_defaults_is_returned_as_it_is(loaded: Catalog):
    obj = model_with(source="https://a/b.gguf", format="gguf", refreshPolicy="IfNotPresent")
    found = made_for("Model", loaded)(obj)
    assert found.object is obj
    assert not found.added


def test_the_object_is_not_changed(loaded: Catalog):
    spec = {"source": "https://a/b.gguf", "hardware": {"gpu": {"enabled": True, "count": 1}}}
    obj = model_with(**spec)
    before = repr(obj)
    found = made_for("Model", loaded)(obj)
    assert repr(obj) == before
    assert found.recorded["spec.hardware.gpu.resourceName"] == "nvidia.com/gpu"


def test_a_patch_with_too_many_operations_is_left_to_the_exact_way(loaded: Catalog):
    made = made_for("ServingRuntime", loaded)
    ports = [{"containerPort": number} for number in range(MOST_OPERATIONS + 1)]
    metadata = {"name": "r", "namespace": "d"}
    spec = {"containers": [{"name": "c", "ports": ports}]}
    obj = {"apiVersion": "ome.io/v1beta1", "kind": "ServingRuntime", "metadata": metadata, "spec": spec}
    found = made(obj)
    assert found is not None
    assert operations(obj, found, "{}") is None
