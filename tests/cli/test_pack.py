"""`modelgate pack new` makes a folder that works at once, of any definition that an API server takes."""

from pathlib import Path

import pytest
import yaml

from tests.cli.test_packs import CRD
from tests.shared import shared
from webhook import catalog
from webhook.cli import main

Capture = pytest.CaptureFixture[str]


RULE = "- {code: AC201, at: spec.size, rule: self <= 9, message: is too big; use up to 9, docs: The text says so.}"


def made(folder: Path, *crds: Path, **flags: str) -> int:
    more = [f"--{name}={value}" for name, value in flags.items()]
    return main(["pack", "new", *map(str, crds), f"--into={folder}", *more])


@pytest.fixture
def crd(tmp_path: Path) -> Path:
    document = yaml.safe_load(yaml.safe_dump(CRD))
    schema = document["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]
    schema["required"] = ["size", "parts"]
    text = "The size must be at most 9.5, e.g. 3. It is blue.\n\x07Ignored unless large: true"
    schema["properties"]["size"] = {"type": "integer", "minimum": 2, "description": text}
    schema["properties"]["parts"] = {
        "type": "array",
        "minItems": 1,
        "items": {"type": "object", "required": ["name"], "properties": {"name": {"type": "string", "pattern": "^b"}}},
    }
    path = tmp_path / "widgets.yaml"
    path.write_text(yaml.safe_dump(document))
    return path


def test_a_folder_has_all_that_a_pack_needs_and_its_case_passes(crd: Path, tmp_path: Path, capsys: Capture) -> None:
    folder = tmp_path / "acme"
    assert made(folder, crd) == 0
    files = sorted(str(each.relative_to(folder)) for each in folder.rglob("*") if each.is_file())
    assert files == ["cases/widget.yaml", "crds/widgets.yaml", "pack.yaml", "widget.yaml"]
    assert main(["test", str(folder), "--coverage"]) == 0
    assert "1 passed, 0 failed" in capsys.readouterr().out
    (case,) = yaml.safe_load((folder / "cases" / "widget.yaml").read_text())["cases"]
    assert case["spec"] == {"size": 2, "parts": [{"name": "a"}]}
    assert case["expect"] == {"deny": ["spec.parts[0].name"]}


def test_the_sentences_that_ask_for_something_are_stubs_with_their_field(crd: Path, tmp_path: Path) -> None:
    made(tmp_path / "acme", crd)
    policy = (tmp_path / "acme" / "widget.yaml").read_text()
    assert "  # spec.size: The size must be at most 9.5, e.g. 3.\n  # - code: AC201\n  #   at: spec.size\n" in policy
    assert "  # spec.size: Ignored unless large: true\n  # - code: AC202\n" in policy
    assert "blue" not in policy


def test_two_kinds_share_no_code_and_pods_have_no_stubs(crd: Path, tmp_path: Path) -> None:
    one, other = yaml.safe_load(crd.read_text()), yaml.safe_load(crd.read_text())
    other["metadata"]["name"] = "gadgets.acme.example.com"
    other["spec"]["names"] = {"kind": "Gadget", "plural": "gadgets", "singular": "gadget", "listKind": "GadgetList"}
    text = {"type": "string", "description": "It must be Always."}
    strings = dict.fromkeys(("key", "operator", "value", "effect"), text)
    toleration = {"type": "object", "properties": {**strings, "tolerationSeconds": {"type": "integer"}}}
    spec = one["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]
    spec["properties"]["tolerations"] = {"type": "array", "items": toleration}
    crd.write_text(yaml.safe_dump_all([one, other]))
    made(tmp_path / "acme", crd)
    widget, gadget = ((tmp_path / "acme" / f"{name}.yaml").read_text() for name in ("widget", "gadget"))
    assert "Always" not in widget
    assert [widget.count("code: AC201"), gadget.count("code: AC201")] == [1, 0]
    assert "code: AC203" in gadget
    assert yaml.safe_load((tmp_path / "acme" / "pack.yaml").read_text())["spec"]["groups"] == ["acme.example.com"]


def test_a_stub_that_is_written_out_is_a_rule(crd: Path, tmp_path: Path, capsys: Capture) -> None:
    folder = tmp_path / "acme"
    made(folder, crd)
    file = folder / "widget.yaml"
    file.write_text(file.read_text().replace("  # validations:", f"  validations:\n  {RULE}"))
    objects = tmp_path / "w.yaml"
    objects.write_text(
        "apiVersion: acme.example.com/v1\nkind: Widget\nmetadata: {name: a}\nspec: {size: 10, parts: [{name: b}]}\n"
    )
    assert main(["check", "--no-config", "--policies", str(folder), str(objects)]) == 1
    assert "AC201 error: spec.size: Invalid value: 10: is too big; use up to 9" in capsys.readouterr().out


def test_nothing_is_replaced_without_force(crd: Path, tmp_path: Path, capsys: Capture) -> None:
    assert made(tmp_path / "acme", crd) == 0
    (tmp_path / "acme" / "widget.yaml").write_text("mine")
    assert made(tmp_path / "acme", crd) == 2
    assert "pack.yaml: is there already; use --force to replace it" in capsys.readouterr().err
    assert (tmp_path / "acme" / "widget.yaml").read_text() == "mine"
    assert main(["pack", "new", str(crd), f"--into={tmp_path / 'acme'}", "--force"]) == 0


def test_a_second_kind_is_added_and_what_is_there_stays(crd: Path, tmp_path: Path, capsys: Capture) -> None:
    folder = tmp_path / "acme"
    made(folder, crd)
    mine = (folder / "widget.yaml").read_text().replace("  # validations:", f"  validations:\n  {RULE}")
    (folder / "widget.yaml").write_text(mine)
    other = yaml.safe_load(crd.read_text())
    other["metadata"]["name"] = "gadgets.more.example.com"
    other["spec"]["group"] = "more.example.com"
    other["spec"]["names"] = {"kind": "Gadget", "plural": "gadgets", "singular": "gadget", "listKind": "GadgetList"}
    crd.write_text(yaml.safe_dump(other))
    capsys.readouterr()
    assert made(folder, crd) == 0
    assert f"add more.example.com to spec.groups of {folder / 'pack.yaml'}" in capsys.readouterr().out
    assert (folder / "widget.yaml").read_text() == mine
    gadget = (folder / "gadget.yaml").read_text()
    assert "code: AC201" not in gadget
    assert "code: AC203" in gadget
    assert main(["test", str(folder)]) == 0


def test_letters_are_those_of_no_built_in_pack(tmp_path: Path) -> None:
    document = yaml.safe_load(yaml.safe_dump(CRD))
    document["spec"]["group"] = "lks.example.com"
    document["metadata"]["name"] = "widgets.lks.example.com"
    path = tmp_path / "crd.yaml"
    path.write_text(yaml.safe_dump(document))
    made(tmp_path / "lks", path)
    (letters,) = yaml.safe_load((tmp_path / "lks" / "pack.yaml").read_text())["spec"]["codes"]
    assert letters == "KS"
    assert catalog.load(packs=[tmp_path / "lks"]).packs["lks"].codes == ["KS"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda crd: crd["spec"]["names"].update(kind="../x"), "spec.names.kind"),
        (lambda crd: crd["spec"].update(group="../../etc"), "spec.group"),
        (lambda crd: crd.update(apiVersion="apiextensions.k8s.io/v1beta1"), "no CustomResourceDefinition found"),
        (lambda crd: crd["spec"].update(versions=[]), "spec.versions"),
        (lambda crd: crd.update(kind="Widget"), "no CustomResourceDefinition found"),
    ],
)
def test_a_definition_with_a_mistake_is_an_error(change, message: str, tmp_path: Path, capsys: Capture) -> None:
    document = yaml.safe_load(yaml.safe_dump(CRD))
    change(document)
    path = tmp_path / "crd.yaml"
    path.write_text(yaml.safe_dump(document))
    assert made(tmp_path / "acme", path) == 2
    said = capsys.readouterr().err
    assert message in said
    assert "Traceback" not in said
    assert not (tmp_path / "acme").exists()


def test_a_kind_that_is_not_defined_is_an_error(crd: Path, tmp_path: Path, capsys: Capture) -> None:
    assert made(tmp_path / "acme", crd, kind="Gadget") == 2
    assert "does not define Gadget" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["serving.kserve.io_servingruntimes", "keda.sh_scaledobjects"])
def test_definitions_of_other_operators_give_packs_that_pass(name: str, tmp_path: Path, capsys: Capture) -> None:
    assert made(tmp_path / "theirs", shared("neighbour-crds", f"{name}.yaml")) == 0
    assert main(["test", str(tmp_path / "theirs")]) == 0
    assert "1 passed, 0 failed" in capsys.readouterr().out


def test_a_smallest_object_without_end_is_an_error_with_its_place(tmp_path: Path, capsys: Capture) -> None:
    document = yaml.safe_load(yaml.safe_dump(CRD))
    node = {"type": "string"}
    for _ in range(12):
        node = {"type": "array", "minItems": 10, "items": node}
    schema = document["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]
    schema.update(properties={"deep": node}, required=["deep"])
    path = tmp_path / "widgets.yaml"
    path.write_text(yaml.safe_dump(document))
    assert made(tmp_path / "acme", path) == 2
    assert not (tmp_path / "acme").exists()
    error = capsys.readouterr().err
    assert "spec.deep[0][0][0]" in error
    assert "the smallest object has more than 100,000 characters: lower minItems" in error
