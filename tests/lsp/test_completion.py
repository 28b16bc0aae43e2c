"""What an editor offers while a manifest is written: fields, values, kinds and names."""

import pytest

from tests.lsp.scenes import MODEL, SERVICE, labels
from webhook.lsp.flow import flow_at


def test_fields_are_offered_without_those_that_are_there(editor):
    text = MODEL.replace("      count: 1\n", "      count: 1\n      \n")
    editor.open("model.yaml", text)
    offered = labels(editor, "model.yaml", text, "count: 1", 15)
    assert {"memory", "layers", "resourceName"} <= offered.keys()
    assert not {"vendor", "enabled", "count"} & offered.keys()
    assert offered["sharding"]["textEdit"]["newText"] == "sharding:\n        "


def test_values_of_an_enumeration_are_offered(editor):
    text = MODEL.replace("accelerator: cuda", "accelerator: ")
    editor.open("model.yaml", text)
    assert {"cpu", "cuda", "rocm"} <= labels(editor, "model.yaml", text, "accelerator: ", 13).keys()
    assert labels(editor, "model.yaml", text, "enabled: t", 10).keys() == {"true", "false"}


def test_kinds_are_offered_in_an_empty_file(editor):
    editor.open("new.yaml", "")
    offered = labels(editor, "new.yaml", "", "", 0)
    assert offered.keys() == {"apiVersion", "kind", "metadata", "spec"}
    text = "apiVersion: \nkind: Inf"
    editor.type("new.yaml", text)
    assert "ome.io/v1beta1" in labels(editor, "new.yaml", text, "apiVersion: ", 12)
    assert "InferenceService" in labels(editor, "new.yaml", text, "kind: Inf", 9)
    text = "apiVersion: ome.io/v1beta1\nkind: "
    editor.type("new.yaml", text)
    offered = labels(editor, "new.yaml", text, "kind: ", 6)
    assert "ClusterServingRuntime" in offered
    assert "Model" not in offered


def test_names_of_objects_are_offered_where_one_can_be_referred_to(editor):
    text = SERVICE.replace("modelRef: llama", "modelRef: ")
    editor.open("service.yaml", text)
    assert labels(editor, "service.yaml", text, "modelRef: ", 10).keys() == {"llama", "mistral"}
    text = SERVICE.replace("name: chat", "name: chat\n  namespace: far").replace("modelRef: llama", "modelRef: ")
    editor.type("service.yaml", text)
    assert labels(editor, "service.yaml", text, "modelRef: ", 10).keys() == {"faraway"}


@pytest.mark.parametrize("gap", ["", "\n   "], ids=["one line", "two lines"])
def test_fields_and_values_are_offered_in_braces(editor, gap):
    gpu = f"  hardware: {{accelerator: cuda,{gap} gpu: {{enabled: true, 'count': 1, , vendor: nvidia}}}}\n"
    text = MODEL.replace(MODEL.partition("  source")[2].partition("\n")[2], gpu)
    editor.open("model.yaml", text)
    offered = labels(editor, "model.yaml", text, "1, ,", 3)
    assert {"memory", "layers", "resourceName"} <= offered.keys()
    assert not {"vendor", "enabled", "count", "accelerator"} & offered.keys()
    assert offered["sharding"]["textEdit"]["newText"] == "sharding: "
    assert {"cpu", "cuda", "rocm"} <= labels(editor, "model.yaml", text, "accelerator: c", 14).keys()
    assert "gpu" not in labels(editor, "model.yaml", text, "accelerator: c", 14)
    text = SERVICE.replace("  modelRef: llama", "  endpoint: {path: /v1, ty}")
    editor.open("service.yaml", text)
    assert "type" in labels(editor, "service.yaml", text, ", ty", 4)
    text = SERVICE.partition("spec:")[0] + 'spec: {replicas: 1, modelRef: "ll"}\n'
    editor.type("service.yaml", text)
    (name,) = [item for label, item in labels(editor, "service.yaml", text, '"ll', 3).items() if label == "llama"]
    assert name["textEdit"]["newText"] == "llama"
    assert labels(editor, "service.yaml", text, '"}', 2) == {}


@pytest.mark.parametrize("text", ["a: {b: 1} # {c", "a: {{ .b", "a: [{b: 1}", "a: {b}}, c", "a: {b\nc: 1\nd: }"])
def test_where_no_brace_is_open_or_a_template_is_nothing_is_in_braces(text):
    lines = text.split("\n")
    flow = flow_at(lines, len(lines) - 1, len(lines[-1]))
    assert flow is None or (text, flow.path) == ("a: [{b: 1}", ["*"])


def test_fields_of_an_item_of_a_list_are_offered(editor):
    text = f"{SERVICE}  env:\n  - name: A\n    value: b\n  - name: B\n    va"
    editor.open("service.yaml", text)
    offered = {item["label"] for item in editor.at("completion", "service.yaml", (14, 6))}
    assert {"value", "valueFrom"} <= offered
    assert "name" not in offered


def test_half_a_file_gets_completions_too(editor):
    text = MODEL.replace("  source", "  : [ {broken\n  sou")
    editor.open("model.yaml", text)
    assert "hardware" not in labels(editor, "model.yaml", text, "  sou", 5)
    assert "source" in labels(editor, "model.yaml", text, "  sou", 5)
