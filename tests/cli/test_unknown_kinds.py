"""A kind without a definition is not checked; a name one letter away from a kind with rules is a mistake."""

import json
from pathlib import Path

import pytest
import yaml

from modelgate import Gate
from tests.cli.trees import GOOD
from tests.crds import crd_text
from webhook import catalog
from webhook.admission import GroupVersionKind
from webhook.catalog import built_in
from webhook.cli import main
from webhook.facts import is_typo
from webhook.library.kinds import is_served

Capture = pytest.CaptureFixture[str]

PACK = str(Path(__file__).resolve().parents[2] / "packs" / "aim-engine")
LOADED = catalog.load()
KINDS = LOADED.kinds
SERVED = [(group, kind) for pack in built_in().values() for group, kinds in pack.served.items() for kind in kinds]


def written(tmp_path: Path, api_version: str, kind: str) -> str:
    file = tmp_path / "m.yaml"
    file.write_text(f"apiVersion: {api_version}\nkind: {kind}\nmetadata: {{name: m}}\n")
    return str(file)


def test_no_kind_that_a_project_serves_is_refused(tmp_path: Path, capsys: Capture) -> None:
    file = tmp_path / "all.yaml"
    file.write_text(
        "---\n".join(f"apiVersion: {group}/v1alpha1\nkind: {kind}\nmetadata: {{name: m}}\n" for group, kind in SERVED)
    )
    assert main(["check", "--min-checked=0", str(file)]) == 0
    err = capsys.readouterr().err
    assert f"0 checked, 0 refused, 0 with warnings, {len(SERVED)} skipped" in err
    assert "1 inference.llmkube.dev/v1alpha1 ModelRouter" in err
    assert ": a kind of LLMKube without rules; give its CustomResourceDefinition with --crds" in err


def test_the_table_of_other_kinds_has_none_with_rules() -> None:
    assert [each for each in KINDS if is_served(each, LOADED)] == []


@pytest.mark.parametrize("gvk", KINDS, ids=str)
def test_a_typo_of_one_letter_in_kind_or_group_is_an_error(
    tmp_path: Path, capsys: Capture, gvk: GroupVersionKind
) -> None:
    swapped = f"{gvk.kind[:-2]}{gvk.kind[-1]}{gvk.kind[-2]}"
    wrong = [
        (gvk.group, gvk.kind[:3] + gvk.kind[4:]),
        (gvk.group, swapped),
        (gvk.group, gvk.kind.lower()),
        (gvk.group[:2] + gvk.group[3:], gvk.kind),
        (f"{gvk.group}x", gvk.kind),
    ]
    for group, kind in wrong:
        assert main(["check", written(tmp_path, f"{group}/{gvk.version}", kind)]) == 1
        out = capsys.readouterr().out
        assert f'no matches for kind "{kind}" in version "{group}/{gvk.version}": did you mean ' in out
        assert (gvk.kind if kind != gvk.kind else gvk.group) in out.partition("did you mean")[2]


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("Model", "Model", True),
        ("Modle", "Model", True),
        ("Modell", "Model", True),
        ("Mdel", "Model", True),
        ("Mobel", "Model", True),
        ("model", "Model", True),
        ("Node", "Model", False),
        ("Mlode", "Model", False),
        ("AIMClusterModel", "AIMClusterImage", False),
        ("", "a", True),
        ("", "ab", False),
    ],
)
def test_a_typo_is_one_letter(one: str, other: str, same: bool) -> None:
    assert is_typo(one, other) == is_typo(other, one) == same


@pytest.mark.parametrize(
    ("api_version", "kind", "meant"),
    [
        ("inference.llmkube.dev", "Model", "inference.llmkube.dev/v1alpha1"),
        ("v1alpha1", "Model", "inference.llmkube.dev/v1alpha1"),
        ("llmkube.dev/v1alpha1", "Model", "inference.llmkube.dev/v1alpha1"),
        ("inference.llmaz.io/v1alpha1", "OpenModel", "llmaz.io/v1alpha1"),
        ("serving.ome.io/v1beta1", "InferenceService", "ome.io/v1beta1"),
        ("dev/v1alpha1", "Model", ""),
        ("other.dev/v1alpha1", "Model", ""),
        ("v1", "Node", ""),
        ("v1", "Modle", ""),
        ("inference.llmaz.io/v1alpha1", "Playground", ""),
        ("serving.kserve.io/v1beta1", "InferenceService", ""),
        ("inference.llmkube.dev/${VERSION}", "Model", ""),
        ("ome.io/v1beta1", "${KIND}", ""),
        ('"ENC[AES256_GCM,data:a/b/c,type:str]"', "Model", ""),
    ],
)
def test_a_group_without_its_version_or_with_a_part_too_few_or_too_many_is_an_error(
    tmp_path: Path, capsys: Capture, api_version: str, kind: str, meant: str
) -> None:
    assert main(["check", written(tmp_path, api_version, kind)]) == (1 if meant else 0)
    out = capsys.readouterr().out
    assert f"did you mean {meant}?" in out if meant else out == ""


OTHERS = crd_text("argoproj.io", "Rollout", version="v1alpha1")


@pytest.mark.parametrize("kind", ["Application", "AppProject", "Rollot"])
def test_a_definition_says_nothing_of_the_other_kinds_of_its_group(tmp_path: Path, capsys: Capture, kind: str) -> None:
    (tmp_path / "crd.yaml").write_text(OTHERS)
    file = written(tmp_path, "argoproj.io/v1alpha1", kind)
    for arguments in ([str(tmp_path)], [f"--crds={tmp_path / 'crd.yaml'}", file]):
        assert main(["check", *arguments]) == 0
        assert f"not checked: 1 argoproj.io/v1alpha1 {kind}: not known to Modelgate" in capsys.readouterr().err


def test_unknown_kinds_can_be_errors_but_not_those_of_the_api_server(tmp_path: Path, capsys: Capture) -> None:
    file = written(tmp_path, "argoproj.io/v1alpha1", "Application")
    assert main(["check", "--unknown-kinds=error", file]) == 1
    said = 'kind: no matches for kind "Application" in version "argoproj.io/v1alpha1": give its CustomResourceDef'
    assert said in capsys.readouterr().out
    assert main(["check", "--unknown-kinds=error", written(tmp_path, "apps/v1", "Deployment")]) == 0
    assert main(["check", "--unknown-kinds=error", written(tmp_path, "ome.io/v1beta1", "AcceleratorClass")]) == 1


def test_the_configuration_says_it_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "good.yaml").write_text(GOOD)
    written(tmp_path, "argoproj.io/v1alpha1", "Application")
    assert main(["check", "."]) == 0
    (tmp_path / ".modelgate.yaml").write_text("unknownKinds: error\n")
    assert main(["check", "."]) == 1
    assert main(["check", "--unknown-kinds=skip", "."]) == 0
    (tmp_path / ".modelgate.yaml").write_text("minChecked: 2\n")
    assert main(["check", "."]) == 2


def test_a_version_without_rules_is_not_checked(tmp_path: Path, capsys: Capture) -> None:
    for version, kind in (("ome.io/v1", "InferenceService"), ("aim.eai.amd.com/v1alpha2", "AIMService")):
        file, other = written(tmp_path, version, kind), LOADED.versions(GroupVersionKind("ome.io", "", kind))
        has = "".join(other) or "v1alpha1"
        said = f"not checked: 1 {version} {kind}: this version has no rules here ({has} has); give its Custom"
        for form in ("text", "json", "github", "junit", "sarif"):
            assert main(["check", f"--policies={PACK}", "--output", form, file]) == 0
            assert said in "".join(capsys.readouterr())
        assert main(["check", f"--policies={PACK}", "--unknown-kinds=error", file]) == 1
        assert f'no matches for kind "{kind}" in version "{version}": use {has}' in capsys.readouterr().out


def test_a_gate_allows_a_version_without_rules() -> None:
    obj = {"apiVersion": "ome.io/v2", "kind": "InferenceService", "metadata": {"name": "a", "namespace": "b"}}
    verdict = Gate().check(obj)
    assert (verdict.checked, verdict.allowed) == (False, True)
    assert str(verdict).startswith("InferenceService b/a: not checked: this version has no rules here (v1beta1 has)")
    group, version = str(obj["apiVersion"]).split("/")
    resource = {"group": group, "version": version, "resource": "inferenceservices"}
    kind = {"group": group, "version": version, "kind": "InferenceService"}
    request = {"uid": "1", "kind": kind, "resource": resource, "operation": "CREATE", "namespace": "b", "object": obj}
    review = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request}
    for mutating in (True, False):
        reply = json.loads(Gate().admit(json.dumps(review).encode(), mutating=mutating))
        assert reply["response"] == {"uid": "1", "allowed": True}


def test_the_definition_of_a_kind_says_which_versions_there_are(tmp_path: Path, capsys: Capture) -> None:
    definition = tmp_path / "crd.yaml"
    definition.write_text(crd_text("ome.io", "InferenceService", version="v1"))
    assert main(["check", f"--crds={definition}", written(tmp_path, "ome.io/v1", "InferenceService")]) == 0
    assert "1 checked" in capsys.readouterr().err
    assert main(["check", f"--crds={definition}", written(tmp_path, "ome.io/v2", "InferenceService")]) == 1
    assert 'no matches for kind "InferenceService" in version "ome.io/v2": use ' in capsys.readouterr().out


def test_other_kinds_of_a_loaded_group_are_not_those_of_a_successor(tmp_path: Path, capsys: Capture) -> None:
    file = written(tmp_path, "aim.eai.amd.com/v1alpha2", "AIMProfile")
    for arguments, why in (
        ([f"--policies={PACK}"], "a kind of AIM without rules"),
        ([], "the successor of aim.silogen.ai"),
    ):
        assert main(["check", *arguments, file]) == 0
        assert why in capsys.readouterr().err


def test_the_fields_of_a_version_without_rules_decide_nothing_about_other_objects(
    tmp_path: Path, capsys: Capture
) -> None:
    file = tmp_path / "m.yaml"
    objects = [
        {"apiVersion": "aim.eai.amd.com/v1alpha2", "kind": "AIMServiceTemplate", "spec": {"model": {"ref": "b"}}},
        {"apiVersion": "aim.eai.amd.com/v1alpha1", "kind": "AIMModel", "spec": {"image": "a/b:1"}},
        {"kind": "AIMService", "spec": {"model": {"name": "b"}, "template": {"name": "b"}}},
    ]
    objects[2]["apiVersion"] = objects[1]["apiVersion"]
    file.write_text("\n---\n".join(json.dumps({**each, "metadata": {"name": "b"}}) for each in objects))
    assert main(["check", f"--policies={PACK}", str(file)]) == 0
    assert "2 checked, 0 refused, 0 with warnings, 1 skipped" in capsys.readouterr().err
    definition = yaml.safe_load((Path(PACK) / "crds" / "aimservicetemplates.yaml").read_text())
    newer = yaml.safe_load(crd_text("aim.eai.amd.com", "AIMServiceTemplate", version="v1alpha2"))["spec"]["versions"]
    definition["spec"]["versions"] += [{**newer[0], "storage": False}]
    (tmp_path / "crd.yaml").write_text(json.dumps(definition))
    assert main(["check", f"--policies={PACK}", f"--crds={tmp_path / 'crd.yaml'}", str(file)]) == 0
    printed = capsys.readouterr()
    assert "3 checked, 0 refused, 1 with warnings" in printed.err
    assert "this version has no rules (v1alpha1 has): only its schema is judged" in printed.out
    objects[0] |= {"apiVersion": "aim.eai.amd.com/v1alpha1", "spec": {"modelName": "other"}}
    file.write_text("\n---\n".join(json.dumps({**each, "metadata": {"name": "b"}}) for each in objects))
    assert main(["check", f"--policies={PACK}", str(file)]) == 0
    assert "AE404 warning" in capsys.readouterr().out
