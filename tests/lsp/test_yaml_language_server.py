"""yaml-language-server with the schema of `modelgate export jsonschema`. Needs Node, and `npm ci` in editors/vscode."""

import shutil
from pathlib import Path

import pytest

from tests.lsp.client import Editor, place_of
from tests.lsp.scenes import MODEL, OME
from webhook.cli import main

MODULES = Path(__file__).parents[2] / "editors" / "vscode" / "node_modules"
SERVER = MODULES / "yaml-language-server" / "bin" / "yaml-language-server"
pytestmark = pytest.mark.skipif(
    shutil.which("node") is None or not SERVER.is_file(), reason="needs `npm ci` in editors/vscode"
)
JOB = """\
apiVersion: ome.io/v1beta1
kind: BenchmarkJob
metadata: {name: b}
spec:
  endpoint:
    endpoint: {url: "http://x", apiFormat: openai, modelName: m}
  task: text-to-text
  maxTimePerIteration: 10
  maxRequestsPerIteration: 10
  outputLocation: {storageUri: "oci://n/x/b/y/o/z"}
"""


BOTH = JOB.replace("    endpoint: {", "    inferenceService: {name: a, namespace: b}\n    endpoint: {")


@pytest.fixture
def editor(tmp_path, capsys):
    assert main(["export", "jsonschema"]) == 0
    (tmp_path / "schema.json").write_text(capsys.readouterr().out)
    settings = {
        "yaml": {
            "schemas": {(tmp_path / "schema.json").as_uri(): "*.yaml"},
            "schemaStore": {"enable": False},
            "kubernetesCRDStore": {"enable": False},
            "validate": True,
            "hover": True,
            "completion": True,
        }
    }
    with Editor(tmp_path, "--stdio", command=["node", str(SERVER)], settings=settings) as editor:
        editor.tell("workspace/didChangeConfiguration", settings=settings)
        yield editor


def findings(editor, name, text):
    """What is found in a file: the line and the message."""
    editor.open(name, text)
    return [(each["range"]["start"]["line"], each["message"]) for each in editor.shown(name)]


def test_right_files_have_no_findings(editor):
    assert findings(editor, "right.yaml", f"{MODEL}---\n{OME}---\n{JOB}---\napiVersion: v1\nkind: Pod\nspec: 5\n") == []


@pytest.mark.parametrize(
    ("text", "words", "message"),
    [
        (MODEL.replace("accelerator", "acelerator"), "acelerator", "acelerator is not allowed"),
        (MODEL.replace("count: 1", "count: many"), "many", "Incorrect type"),
        (MODEL.replace("accelerator: cuda", "accelerator: gpu"), "gpu", "not accepted"),
        (MODEL.replace("  source: https://example.com/llama.gguf\n", ""), "spec", "Missing property"),
        (
            JOB.replace("    endpoint: {", "    inferenceService: {name: a, namespace: b}\n    endpoint: {"),
            "",
            "not allowed",
        ),
        (OME.replace("  name: chosen", "  name: Chosen"), "Chosen", "OM203"),
    ],
    ids=["unknown", "type", "enum", "required", "exclusive", "pattern"],
)
def test_faults_are_found(editor, text, words, message):
    found = findings(editor, "wrong.yaml", text)
    assert any(message in said and (not words or words in text.split("\n")[line]) for line, said in found), found


def test_hover_and_completion_come_from_the_definition(editor):
    editor.open("model.yaml", MODEL)
    hover = editor.at("hover", "model.yaml", place_of(MODEL, "accelerator", 2))
    assert "LK101: where it is absent, Modelgate may set it" in str(hover)
    assert "null" not in str(hover)
    items = editor.at("completion", "model.yaml", place_of(MODEL, "accelerator: ", 13))
    assert [*sorted({item["label"] for item in items["items"]})] == ["cpu", "cuda", "intel", "metal", "rocm", "vulkan"]
    text = MODEL.replace("      count: 1\n", "      me")
    editor.open("half.yaml", text)
    items = editor.at("completion", "half.yaml", place_of(text, "      me", 8))
    assert "memory" in {item["label"] for item in items["items"]}
