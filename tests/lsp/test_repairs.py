"""Repairs that an editor offers, and warnings that it can leave out."""

import pytest

from tests.lsp.client import place_of, said
from tests.lsp.scenes import CACHE, MODEL, SERVICE, actions, changed


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
