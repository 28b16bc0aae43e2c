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
    assert case["spec"] == {"size": 2, "parts": [{"name": "b"}]}
    assert case["expect"] == {}


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
    assert "code: AC205" in gadget
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
    assert "code: AC205" in gadget
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


OWN_RULES = {
    "type": "object",
    "required": ["kind", "name"],
    "x-kubernetes-validations": [
        {"rule": "has(self.a) != has(self.b)", "message": "set a or b"},
        {"rule": "!has(self.c) || self.c == oldSelf.c", "message": "c is immutable"},
    ],
    "properties": {
        "kind": {"type": "string", "enum": ["one", "two"], "description": "Must be one of one and two."},
        "name": {"type": "string", "pattern": "^pvc://[a-z]+/", "description": "The name is required. Must be short."},
        "a": {
            "type": "integer",
            "minimum": 1,
            "maximum": 8,
            "description": "Must be between 1 and 8, or at most 4 here.",
        },
        "b": {"type": "integer", "minimum": 1, "maximum": 8, "description": "Must be between 1 and 8."},
        "c": {"type": "integer", "description": "c must not be changed. A set of required {key,value} pairs."},
    },
}


def special(tmp_path: Path, *versions: str) -> Path:
    """The definition of a kind without `spec`, in some versions."""
    document = yaml.safe_load(yaml.safe_dump(CRD))
    (version,) = document["spec"]["versions"]
    version["schema"]["openAPIV3Schema"] = {"type": "object", "required": ["part"], "properties": {"part": OWN_RULES}}
    document["spec"]["versions"] = [{**version, "name": name, "storage": name == "v1"} for name in versions]
    path = tmp_path / "widgets.yaml"
    path.write_text(yaml.safe_dump(document))
    return path


def test_a_kind_without_a_spec_has_stubs_and_a_first_object_that_is_valid(tmp_path: Path, capsys: Capture) -> None:
    assert made(tmp_path / "acme", special(tmp_path, "v1", "v2")) == 0
    text = (tmp_path / "acme" / "widget.yaml").read_text()
    asked = [line.removeprefix("  # part") for line in text.splitlines() if line.startswith("  # part")]
    assert asked == [
        ".a: Must be between 1 and 8, or at most 4 here.",
        ".name: Must be short.",
        ": the definition's rule: set a or b",
        ": the definition's rule: c is immutable",
        ".a: the definition's limits: minimum 1, maximum 8",
        ".b: the definition's limits: minimum 1, maximum 8",
        '.kind: the definition\'s values: "one", "two"',
    ]
    assert yaml.safe_load(text)["spec"]["target"]["versions"] == ["v1", "v2"]
    tables = list(yaml.safe_load_all((tmp_path / "acme" / "cases" / "widget.yaml").read_text()))
    assert [each["target"]["version"] for each in tables] == ["v1", "v2"]
    for table, name in zip(tables, ("the smallest object", "the smallest object of v2"), strict=True):
        (case,) = table["cases"]
        assert case == {
            "name": name,
            "object": {"part": {"kind": "one", "name": "pvc://a/b", "a": 1}},
            "expect": {},
        }
    assert main(["test", str(tmp_path / "acme")]) == 0
    assert "2 passed, 0 failed" in capsys.readouterr().out
    assert main(["pack", "check", str(tmp_path / "acme")]) == 0


def test_the_stub_of_what_the_definition_refuses_is_a_rule_that_words_it(tmp_path: Path, capsys: Capture) -> None:
    folder = tmp_path / "acme"
    made(folder, special(tmp_path, "v1"))
    head, _, stubs = (folder / "widget.yaml").read_text().partition("  # validations:")
    written = []
    for stub in stubs.split("\n\n"):
        if "explains" in stub:
            lines = [line.removeprefix("  # ") for line in stub.splitlines()[1:]]
            written.append("\n".join([f"  {line}" for line in lines if ":" in line]))
    rules = "\n".join(written).replace("message:", "message: another text").replace("docs:", "docs: x")
    (folder / "widget.yaml").write_text(f"{head}  validations:\n{rules}\n")
    file = tmp_path / "object.yaml"
    part = "{kind: three, name: 'pvc://a/b', a: 9}"
    file.write_text(f"apiVersion: acme.example.com/v1\nkind: Widget\nmetadata: {{name: a}}\npart: {part}\n")
    main(["check", f"--policies={folder}", str(file)])
    printed = capsys.readouterr().out
    assert printed.count("another text") == 2


def test_the_name_of_a_case_is_case_where_its_metadata_has_none(tmp_path: Path, capsys: Capture) -> None:
    folder = tmp_path / "acme"
    made(folder, special(tmp_path, "v1"))
    file = folder / "cases" / "widget.yaml"
    table = yaml.safe_load(file.read_text())
    table["cases"][0]["object"]["metadata"] = {"annotations": {"a": "b"}}
    file.write_text(yaml.safe_dump(table))
    assert main(["test", str(folder)]) == 0
    assert "1 passed" in capsys.readouterr().out
