"""LLMKube's InferenceServices before a real API server, beside their Models."""

from __future__ import annotations

import json

import pytest

from tests.e2e.processes import wait_until

pytestmark = pytest.mark.usefixtures("seeing")

SERVICES = "inferenceservices.inference.llmkube.dev"


def obj(kind, name, **spec):
    head = {"apiVersion": "inference.llmkube.dev/v1alpha1", "kind": kind, "metadata": {"name": name}}
    return {**head, "spec": spec}


def said(kubectl, given):
    answer = kubectl.run("apply", "--dry-run=server", "-f", "-", stdin=json.dumps(given))
    return answer.code, answer.err


def test_a_good_one_is_stored_as_the_definition_fills_it_in(kubectl):
    kubectl.send("create", obj("Model", "llama", source="https://example.com/m.gguf"))
    answer = kubectl.run("create", "-f", "-", stdin=json.dumps(obj("InferenceService", "chat", modelRef="llama")))
    assert (answer.code, answer.err) == (0, "")
    spec = kubectl.json("get", SERVICES, "chat")["spec"]
    assert spec == {"modelRef": "llama", "runtime": "llamacpp", "replicas": 1, "priority": "normal"}


def test_what_makes_the_operator_panic_is_said(kubectl):
    code, err = said(kubectl, obj("InferenceService", "chat", modelRef="llama", resources={"memory": "16GB"}))
    assert code == 0
    assert (
        'spec.resources.memory: "16GB" is not a quantity, and the operator gives up without a word; write 16Gi' in err
    )


def test_what_the_definition_refuses_is_refused(kubectl):
    code, err = said(kubectl, obj("InferenceService", "chat", modelRef="llama", runtime="omlx"))
    assert code == 1
    assert 'spec.runtime: Unsupported value: "omlx"' in err


def test_a_service_and_its_model_are_told_what_does_not_fit(kubectl):
    kubectl.send("create", obj("Model", "weights", source="org/repo", format="safetensors"))
    service = obj("InferenceService", "text", modelRef="weights", extraArgs=["-hf", "org/repo"], skipModelInit=True)
    _, err = said(kubectl, service)
    assert "llamacpp does not read the format safetensors of the Model" in err
    kubectl.send("create", service)
    model = obj("Model", "weights", source="org/repo", format="safetensors", quantization="fp8")
    wait_until(lambda: "serves it by llamacpp, which does not read safetensors" in said(kubectl, model)[1], "its word")


def test_a_model_that_is_not_there_is_missed(kubectl):
    _, err = said(kubectl, obj("InferenceService", "early", modelRef="nowhere"))
    assert 'there is no Model "nowhere" in this namespace' in err
