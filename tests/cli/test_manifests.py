"""`check` and `normalise`: exit codes, lines, and errors that name every file."""

import argparse
import json
import sys
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
import yaml

import webhook.cli.check
import webhook.cli.normalise
import webhook.cli.serve
from tests.catalog.test_installed import changed, with_prefetch
from tests.cli.trees import GOOD, RUNTIMES
from webhook.cli import main
from webhook.facts.settings import Behaviour, Settings
from webhook.policy import Profile

BAD = """\
apiVersion: inference.llmkube.dev/v1alpha1
kind: Model
metadata:
  name: bad
spec:
  source: s3://bucket/model
  hardware:
    gpu:
      count: 9
  prefetch: true
"""
OTHER = "apiVersion: v1\nkind: Endpoints\nmetadata: {name: other}\n"


def test_check_names_every_error_with_its_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "all.yaml"
    file.write_text(f"{GOOD}---\n{BAD}---\n{OTHER}")
    assert main(["check", str(file)]) == 1
    out, err = capsys.readouterr()
    assert f"{file}:1: Model good: accepted" in out
    assert f"{file}:6: Model bad: REFUSED" in out
    assert f"{file}:11:3: schema error: spec.source: Invalid value:" in out
    assert "\n  help: " in out
    assert f"{file}:14:7: schema error: spec.hardware.gpu.count: Invalid value: 9:" in out
    assert f"{file}:15:3: unknown-field error: spec.prefetch: unknown field" in out
    assert "Endpoints" not in out
    assert err.startswith("2 checked, 1 refused, 1 with warnings, 1 skipped\n")
    assert "not checked: 1 v1 Endpoints: not known to Modelgate\n" in err


@pytest.mark.parametrize(
    ("api_version", "kind", "meant"),
    [
        ("inference.llmkube.io/v1alpha1", "Model", "; did you mean inference.llmkube.dev/v1alpha1 Model?"),
        ("serving.kserve.io/v1beta1", "InferenceService", ""),
    ],
)
def test_an_unknown_kind_is_not_checked_and_counted_with_a_suggestion(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], api_version: str, kind: str, meant: str
) -> None:
    file = tmp_path / "other.yaml"
    file.write_text(f"apiVersion: {api_version}\nkind: {kind}\nmetadata: {{name: other}}\n")
    assert main(["check", str(file)]) == 0
    why = f"not known to Modelgate{meant}"
    assert f"not checked: 1 {api_version} {kind}: {why}\n" in capsys.readouterr().err
    assert main(["check", "-v", str(file)]) == 0
    assert capsys.readouterr().out == f"{file}:1: {kind} other: skipped: {why}\n"


@pytest.mark.parametrize("policies", [False, True])
@pytest.mark.parametrize(
    ("api_version", "kind", "line", "use"),
    [
        ("ome.io/v1alpha", "InferenceService", 1, ": use v1beta1"),
        ("inference.llmkube.dev/1", "Model", 1, ": use v1alpha1"),
        ("inference.llmkube.dev/v1alpha1", "Modle", 2, ": did you mean Model? Otherwise give its CustomResourceDef"),
        ("inference.llmkub.dev/v1alpha1", "Model", 1, ": did you mean inference.llmkube.dev/v1alpha1? Otherwise give"),
        ("inference.llmkub.dev/v1", "model", 1, ": did you mean inference.llmkube.dev/v1alpha1 Model? Otherwise give"),
        ("llmaz.io/v1alpha1", "openmodel", 2, ": did you mean OpenModel?"),
    ],
)
def test_a_kind_or_version_that_a_known_group_does_not_serve_is_refused(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    api_version: str,
    kind: str,
    line: int,
    use: str,
    policies: bool,
) -> None:
    file, policy = tmp_path / "other.yaml", tmp_path / "policy.yaml"
    file.write_text(f"apiVersion: {api_version}\nkind: {kind}\nmetadata: {{name: other}}\n")
    policy.write_text(POLICY)
    assert main(["check", str(file), *([f"--admission-policies={policy}"] if policies else [])]) == 1
    out = capsys.readouterr().out
    field = "kind" if line == 2 else "apiVersion"
    assert f'{file}:{line}:1: unknown-kind error: {field}: no matches for kind "{kind}" in ' in out
    assert use in out


POLICY = """\
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: named}
spec:
  matchConstraints:
    resourceRules: [{apiGroups: ["*"], apiVersions: ["*"], operations: [CREATE], resources: ["*"]}]
  validations: [{expression: "has(object.metadata.name)"}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: named}
spec: {policyName: named, validationActions: [Deny]}
"""


def test_check_reads_folders_and_accepts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "good.yaml").write_text(GOOD)
    (tmp_path / "readme.txt").write_text("not a manifest")
    assert main(["check", str(tmp_path)]) == 0
    assert "1 checked, 0 refused" in capsys.readouterr().err


def test_what_cannot_be_read_is_named_file_by_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "broken.yaml").write_text("apiVersion: ome.io/v1beta1\na: [")
    (tmp_path / "headless.yaml").write_text("apiVersion: ome.io/v1beta1\nspec: {}\n")
    assert main(["check", str(tmp_path), str(tmp_path / "none.yaml")]) == 2
    err = capsys.readouterr().err
    for text in ("broken.yaml:3: ", "headless.yaml:1: kind: Required value", "none.yaml: cannot be read"):
        assert text in err


SERVICE = """\
apiVersion: ome.io/v1beta1
kind: InferenceService
metadata: {name: service, namespace: team}
spec: {model: {name: m}, engine: {minReplicas: 1, runner: {name: ome-container, image: "registry.example/engine:1"}}}
"""
IN_THE_CLUSTER = """\
apiVersion: v1
kind: List
items:
- apiVersion: ome.io/v1beta1
  kind: BaseModel
  metadata: {name: m, namespace: team}
  spec: {}
"""


def test_check_knows_what_is_in_the_cluster_already(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "service.yaml").write_text(SERVICE)
    (tmp_path / "there").mkdir()
    (tmp_path / "there" / "models.yaml").write_text(IN_THE_CLUSTER)
    assert main(["check", str(tmp_path / "service.yaml")]) == 0
    unseen = "warning: spec.model.name: model m is not among the files given; add it, or use --view"
    assert unseen in capsys.readouterr().out
    assert main(["check", "--references=closed", str(tmp_path / "service.yaml")]) == 1
    assert 'referenced model "m" not found' in capsys.readouterr().out
    assert main(["check", f"--view={tmp_path / 'there'}", str(tmp_path / "service.yaml")]) == 0
    assert "1 checked, 0 refused, 0 with warnings" in capsys.readouterr().err
    (tmp_path / "service.yaml").write_text(SERVICE.replace("{name: m}", "{name: other}"))
    view = f"--view={tmp_path / 'there'}"
    assert main(["check", view, str(tmp_path / "service.yaml")]) == 1
    assert main(["check", view, "--references=open", str(tmp_path / "service.yaml")]) == 0
    assert "model other is not among the files given" in capsys.readouterr().out


UNFINISHED = """\
apiVersion: ome.io/v1beta1
kind: ClusterBaseModel
metadata: {name: m}
spec: {storage: {storageUri: "hf://org/m"}}
---
apiVersion: ome.io/v1beta1
kind: InferenceService
metadata: {name: service}
spec: {model: {name: m}, engine: {}}
"""


def test_what_an_agent_fills_in_later_is_unknown_in_a_file_and_missing_in_a_cluster(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "both.yaml"
    file.write_text(UNFINISHED)
    for profile in Profile:
        assert main(["check", f"--profile={profile}", str(file)]) == 0
        warning = "modelFormat of model m, which decides the runtime and which OME's agent fills in, is not among"
        assert warning in capsys.readouterr().out
    (tmp_path / "there.yaml").write_text(UNFINISHED.partition("---")[0])
    assert main(["check", f"--view={tmp_path / 'there.yaml'}", str(file)]) == 1
    assert "model format name is required" in capsys.readouterr().out


def test_a_verbose_check_compares_all_runtimes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "all.yaml"
    known = UNFINISHED.replace("{storage:", "{modelFormat: {name: onnx}, modelFramework: {name: f}, storage:")
    file.write_text(f"{known}---\n{RUNTIMES}")
    assert main(["check", "-v", str(file)]) == 0
    out = capsys.readouterr().out
    assert "    ClusterServingRuntime fits: can be selected (score 15)\n" in out
    assert (
        "    ClusterServingRuntime other: model format 'mt:onnx:f' not in supported formats: format name mismatch"
        in out
    )
    assert main(["check", str(file)]) == 0
    assert "can be selected" not in capsys.readouterr().out


@pytest.mark.parametrize("text", ["spec: 5", "spec: {model: [], engine: 1}", "spec: {model: {name: 3}}", "metadata: 1"])
def test_a_verbose_check_compares_nothing_for_a_malformed_service(
    text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "bad.yaml"
    head = "" if "metadata" in text else "metadata: {name: s}\n"
    file.write_text(f"apiVersion: ome.io/v1beta1\nkind: InferenceService\n{head}{text}\n---\n{RUNTIMES}")
    assert main(["check", "-v", str(file)]) == 1
    assert "\n    ClusterServingRuntime" not in capsys.readouterr().out


TOGETHER = """\
apiVersion: aim.silogen.ai/v1alpha1
kind: AIMService
metadata: {name: service}
spec: {aimImageName: img, templateRef: t}
---
apiVersion: aim.silogen.ai/v1alpha1
kind: AIMServiceTemplate
metadata: {name: t, namespace: default}
spec: {aimImageName: img}
---
apiVersion: aim.silogen.ai/v1alpha1
kind: AIMClusterImage
metadata: {name: img, namespace: default}
spec: {image: "r/x:1", resources: {requests: {cpu: 1, memory: 1Gi}, limits: {memory: 1Gi}}}
"""


def test_objects_without_a_namespace_find_each_other_where_kubectl_puts_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "together.yaml"
    for text in (TOGETHER, TOGETHER.replace(", namespace: default", "")):
        file.write_text(text)
        assert main(["check", "--profile=strict", str(file)]) == 0
        assert "3 checked, 0 refused, 0 with warnings" in capsys.readouterr().err
    main(["normalise", str(file)])
    assert not any("namespace" in each["metadata"] for each in yaml.safe_load_all(capsys.readouterr().out))


def test_a_status_in_a_file_is_not_stored_where_it_is_not_the_user_s(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "m.yaml"
    file.write_text(TOGETHER + "status: {status: Sleeping}\n")
    assert main(["check", str(file)]) == 0
    assert "3 checked, 0 refused" in capsys.readouterr().err
    main(["normalise", str(file)])
    assert "Sleeping" not in capsys.readouterr().out
    file.write_text(TOGETHER + "status: {state: Sleeping}\n")
    assert main(["check", str(file)]) == 1
    assert "error: status.state: unknown field" in capsys.readouterr().out
    head = "apiVersion: aim.silogen.ai/v1alpha1\nkind: AIMClusterRuntimeConfig\n"
    file.write_text(f"{head}metadata: {{name: c}}\nstatus: {{conditions: 1}}\n")
    assert main(["check", str(file)]) == 1
    assert "status.conditions" in capsys.readouterr().out


def test_what_is_compared_with_other_files_has_their_defaults(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    both = TOGETHER.replace("aimImageName: img}", "aimImageName: img, runtimeConfigName: other}")
    alike = "{aimImageName: img, templateRef: t, overrides: {metric: latency}}"
    (tmp_path / "a.yaml").write_text(both.replace("{aimImageName: img, templateRef: t}", alike))
    (tmp_path / "b.yaml").write_text(
        f"apiVersion: aim.silogen.ai/v1alpha1\nkind: AIMService\nmetadata: {{name: second}}\nspec: {alike}\n"
    )
    assert main(["check", str(tmp_path)]) == 0
    assert "AI409" not in capsys.readouterr().out


def test_an_object_whose_name_the_api_server_makes_is_checked_too(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "model.yaml").write_text(GOOD.replace("name: good", "generateName: good-"))
    assert main(["check", str(tmp_path)]) == 0
    assert "Model good-…: accepted" in capsys.readouterr().out


def test_normalise_prints_what_would_be_stored(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "m.yaml"
    file.write_text(GOOD.replace("{source", "{hardware: {gpu: {count: 1, vendor: amd}}, source"))
    assert main(["normalise", str(file)]) == 0
    (obj,) = yaml.safe_load_all(capsys.readouterr().out)
    assert obj["spec"]["hardware"]["gpu"]["resourceName"] == "amd.com/gpu"
    assert obj["spec"]["format"] == "gguf"
    assert "modelgate.dev/normalised" in obj["metadata"]["annotations"]


def test_strict_refuses_what_standard_warns_of(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "m.yaml"
    file.write_text(GOOD.replace("pvc://c/m.gguf", "pvc://c"))
    assert main(["check", str(file)]) == 0
    assert main(["check", "--profile", "strict", str(file)]) == 1
    assert "LK205 error: " in capsys.readouterr().out


PREDICTOR = """\
apiVersion: ome.io/v1beta1
kind: InferenceService
metadata: {name: service, namespace: team}
spec: {predictor: {model: {baseModel: m, runtime: r}}}
"""


def normalised(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[dict[str, Any], str]:
    """The specification as it would be stored, and the digest of the rules and settings that made it."""
    main(["normalise", *arguments])
    (obj,) = yaml.safe_load_all(capsys.readouterr().out)
    return obj["spec"], json.loads(obj["metadata"]["annotations"]["modelgate.dev/normalised"])["catalog"]


def test_a_setting_changes_what_is_stored_and_the_digest_tells(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, there = tmp_path / "s.yaml", tmp_path / "models.yaml"
    file.write_text(PREDICTOR)
    there.write_text(IN_THE_CLUSTER)
    arguments = (f"--view={there}", str(file))
    usual, digest = normalised(capsys, *arguments)
    other, of_other = normalised(capsys, "--no-ome-migration", *arguments)
    assert ("engine" in usual, "engine" in other) == (True, False)
    assert digest != of_other
    assert normalised(capsys, "--ome-migration", *arguments) == (usual, digest)


def test_a_setting_that_there_is_not_is_refused_with_those_there_are(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit, match="64"):
        main(["check", "--ome=newest", str(tmp_path)])
    complaint = capsys.readouterr().err
    assert all(each.value in complaint for each in Behaviour)
    assert main(["check", "--ome-namespace=a/b", str(tmp_path)]) == 64
    assert "--ome-namespace: String should match pattern" in capsys.readouterr().err


@pytest.mark.parametrize("module", [webhook.cli.serve, webhook.cli.check, webhook.cli.normalise])
def test_every_setting_is_a_flag(module: Any) -> None:
    parser = argparse.ArgumentParser()
    module.add_parser(parser.add_subparsers())
    command = module.__name__.rpartition(".")[2]
    options = parser.parse_args([command, *([] if command == "serve" else ["-"])])
    assert {each.name for each in fields(Settings)} <= vars(options).keys()


def test_the_demo_gets_the_answers_it_expects(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "argv", ["modelgate"])  # it names the command as it was called
    assert main(["demo"]) == 0
    out = capsys.readouterr().out
    assert "14 of 14 answers as expected" in out
    change = '+ spec.hardware.gpu.resourceName: "devic.es/dri-render"'
    assert f"{change}\n       # derived from vendor and runtime (LK102)\n" in out
    assert "       source: hf://unsloth/gemma-4-31B-it-GGUF\n" in out
    assert [line for line in out.splitlines() if len(line) > 80] == []


def test_the_command_alone_prints_its_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 0
    assert capsys.readouterr().out.startswith("usage: modelgate ")


def test_a_command_that_does_not_exist_is_a_usage_error(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        main(["frobnicate"])
    assert stop.value.code == 64
    assert "invalid choice" in capsys.readouterr().err


def test_files_are_checked_by_the_installed_definitions(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file, crds = tmp_path / "later.yaml", tmp_path / "crds"
    file.write_text(GOOD.replace("pvc://c/m.gguf", "s3://b/m.gguf, prefetch: true"))
    crds.mkdir()
    (crds / "models.yaml").write_text(yaml.safe_dump(changed("Model", with_prefetch)))
    assert main(["check", str(file)]) == 1
    assert main(["check", str(file), "--crds", str(crds)]) == 0
    said = "the installed definition of Model.v1alpha1.inference.llmkube.dev differs from Modelgate's: also with"
    assert f"{crds / 'models.yaml'}:1: warning: {said} spec.prefetch" in capsys.readouterr().out
    assert main(["normalise", str(file), "--crds", str(crds)]) == 0
    assert yaml.safe_load(capsys.readouterr().out)["spec"]["prefetch"] is True


def test_a_folder_without_definitions_is_an_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "good.yaml"
    file.write_text(GOOD)
    assert main(["check", str(file), "--crds", str(file)]) == 2
    assert "no CustomResourceDefinition found" in capsys.readouterr().err


def test_a_successor_api_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "successor.yaml"
    file.write_text("apiVersion: aim.eai.amd.com/v1alpha1\nkind: AIMArtifact\nmetadata: {name: a}\n")
    main(["check", str(file)])
    assert "no rules for aim.eai.amd.com, the successor of aim.silogen.ai" in capsys.readouterr().err


def test_one_unreadable_document_costs_itself(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "all.yaml"
    broken = "a: .inf\n---\nb: [\n---\nc: 1\n"
    file.write_text(f"{broken}---\n{GOOD}---\n{BAD}")
    assert main(["check", str(file)]) == 2
    out, err = capsys.readouterr()
    assert f"{file}:7: Model good: accepted" in out
    assert f"{file}:17:3: schema error: spec.source: Invalid value" in out
    assert "2 checked, 1 refused" in err
    for line, said in ((1, ".inf is not a JSON number"), (4, "while parsing a flow node")):
        assert f"{file}:{line}: {said}" in err
