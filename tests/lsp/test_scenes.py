"""Scenes of an editor with the real server, over its pipes: open, type a fault, hover, break, undo …"""

import contextlib
import json
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from tests.lsp.client import Editor, Failed, between, place_of, said
from tests.lsp.scenes import EVERYTHING, MODEL, OME, RUNTIMES, SERVICE, actions, changed
from tests.shared import ROOT


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
