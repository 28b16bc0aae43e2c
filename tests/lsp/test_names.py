"""An object by its name: where it is defined, where it is named, and a new name in all files."""

import pytest

from tests.lsp.client import Failed, between, edited, place_of
from tests.lsp.scenes import MODEL, OME, SERVICE


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
