"""The other shapes of llmd.ai/v1alpha1: who has the definition of one is told which, by a gate that knows ours."""

from __future__ import annotations

import json
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

import pytest

from tests.definitions import POLICIES, definition
from tests.e2e.gate import STAMP
from tests.e2e.kinds import KINDS, merged
from tests.e2e.kubectl import Object
from tests.e2e.models import FINALIZER
from tests.e2e.processes import wait_until

pytestmark = pytest.mark.usefixtures("gate")

RESOURCE = "variantautoscalings.llmd.ai"
OURS = POLICIES / "llmd" / "crds" / "variantautoscalings.yaml"
(ROW,) = (row for row in KINDS if row.kind == "VariantAutoscaling")

TEXT = {"type": "string"}
NUMBER = {"type": "integer"}


def an_object(required: list[str], **properties: Any) -> Object:
    return {"type": "object", "required": required, "properties": properties}


TARGET = an_object(["kind", "name"], kind=TEXT, name=TEXT)
PARAMETERS = {"type": "object", "additionalProperties": TEXT}
ACCELERATOR = an_object(
    ["acc"],
    acc=TEXT,
    accCount=NUMBER,
    maxBatchSize=NUMBER,
    perfParms=an_object([], decodeParms=PARAMETERS, prefillParms=PARAMETERS),
)


@dataclass(frozen=True)
class Shape:
    """What a specification is there, one as its users write it, and what the gate says of it."""

    schema: Object
    spec: Object
    says: str


SHAPES = {
    "the oldest": Shape(
        an_object(["modelName"], modelName=TEXT, serviceClass=TEXT, acceleratorType=TEXT, minReplicas=NUMBER),
        {"modelName": "meta/llama-3.1-8b", "serviceClass": "Premium", "acceleratorType": "A100", "minReplicas": 1},
        "fields of the oldest shape of llmd.ai/v1alpha1: modelName, serviceClass, acceleratorType",
    ),
    "an older": Shape(
        an_object(
            ["modelID", "modelProfile"],
            modelID=TEXT,
            sloClassRef=an_object(["name", "key"], name=TEXT, key=TEXT),
            modelProfile=an_object(["accelerators"], accelerators={"type": "array", "items": ACCELERATOR}),
        ),
        {
            "modelID": "meta/llama-3.1-8b",
            "sloClassRef": {"name": "premium", "key": "llama"},
            "modelProfile": {
                "accelerators": [
                    {
                        "acc": "A100",
                        "accCount": 1,
                        "maxBatchSize": 4,
                        "perfParms": {
                            "decodeParms": {"alpha": "20.58", "beta": "0.41"},
                            "prefillParms": {"gamma": "5.2", "delta": "0.1"},
                        },
                    }
                ]
            },
        },
        "fields of an older shape of llmd.ai/v1alpha1: modelProfile",
    ),
    "a newer": Shape(
        an_object(
            ["scaleTargetRef", "modelID"],
            scaleTargetRef=TARGET,
            modelID=TEXT,
            variantCost={"type": "string", "default": "10.0"},
        ),
        {"scaleTargetRef": {"kind": "Deployment", "name": "llama-8b"}, "modelID": "meta/llama-3.1-8b"},
        "fields of a newer shape of llmd.ai/v1alpha1: scaleTargetRef, variantCost",  # the cost by default
    ),
}


def with_spec(schema: Object) -> Object:
    """Our definition, but for the specification."""
    changed = deepcopy(definition(OURS))
    changed["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"] = schema
    return changed


@pytest.fixture
def install(plane, kubectl):
    """Install a definition instead of the shipped one until the test ends; takes it and an object only it accepts."""

    def change(installed: Object, sample: Object) -> None:
        plane.kubectl.send("apply", installed, "--server-side", "--force-conflicts")
        wait_until(lambda: is_taken(sample), "the definition to be served")

    def is_taken(sample: Object) -> bool:
        """Whether the API server itself takes it: what it refuses, it does not show the gate."""
        error = kubectl.run("create", "-f", "-", "--dry-run=server", stdin=json.dumps(sample)).err
        return not error or "modelgate" in error or "(LD" in error

    yield change
    change(definition(OURS), ROW.object("sample"))


@pytest.mark.parametrize("name", SHAPES)
def test_another_shape_is_refused_and_named(kubectl, install, name):
    shape = SHAPES[name]
    written = {**ROW.object("another"), "spec": shape.spec}
    install(with_spec(shape.schema), written)
    refusal = kubectl.refusal("create", written)
    assert f"spec: Invalid value: {shape.says}; this is the shape with one variant, so use " in refusal
    assert "(LD202)" in refusal
    assert "spec.variantID: Required value" in refusal


def test_fields_of_a_later_form_of_our_shape_are_warned_of_and_left_alone(kubectl, install):
    schema = deepcopy(definition(OURS)["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"])
    schema["properties"] |= {"scaleTargetRef": TARGET, "minReplicas": NUMBER}
    later = {"scaleTargetRef": {"kind": "Deployment", "name": "llama-8b"}, "minReplicas": 1}
    written = ROW.object("later", later)
    install(with_spec(schema), written)
    answer = kubectl.run("create", "-f", "-", stdin=json.dumps(written))
    assert answer.code == 0
    assert (
        "fields of a later shape of llmd.ai/v1alpha1, which are dropped here: scaleTargetRef, minReplicas" in answer.err
    )
    stored = kubectl.find(RESOURCE, "later")
    assert stored["spec"] == merged(ROW.spec, later)
    assert STAMP in stored["metadata"]["annotations"]
    kubectl("delete", RESOURCE, "later")


def test_an_object_of_another_shape_that_is_older_than_the_gate_can_be_labelled_and_deleted(kubectl, gate, install):
    shape = SHAPES["a newer"]
    written = {**ROW.object("old", finalizers=[FINALIZER]), "spec": shape.spec}
    install(with_spec(shape.schema), written)
    with gate.absent():
        kubectl.send("create", written)
    assert kubectl.patch(RESOURCE, "old", {"metadata": {"labels": {"team": "blue"}}})["metadata"]["labels"]
    kubectl("delete", RESOURCE, "old", "--wait=false")
    kubectl.patch(RESOURCE, "old", {"metadata": {"finalizers": None}})
    kubectl("wait", "--for=delete", f"{RESOURCE}/old", "--timeout=30s")
