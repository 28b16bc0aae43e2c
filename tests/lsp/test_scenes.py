"""Scenes of an editor with the real server, over its pipes: open, type a fault, hover, repair, rename, break, undo …"""

import contextlib
import json
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from tests.lsp.client import Editor, Failed, between, edited, place_of, said
from tests.shared import ROOT
from webhook.lsp.flow import flow_at

MODEL = """\
apiVersion: inference.llmkube.dev/v1alpha1
kind: Model
metadata:
  name: llama
spec:
  source: https://example.com/llama.gguf
  hardware:
    accelerator: cuda
    gpu:
      enabled: true
      vendor: nvidia
      count: 1
"""
SERVICE = """\
apiVersion: inference.llmkube.dev/v1alpha1
kind: InferenceService
metadata:
  name: chat
spec:
  modelRef: llama
  image: ghcr.io/ggml-org/llama.cpp:server-cuda
  replicas: 1
  resources:
    gpu: 1
"""
RUNTIMES = """\
apiVersion: ome.io/v1beta1
kind: ClusterBaseModel
metadata: {name: base}
spec:
  modelFormat: {name: safetensors}
  modelArchitecture: LlamaForCausalLM
  modelParameterSize: 7B
  storage: {storageUri: "hf://meta/llama"}
---
apiVersion: ome.io/v1beta1
kind: ClusterServingRuntime
metadata: {name: fits}
spec:
  supportedModelFormats:
  - {modelFormat: {name: safetensors}, modelArchitecture: LlamaForCausalLM, autoSelect: true, priority: 1}
  engineConfig:
    runner: {name: ome-container, image: "example.com/sglang:1"}
"""
OME = """\
apiVersion: ome.io/v1beta1
kind: InferenceService
metadata:
  name: chosen
  namespace: default
spec:
  model:
    name: base
    kind: ClusterBaseModel
  engine:
    minReplicas: 1
"""
CACHE = """\
apiVersion: aim.silogen.ai/v1alpha1
kind: AIMModelCache
metadata: {name: cache}
spec: {sourceUri: "hf://org/model", size: 20Gi}
"""
EVERYTHING = between((0, 0), (1000, 0))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("workspace")
    (folder / ".git").mkdir()
    (folder / "model.yaml").write_text(MODEL)
    (folder / "service.yaml").write_text(SERVICE)
    (folder / "other.yaml").write_text(MODEL.replace("name: llama", "name: mistral"))
    (folder / "elsewhere.yaml").write_text(MODEL.replace("name: llama", "name: faraway\n  namespace: far"))
    (folder / "runtimes.yaml").write_text(RUNTIMES)
    return folder


@pytest.fixture(scope="module")
def shared(folder):
    with Editor(folder, "--docs-url", "https://docs.example.com") as editor:
        yield editor
        assert editor.close() == 0
        assert "Traceback" not in editor.log.decode()


@pytest.fixture
def editor(shared):
    """The editor, in which nothing is open."""
    yield shared
    for name in [*shared.opened]:
        shared.shut(name)


def actions(editor, name, place, **context):
    wanted = between(place, place)
    return editor.whole("codeAction", name, range=wanted, context={"diagnostics": [], **context})


def changed(editor, name, text, action):
    """The text after an action, which the editor then has; and its findings."""
    new = edited(text, action["edit"]["changes"][editor.uri(name)])
    return new, editor.type(name, new)


def labels(editor, name, text, words, behind):
    """What is offered behind some words."""
    return {item["label"]: item for item in editor.at("completion", name, place_of(text, words, behind))}


def test_a_right_file_has_no_findings(editor):
    assert editor.open("model.yaml") == []
    assert editor.open("service.yaml") == []


def test_a_fault_is_red_while_it_is_typed_and_gone_when_it_is_undone(editor):
    editor.open("model.yaml")
    place = place_of(MODEL, "source")
    findings = editor.type("model.yaml", "fomat: gguf\n  ", place)
    assert said(findings) == [(5, 1, "unknown-field")]
    assert findings[0]["message"] == "spec.fomat: unknown field; did you mean format?"
    assert findings[0]["range"] == between((5, 2), (5, 7))
    assert editor.type("model.yaml", "", place, (6, 2)) == []


def test_a_warning_is_yellow_and_has_the_page_of_its_rule(editor):
    (finding,) = editor.open("service.yaml", SERVICE.replace("modelRef: llama", "modelRef: lama"))
    assert said([finding]) == [(5, 2, "LS401")]
    assert finding["message"].endswith("did you mean llama?")
    assert finding["codeDescription"] == {"href": "https://docs.example.com/codes/ls401.html"}


def test_hover_says_what_a_field_is_and_who_sets_its_default(editor):
    editor.open("model.yaml")
    text = editor.at("hover", "model.yaml", place_of(MODEL, "accelerator", 2))["contents"]["value"]
    assert text.startswith("`spec.hardware.accelerator`: string")
    assert 'Values: `"cpu"`, `"metal"`, `"cuda"`' in text
    assert 'Default: `"cpu"`, which the API server sets' in text
    assert "Modelgate may set it: follows gpu.runtime (LK101)" in text


def test_hover_says_why_a_rule_warns(editor):
    text = SERVICE.replace("modelRef: llama", "modelRef: nothing")
    editor.open("service.yaml", text)
    hover = editor.at("hover", "service.yaml", place_of(text, "nothing", 3))
    assert "warning [LS401](https://docs.example.com/codes/ls401.html)" in hover["contents"]["value"]
    assert "The service looks in its own namespace only." in hover["contents"]["value"]
    assert hover["range"] == between((5, 2), (5, 10))


def test_hover_over_the_kind_explains_the_choice_of_the_runtime(editor):
    editor.open("chosen.yaml", OME)
    text = editor.at("hover", "chosen.yaml", (1, 8))["contents"]["value"]
    assert "**InferenceService default/chosen**" in text
    assert "judged as of OME" in text
    assert "| fits |" in text


def test_a_runtime_that_would_be_selected_and_is_refused_is_said_to_be_both(editor):
    editor.open("chosen.yaml", OME)
    text = editor.at("hover", "chosen.yaml", (1, 8))["contents"]["value"]
    assert "| selected, but refused: schema spec.supportedModelFormats[0].modelFramework: Required value |" in text
    framework = "modelFramework: {name: transformers}"
    right = RUNTIMES.replace("autoSelect", f"{framework}, autoSelect").replace("  storage", f"  {framework}\n  storage")
    editor.open("runtimes.yaml", right)
    assert "| selected |" in editor.at("hover", "chosen.yaml", (1, 8))["contents"]["value"]


def test_hover_over_nothing_says_nothing(editor):
    editor.open("model.yaml", f"{MODEL}\n# a comment\n")
    assert editor.at("hover", "model.yaml", (13, 4)) is None
    assert editor.at("hover", "model.yaml", (5000, 5000)) is None


def test_hints_show_what_would_be_filled_in(editor):
    editor.open("model.yaml")
    hints = {hint["position"]["line"]: hint for hint in editor.whole("inlayHint", "model.yaml", range=EVERYTHING)}
    line, end = place_of(MODEL, "gpu:", 4)
    assert hints[line]["label"] == "+ resourceName: nvidia.com/gpu, tolerationKey: nvidia.com/gpu"
    assert hints[line]["position"]["character"] == end
    assert "derived from vendor and runtime (LK102)" in hints[line]["tooltip"]["value"]
    assert editor.whole("inlayHint", "model.yaml", range=between((0, 0), (1, 0))) == []


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


def test_a_repair_is_offered_and_repairs(editor):
    text = MODEL.replace("accelerator", "acelerator")
    assert said(editor.open("model.yaml", text)) == [(7, 1, "unknown-field")]
    (repair,) = actions(editor, "model.yaml", place_of(text, "acelerator"))
    assert (repair["title"], repair["kind"], repair["isPreferred"]) == (
        "Replace acelerator by accelerator",
        "quickfix",
        True,
    )
    assert [each["code"] for each in repair["diagnostics"]] == ["unknown-field"]
    assert changed(editor, "model.yaml", text, repair) == (MODEL, [])


def test_the_name_that_is_meant_is_offered(editor):
    text = SERVICE.replace("modelRef: llama", "modelRef: lama")
    editor.open("service.yaml", text)
    meant, here, whole = actions(editor, "service.yaml", (5, 4))
    assert [each["title"] for each in (meant, here, whole)] == [
        "Replace by llama",
        "Ignore LS401 here",
        "Ignore LS401 in this object",
    ]
    assert changed(editor, "service.yaml", text, meant) == (SERVICE, [])


def test_all_repairs_are_one_action(editor):
    text = MODEL.replace("accelerator", "acelerator").replace("count", "cuont")
    editor.open("model.yaml", text)
    (action,) = actions(editor, "model.yaml", (0, 0), only=["source.fixAll"])
    assert changed(editor, "model.yaml", text, action) == (MODEL, [])
    assert actions(editor, "model.yaml", (0, 0), only=["source.fixAll"]) == []
    assert actions(editor, "model.yaml", (0, 0), only=["refactor"]) == []


def test_a_warning_can_be_ignored_beside_its_field(editor):
    text = SERVICE.replace("modelRef: llama", "modelRef: nothing")
    assert said(editor.open("service.yaml", text)) == [(5, 2, "LS401")]
    here, _ = actions(editor, "service.yaml", (5, 4))
    assert here["title"] == "Ignore LS401 here"
    new, findings = changed(editor, "service.yaml", text, here)
    assert "  # modelgate: ignore LS401 because \n  modelRef: nothing" in new
    assert findings == []
    assert editor.type("service.yaml", new.replace("because ", "because the Model comes later, by a job")) == []


@pytest.mark.parametrize(
    ("metadata", "expected"),
    [
        (
            "metadata:\n  name: chat\n",
            "metadata:\n  annotations:\n    modelgate.dev/ignore: LS401  # because: \n  name",
        ),
        (
            "metadata:\n  name: chat\n  annotations:\n    a: b\n",
            "  annotations:\n    modelgate.dev/ignore: LS401  # because: \n    a: b\n",
        ),
        (
            "metadata:\n  name: chat\n  annotations:\n    modelgate.dev/ignore: LS330\n",
            "    modelgate.dev/ignore: LS330,LS401\n",
        ),
        (
            'metadata:\n  name: chat\n  annotations:\n    modelgate.dev/ignore: "LS330"\n',
            '    modelgate.dev/ignore: "LS330,LS401"\n',
        ),
        ("metadata: {name: chat}\n", "metadata: {annotations: {modelgate.dev/ignore: LS401}, name: chat}\n"),
        (
            "metadata: {name: chat, annotations: {}}\n",
            "metadata: {name: chat, annotations: {modelgate.dev/ignore: LS401}}\n",
        ),
    ],
)
def test_a_warning_can_be_ignored_by_an_annotation(editor, metadata, expected):
    text = SERVICE.replace("modelRef: llama", "modelRef: nothing").replace("metadata:\n  name: chat\n", metadata)
    (finding,) = editor.open("service.yaml", text)
    _, action = actions(editor, "service.yaml", (finding["range"]["start"]["line"], 4))
    assert action["title"] == "Ignore LS401 in this object"
    new, findings = changed(editor, "service.yaml", text, action)
    assert expected in new
    assert findings == []


def test_another_version_is_said_to_be_not_checked_in_the_words_of_check(editor):
    (note,) = editor.open("model.yaml", MODEL.replace("v1alpha1", "v1alpha2"))
    assert (note["severity"], note["code"], note["range"]["start"]) == (3, "note", {"line": 0, "character": 0})
    assert note["message"] == (
        "not checked: this version has no rules here (v1alpha1 has); give its CustomResourceDefinition with --crds"
    )
    assert editor.type("model.yaml", "apiVersion: acme.example.com/v1\nkind: Widget\nmetadata: {name: w}\n") == []


def test_an_amount_with_a_unit_of_its_own_is_replaced(editor):
    text = SERVICE.replace("    gpu: 1", "    gpu: 1\n    memory: 16GB")
    assert said(editor.open("service.yaml", text)) == [(10, 2, "LS209")]
    meant, *others = actions(editor, "service.yaml", (10, 5))
    assert (meant["title"], [each["title"] for each in others]) == (
        "Replace by 16Gi",
        ["Ignore LS209 here", "Ignore LS209 in this object"],
    )
    assert changed(editor, "service.yaml", text, meant) == (text.replace("16GB", "16Gi"), [])
    text = text.replace("16GB", "16 apples")
    editor.type("service.yaml", text)
    assert [each["title"] for each in actions(editor, "service.yaml", (10, 5))] == [each["title"] for each in others]


def test_an_error_about_an_amount_is_repaired_likewise(editor):
    text = CACHE.replace("20Gi", '"20 gb"')
    editor.open("cache.yaml", text)
    (meant,) = actions(editor, "cache.yaml", place_of(text, "size"))
    assert (meant["title"], "isPreferred" in meant) == ("Replace by 20Gi", False)
    assert changed(editor, "cache.yaml", text, meant) == (CACHE.replace("20Gi", '"20Gi"'), [])
    assert actions(editor, "cache.yaml", (0, 0), only=["source.fixAll"]) == []


def test_an_error_cannot_be_ignored(editor):
    editor.open("model.yaml", MODEL.replace("count: 1", "count: -1"))
    assert actions(editor, "model.yaml", place_of(MODEL, "count")) == []


def test_a_definition_is_found_in_another_file(editor):
    editor.open("service.yaml")
    (place,) = editor.at("definition", "service.yaml", place_of(SERVICE, "modelRef: llama", 12))
    assert place == {"uri": editor.uri("model.yaml"), "range": between((3, 8), (3, 13))}
    assert editor.at("definition", "service.yaml", place_of(SERVICE, "replicas: 1", 10)) == []


def test_a_reference_may_be_to_an_object_of_another_kind(editor):
    editor.open("chosen.yaml", OME)
    (place,) = editor.at("definition", "chosen.yaml", place_of(OME, "name: base", 7))
    assert place["uri"] == editor.uri("runtimes.yaml")
    assert place["range"]["start"]["line"] == 2


def test_references_are_found_in_all_files(editor):
    editor.open("service.yaml")
    editor.open("model.yaml")
    place = place_of(MODEL, "llama", 2)
    found = editor.at("references", "model.yaml", place, context={"includeDeclaration": True})
    assert {each["uri"] for each in found} == {editor.uri("model.yaml"), editor.uri("service.yaml")}
    (found,) = editor.at("references", "model.yaml", place, context={"includeDeclaration": False})
    assert found["range"] == between((5, 12), (5, 17))


def test_an_object_is_renamed_in_all_files_that_name_it(editor):
    editor.open("model.yaml")
    place = place_of(MODEL, "llama", 2)
    assert editor.at("prepareRename", "model.yaml", place) == between((3, 8), (3, 13))
    assert editor.at("prepareRename", "model.yaml", place_of(MODEL, "nvidia", 2)) is None
    changes = editor.at("rename", "model.yaml", place, newName="llama-2")["changes"]
    assert changes.keys() == {editor.uri("model.yaml"), editor.uri("service.yaml")}
    assert edited(MODEL, changes[editor.uri("model.yaml")]) == MODEL.replace("name: llama", "name: llama-2")
    service = edited(SERVICE, changes[editor.uri("service.yaml")])
    assert service == SERVICE.replace("modelRef: llama", "modelRef: llama-2")
    assert editor.type("model.yaml", edited(MODEL, changes[editor.uri("model.yaml")])) == []
    assert editor.open("service.yaml", service) == []


def test_a_new_name_keeps_quotes_and_gets_some_where_it_needs_them(editor):
    text = SERVICE.replace("modelRef: llama", "modelRef: 'llama'")
    editor.open("service.yaml", text)
    (edit,) = editor.at("rename", "service.yaml", (5, 15), newName="12")["changes"][editor.uri("service.yaml")]
    assert edit["newText"] == "'12'"
    (edit,) = editor.at("rename", "service.yaml", (5, 15), newName="12")["changes"][editor.uri("model.yaml")]
    assert edit["newText"] == '"12"'


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("Not A Name", '"Not A Name" is not a valid object name'),
        ("mistral", "there is another Model mistral"),
        ("", '"" is not a valid object name'),
    ],
)
def test_a_rename_that_cannot_be_says_why(editor, name, why):
    editor.open("model.yaml")
    with pytest.raises(Failed, match=why):
        editor.at("rename", "model.yaml", place_of(MODEL, "llama", 2), newName=name)


def test_an_object_outside_of_the_workspace_is_not_renamed(editor):
    editor.open("service.yaml", SERVICE.replace("llama", "nothing", 1))
    with pytest.raises(Failed, match="Model nothing is in no file of the workspace"):
        editor.at("rename", "service.yaml", (5, 14), newName="other")


def test_nothing_is_renamed_while_a_file_with_the_name_is_broken(editor):
    editor.open("model.yaml")
    editor.open("service.yaml")
    editor.type("service.yaml", SERVICE.replace("spec:", "spec: ]"))
    with pytest.raises(Failed, match="cannot be read now"):
        editor.at("rename", "model.yaml", place_of(MODEL, "llama", 2), newName="other")


def test_a_broken_file_is_judged_as_it_was(editor):
    wrong = SERVICE.replace("replicas: 1", "replicas: 99")
    assert said(editor.open("service.yaml", wrong)) == [(7, 1, "schema")]
    broken = f"# one line more\n{wrong}  extra: [\n"
    findings = said(editor.type("service.yaml", broken))
    assert (8, 1, "schema") in findings  # moved with its line
    assert [each for each in findings if each[2] == "unreadable"] != []
    assert editor.type("service.yaml", SERVICE) == []


def test_what_is_half_written_does_not_make_a_right_file_red(editor):
    editor.open("service.yaml")
    text = SERVICE
    for letter in "\n  endpoint:\n    typ":
        text = text.rstrip("\n") + letter if letter == "\n" else text + letter
        findings = editor.type("service.yaml", text)
        assert [each for each in findings if each["severity"] == 1 and each["code"] != "schema"] == [], text
    assert editor.at("references", "service.yaml", (5, 14), context={"includeDeclaration": True}) is not None


def test_a_broken_file_still_has_its_objects(editor):
    editor.open("service.yaml")
    editor.open("model.yaml")
    editor.forget("service.yaml")
    editor.type("model.yaml", MODEL.replace("spec:", "spec: ]"))
    assert editor.shown("service.yaml") == []  # the Model is not missing


@pytest.mark.parametrize(
    "text",
    [
        "{{- if .Values.on }}\n" + MODEL + "{{- end }}\n",
        MODEL.replace("name: llama", 'name: {{ include "chart.name" . }}'),
        MODEL.replace("count: 1", "count: {{ .Values.count }}"),
        MODEL.replace("count: 1", "count: ${COUNT}"),
        MODEL.replace("accelerator: cuda", "accelerator: ${KIND:-cuda}"),
        MODEL.replace("name: llama", "name: ${cluster}-llama"),
    ],
)
def test_templates_are_never_red(editor, text):
    assert [each for each in editor.open("template.yaml", text) if each["severity"] == 1] == []


def test_files_of_a_chart_are_not_read(editor, folder):
    (folder / "chart" / "templates").mkdir(parents=True, exist_ok=True)
    (folder / "chart" / "Chart.yaml").write_text("apiVersion: v2\nname: c\nversion: 1.0.0\n")
    assert editor.open("chart/templates/model.yaml", MODEL.replace("count: 1", "cuont: 1")) == []


def test_findings_stay_at_their_object_when_lines_come_above(editor):
    text = f"{MODEL}---\n{SERVICE.replace('replicas: 1', 'replicas: 99')}"
    ((line, _, _),) = said(editor.open("many.yaml", text.replace("llama", "many")))
    assert line == place_of(text, "replicas")[0]
    editor.type("many.yaml", "# a\n# b\n", (0, 0))
    assert [each[0] for each in said(editor.shown("many.yaml"))] == [line + 2]


def test_an_object_of_an_open_file_is_there_before_it_is_saved(editor):
    text = SERVICE.replace("modelRef: llama", "modelRef: unsaved")
    assert said(editor.open("service.yaml", text)) == [(5, 2, "LS401")]
    editor.forget("service.yaml")
    editor.open("unsaved.yaml", MODEL.replace("name: llama", "name: unsaved"))
    editor.forget("service.yaml")
    editor.type("unsaved.yaml", MODEL.replace("name: llama", "name: unsaved\n  labels: {a: b}"))
    assert editor.shown("service.yaml") == []


def test_a_file_that_another_program_writes_is_read_again(editor, folder):
    text = SERVICE.replace("modelRef: llama", "modelRef: written")
    assert said(editor.open("service.yaml", text)) == [(5, 2, "LS401")]
    (folder / "written.yaml").write_text(MODEL.replace("name: llama", "name: written"))
    editor.forget("service.yaml")
    editor.tell("workspace/didChangeWatchedFiles", changes=[{"uri": editor.uri("written.yaml"), "type": 1}])
    assert editor.shown("service.yaml") == []
    (folder / "written.yaml").unlink()
    editor.forget("service.yaml")
    editor.tell("workspace/didChangeWatchedFiles", changes=[{"uri": editor.uri("written.yaml"), "type": 3}])
    assert said(editor.shown("service.yaml")) == [(5, 2, "LS401")]


def test_columns_count_in_utf_16(editor):
    text = f"# 🦙🦙\n{MODEL}".replace("source: https", "source: '🦙' #").replace("name: llama", "name: llama # 🦙")
    editor.open("model.yaml", text)
    line = "  hardware: {🦙🦙: 1, gpu: {cuont: 1}}\n"
    text = f"{MODEL.partition('  hardware')[0]}{line}"
    findings = editor.type("model.yaml", text)
    start = next(each["range"]["start"] for each in findings if "cuont" in each["message"])
    assert start["character"] == len(line[: line.index("cuont")].encode("utf-16-le")) // 2


def test_lines_may_end_as_in_windows(editor):
    text = MODEL.replace("accelerator", "acelerator").replace("\n", "\r\n")
    (finding,) = editor.open("model.yaml", text)
    assert finding["range"] == between((7, 4), (7, 14))
    (repair,) = actions(editor, "model.yaml", (7, 6))
    (edit,) = repair["edit"]["changes"][editor.uri("model.yaml")]
    assert edit == {"range": between((7, 4), (7, 14)), "newText": "accelerator"}


def test_symbols_list_objects_and_fields(editor):
    editor.open("many.yaml", f"{MODEL}---\n{SERVICE}")
    model, service = editor.whole("documentSymbol", "many.yaml")
    assert (model["name"], service["name"]) == ("Model llama", "InferenceService chat")
    assert [each["name"] for each in model["children"]] == ["apiVersion", "kind", "metadata", "spec"]
    assert service["range"]["start"]["line"] == MODEL.count("\n") + 1


def test_a_patch_of_kustomize_is_not_an_object(editor, folder):
    (folder / "overlay").mkdir(exist_ok=True)
    (folder / "overlay" / "kustomization.yaml").write_text("resources: []\npatches: [{path: patch.yaml}]\n")
    assert editor.open("overlay/patch.yaml", MODEL.replace("count: 1", "cuont: 1")) == []


def test_json_is_judged_and_hovered_over(editor):
    head = {"apiVersion": "inference.llmkube.dev/v1alpha1", "kind": "Model", "metadata": {"name": "j"}}
    text = json.dumps({**head, "spec": {"source": "pvc://c/m.gguf", "fomat": "gguf"}}, indent=1)
    assert [each[2] for each in said(editor.open("model.json", text))] == ["unknown-field"]
    assert "spec.source" in editor.at("hover", "model.json", place_of(text, "source", 2))["contents"]["value"]
    (repair,) = actions(editor, "model.json", place_of(text, "fomat", 2))
    assert '"format": "gguf"' in changed(editor, "model.json", text, repair)[0]


def test_other_files_are_left_alone(editor):
    assert editor.open("values.yaml", "replicas: 1\nmodel:\n  cuont: 1\n") == []
    assert editor.open("workflow.yaml", "on: push\njobs: {a: {steps: []}}\n") == []
    assert editor.open("broken.yaml", "a: [\nb: }\n") == []
    assert editor.at("completion", "values.yaml", (1, 0)) is not None


def test_findings_go_when_a_file_is_closed(editor):
    editor.open("model.yaml", MODEL.replace("count: 1", "cuont: 1"))
    editor.shut("model.yaml")
    assert editor.findings[editor.uri("model.yaml")] == []


def test_the_configuration_is_read_again_when_it_is_saved(tmp_path):
    (tmp_path / "service.yaml").write_text(SERVICE)
    with Editor(tmp_path) as editor:
        assert said(editor.open("service.yaml")) == [(5, 2, "LS401")]
        (tmp_path / ".modelgate.yaml").write_text("ignore: [LS401]\n")
        editor.forget("service.yaml")
        editor.tell("textDocument/didSave", textDocument={"uri": editor.uri(".modelgate.yaml")})
        assert editor.shown("service.yaml") == []
        (tmp_path / ".modelgate.yaml").write_text("ignroe: [LS401]\n")
        editor.tell("textDocument/didSave", textDocument={"uri": editor.uri(".modelgate.yaml")})
        assert "ignroe" in editor.message()
        assert editor.type("service.yaml", f"{SERVICE}  sipec: 1\n") != []  # judged as before


RELEASE = """\
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: llmkube, namespace: flux-system}
spec:
  chart:
    spec:
      chart: llmkube
      version: 0.9.9
      sourceRef: {kind: HelmRepository, name: llmkube}
---
apiVersion: source.toolkit.fluxcd.io/v1
kind: HelmRepository
metadata: {name: llmkube, namespace: flux-system}
spec: {url: https://defilantech.github.io/LLMKube}
"""


def test_a_pin_of_the_repository_says_the_release_also_after_it_is_saved(tmp_path):
    (tmp_path / ".git").mkdir()
    (tmp_path / "model.yaml").write_text(MODEL)
    (tmp_path / "release.yaml").write_text(RELEASE)
    with Editor(tmp_path) as editor:
        editor.open("model.yaml")
        assert "LLMKube 0.9.9 (release.yaml:8)" in editor.at("hover", "model.yaml", (1, 1))["contents"]["value"]
        hover = editor.at("hover", "model.yaml", place_of(MODEL, "accelerator", 2))["contents"]["value"]
        assert "Kind of acceleration" in hover  # a text of the documented release
        editor.open("release.yaml")
        new = RELEASE.replace("0.9.9", "0.9.5")
        editor.type("release.yaml", new)
        (tmp_path / "release.yaml").write_text(new)
        editor.forget("model.yaml")
        editor.tell("textDocument/didSave", textDocument={"uri": editor.uri("release.yaml")})
        editor.shown("model.yaml")
        assert "LLMKube 0.9.5 (release.yaml:8)" in editor.at("hover", "model.yaml", (1, 1))["contents"]["value"]


DEFINITION = """\
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.com}
spec:
  group: example.com
  names: {kind: Widget, plural: widgets}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties:
              size: {type: string, enum: [small, large], description: How large it is.}
"""


def test_a_definition_in_the_workspace_gives_texts_and_values(tmp_path):
    (tmp_path / "definition.yaml").write_text(DEFINITION)
    text = "apiVersion: example.com/v1\nkind: Widget\nmetadata: {name: w}\nspec:\n  size: huge\n"
    (tmp_path / "widget.yaml").write_text(text)
    with Editor(tmp_path) as editor:
        assert [each[2] for each in said(editor.open("widget.yaml"))] == ["schema"]
        assert "How large it is." in editor.at("hover", "widget.yaml", (4, 4))["contents"]["value"]
        assert {item["label"] for item in editor.at("completion", "widget.yaml", (4, 8))} == {"small", "large"}


def test_references_that_a_pack_declares_are_followed(tmp_path):
    packs = Path(__file__).parents[2] / "packs"
    head = "apiVersion: aim.eai.amd.com/v1alpha1\nkind: "
    template = f"{head}AIMServiceTemplate\nmetadata: {{name: t}}\nspec:\n  modelName: m\n"
    model = f"{head}AIMModel\nmetadata:\n  name: m\nspec: {{image: example.com/i:1}}\n"
    (tmp_path / "template.yaml").write_text(template)
    (tmp_path / "model.yaml").write_text(model)
    with Editor(tmp_path, "--policies", str(packs / "aim-engine")) as editor:
        editor.open("template.yaml")
        (place,) = editor.at("definition", "template.yaml", place_of(template, "modelName: m", 11))
        assert place["uri"] == editor.uri("model.yaml")
        changes = editor.at("rename", "template.yaml", place_of(template, "modelName: m", 11), newName="new")["changes"]
        assert {uri.rpartition("/")[2] for uri in changes} == {"template.yaml", "model.yaml"}


def test_what_the_operator_makes_and_why_a_runtime_is_chosen_are_shown(tmp_path):
    text = (ROOT / "docs" / "pictures" / "runtime.yaml").read_text()
    (tmp_path / "all.yaml").write_text(text)
    with Editor(tmp_path) as editor:
        editor.open("all.yaml")
        line = text[: text.index("kind: InferenceService")].count("\n")
        children, page = actions(editor, "all.yaml", (line, 2), only=["modelgate.explain"])
        commands = [action["command"]["command"] for action in (children, page)]
        assert commands == editor.can["executeCommandProvider"]["commands"]
        for action, words in (
            (children, ("kind: Deployment", "name: chat-engine  # metadata.name")),
            (page, ("<!doctype html>", "sglang-small", "rank 1, score 30")),
        ):
            uri = editor.ask("workspace/executeCommand", **action["command"])
            made = Path(unquote(urlsplit(uri).path))
            shown = made.read_text()
            assert [word for word in words if word not in shown] == []
            assert editor.messages[-1] == f"modelgate: {made}", "this editor cannot show a document"
        assert actions(editor, "all.yaml", (line + 1, 12), only=["modelgate.explain"]) == []
        for wrong in ([], ["file:///none.yaml", 0], [editor.uri("all.yaml"), 99], [editor.uri("all.yaml"), -1]):
            with contextlib.suppress(Failed):
                assert editor.ask("workspace/executeCommand", command="modelgate.children", arguments=wrong) is None
        editor.process.stdin.close()
        editor.process.wait(60)
        assert not made.exists(), "it goes with the server"
