"""What once failed in silence is said by every face: the library, the server, and each command that it concerns."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml
from starlette.testclient import TestClient

from modelgate import CatalogError, Gate
from tests.catalog.test_versions import NEW, OLD, widget
from tests.crds import crd, spec_schema
from tests.files import written
from tests.fuzz.faces import CONFIG_MAP, POLICIES
from webhook import catalog
from webhook.admission import GroupVersionKind, group_version
from webhook.cli import main
from webhook.engine import policyset
from webhook.serve.app import application
from webhook.serve.gate import Gate as Serving

Capture = pytest.CaptureFixture[str]
RULES = """\
apiVersion: modelgate.dev/v1alpha1
kind: Policy
metadata: {{name: {pack}-{name}}}
spec:
  target: {{group: {pack}.example, versions: [{versions}], kind: {kind}}}
  validations:
  - {{code: {letters}201, at: spec.size, rule: self < 9, message: is too big; use 8, docs: They are small.}}
"""
MIXED = "  - {code: AC202, at: spec.size, when: has(object.spec.part), rule: 'self in [object.spec.part, 3]', "
MIXED += "message: write 3, docs: x}\n"
MISSPELT = (
    "  - {code: AC202, at: spec.size, when: oldObject != null, rule: 'self == oldObject.spec.?sizze.orValue(self)', "
)
MISSPELT += "message: set it back, docs: x}\n"


def pack_at(folder: Path, kind: str = "Widget", versions: str = "v1, v2", more: str = "") -> Path:
    """A pack of one kind in the versions v1 and v2, with rules for some of them. Its name is that of the folder."""
    definition = crd(f"{folder.name}.example", kind, spec_schema(**OLD))
    (version,) = definition["spec"]["versions"]
    later = {**version, "name": "v2", "storage": False, "schema": {"openAPIV3Schema": spec_schema(**NEW)}}
    definition["spec"]["versions"].append(later)
    letters = folder.name[:2].upper()
    rules = RULES.format(pack=folder.name, name=kind.lower(), versions=versions, kind=kind, letters=letters) + more
    head = {"apiVersion": "modelgate.dev/v1alpha1", "kind": "Pack", "metadata": {"name": folder.name}}
    spec = {"operator": folder.name, "codes": [letters], "groups": [f"{folder.name}.example"]}
    return written(folder, {"crds/all.yaml": definition, "rules.yaml": rules, "pack.yaml": {**head, "spec": spec}})


def review(obj: dict[str, Any]) -> bytes:
    gvk = GroupVersionKind(*group_version(obj["apiVersion"]), obj["kind"])
    api = {"group": gvk.group, "version": gvk.version}
    request = {
        "uid": "u",
        "kind": {**api, "kind": gvk.kind},
        "resource": {**api, "resource": f"{gvk.kind.lower()}s"},
        "name": obj["metadata"]["name"],
        "namespace": "default",
        "operation": "CREATE",
        "userInfo": {},
        "object": obj,
    }
    return json.dumps({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request}).encode()


def served(packs: Sequence[Path], policies: Path | None) -> TestClient:
    """The application of `serve`, as its flags make it."""
    gate = Serving()
    gate.use(catalog.load(packs=packs))
    if policies is not None:
        gate.use_policies(policyset.load(policies))
    return TestClient(application(gate))


def verdicts(
    obj: dict[str, Any], packs: Sequence[Path], folder: Path, policies: Path | None = None
) -> Iterator[tuple[str, bool]]:
    """Whether each face accepts an object."""
    gate = Gate(policies=packs, admission_policies=policies)
    yield "Gate.check", gate.check(obj).allowed
    yield "Gate.check_all", gate.check_all(yaml.safe_dump(obj))[0].allowed
    yield "Gate.admit", json.loads(gate.admit(review(obj)))["response"]["allowed"]
    with served(packs, policies) as client:
        answer = client.post("/validate", content=review(obj), headers={"Content-Type": "application/json"})
    yield "serve", answer.json()["response"]["allowed"]
    flags = [f"--policies={each}" for each in packs] + ([f"--admission-policies={policies}"] if policies else [])
    file = written(folder, {"object.yaml": obj}) / "object.yaml"
    for command in ("check", "normalise"):
        yield command, main([command, *flags, str(file)]) == 0


def all_say(wanted: bool, given: Iterable[tuple[str, bool]]) -> bool:
    """Whether all faces accept, or refuse; which do not is shown."""
    others = [face for face, allowed in given if allowed is not wanted]
    assert others == []
    return True


def test_an_admission_policy_refuses_through_every_face(tmp_path: Path) -> None:
    refused = {**CONFIG_MAP, "spec": {"a": 1, "b": 2, "c": 3, "d": 4}}
    assert all_say(False, verdicts(refused, (), tmp_path, POLICIES))


def test_two_packs_are_both_in_force_in_any_order_with_one_digest(tmp_path: Path) -> None:
    packs = [pack_at(tmp_path / "acme"), pack_at(tmp_path / "bolt", "Gadget")]
    gadget = {**widget("v1", size=10), "apiVersion": "bolt.example/v1", "kind": "Gadget"}
    for order in (packs, packs[::-1]):
        for bad in (widget("v1", size=10), gadget):
            assert all_say(False, verdicts(bad, order, tmp_path))
            assert all_say(True, verdicts({**bad, "spec": {"size": 1}}, order, tmp_path))
    digests = {catalog.load(packs=order).digest for order in (packs, packs[::-1], [tmp_path])}
    assert len(digests) == 1


def test_what_is_exported_has_names_of_its_own_and_compiles_and_what_cannot_be_is_said(
    tmp_path: Path, capsys: Capture
) -> None:
    folder = pack_at(tmp_path / "acme", more=MIXED)
    assert main(["export", "policies", "--policies", str(folder), "widgets.acme.example"]) == 0
    printed = capsys.readouterr()
    exported = list(yaml.safe_load_all(printed.out))
    names = [(each["kind"], each["metadata"]["name"]) for each in exported]
    assert len(set(names)) == len(names) > 0
    assert {version for each in exported for version in versions_of(each)} == {"v1", "v2"}
    (tmp_path / "native.yaml").write_text(printed.out)
    assert policyset.load(tmp_path / "native.yaml").policies.validators
    why = "the API server would refuse it: "
    assert f"not exported, because {why}AC202: expected type 'dyn' but found 'int'" in printed.err
    assert main(["pack", "check", str(folder)]) == 1
    assert f"AC202: cannot be exported, because {why}expected type 'dyn' but found 'int'" in capsys.readouterr().out


def versions_of(document: dict[str, Any]) -> list[str]:
    rules = document["spec"].get("matchConstraints", {}).get("resourceRules", ())
    return [version for rule in rules for version in rule["apiVersions"]]


def test_a_version_without_rules_is_said_where_it_can_be_and_pack_new_leaves_none(
    tmp_path: Path, capsys: Capture
) -> None:
    folder = pack_at(tmp_path / "acme", versions="v2")
    assert all_say(False, verdicts(widget("v2", size=10), [folder], tmp_path))
    assert all_say(True, verdicts(widget("v1", size=10), [folder], tmp_path))
    text = "this version has no rules (v2 has): only its schema is judged"
    assert [each.message for each in Gate(policies=folder).check(widget("v1")).findings] == [text]
    file = written(tmp_path, {"object.yaml": widget("v1")}) / "object.yaml"
    capsys.readouterr()
    main(["check", f"--policies={folder}", str(file)])
    assert text in capsys.readouterr().out
    assert main(["pack", "check", str(folder)]) == 1
    assert "Widget.v1.acme.example is served and has no rules" in capsys.readouterr().out
    with served([folder], None) as client:
        assert "Widget.v1.acme.example is judged by its schema alone" in client.get("/readyz").text
    made = tmp_path / "made"
    assert main(["pack", "new", str(folder / "crds" / "all.yaml"), "--into", str(made)]) == 0
    assert main(["pack", "check", str(made)]) == 0
    assert not catalog.load(packs=[made]).without_rules()


COMMANDS = ("check", "normalise", "explain", "fields", "export policies", "export crd", "rule")


@pytest.mark.parametrize("command", COMMANDS)
def test_a_misspelt_field_of_the_old_object_is_an_error_of_the_folder_in_each_command(
    command: str, tmp_path: Path, capsys: Capture
) -> None:
    folder = pack_at(tmp_path / "acme", more=MISSPELT)
    file = written(tmp_path, {"object.yaml": widget("v1")}) / "object.yaml"
    files = [str(file)] if command in {"check", "normalise", "explain"} else []
    assert main([*command.split(), f"--policies={folder}", *files]) == 2
    assert "rules.yaml:8: spec.validations[1].rule: in v1: undefined field 'sizze'" in capsys.readouterr().err


def test_a_misspelt_field_of_the_old_object_is_an_error_of_the_library_and_of_commands_about_packs(
    tmp_path: Path, capsys: Capture
) -> None:
    folder = pack_at(tmp_path / "acme", more=MISSPELT)
    with pytest.raises(CatalogError, match="undefined field 'sizze'"):
        Gate(policies=folder)
    for command in (["test"], ["pack", "check"]):
        assert main([*command, str(folder)]) == 2
        assert "undefined field 'sizze'" in capsys.readouterr().err


def test_a_new_pack_of_a_kind_without_spec_has_a_first_object_that_every_face_accepts(
    tmp_path: Path, capsys: Capture
) -> None:
    part = {"type": "object", "required": ["size"], "properties": {"size": {"type": "integer", "minimum": 2}}}
    part["description"] = "Must not be set together with size."
    definition = crd("acme.example", "Widget", {"type": "object", "required": ["part"], "properties": {"part": part}})
    made = tmp_path / "acme"
    file = written(tmp_path / "crds", {"one.yaml": definition}) / "one.yaml"
    assert main(["pack", "new", str(file), "--into", str(made)]) == 0
    assert "# part: Must not be set together with size." in (made / "widget.yaml").read_text()
    (case,) = yaml.safe_load((made / "cases" / "widget.yaml").read_text())["cases"]
    first = {"apiVersion": "acme.example/v1", "kind": "Widget", "metadata": {"name": "a"}, **case["object"]}
    assert all_say(True, verdicts(first, [made], tmp_path))
    assert main(["pack", "check", str(made)]) == 0
    assert "0 problems" in capsys.readouterr().out
