"""`check` and `normalise` with Kubernetes' own policies: the offline checker of any manifest."""

from pathlib import Path

import pytest
import yaml

from webhook.cli import main

REGISTRIES = """\
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: allowed-registries}
spec:
  paramKind: {apiVersion: v1, kind: ConfigMap}
  matchConstraints:
    resourceRules:
    - {apiGroups: [apps], apiVersions: [v1], operations: [CREATE, UPDATE], resources: [deployments]}
    - {apiGroups: [ome.io], apiVersions: [v1beta1], operations: [CREATE, UPDATE], resources: [inferenceservices]}
  variables:
  - name: deployed
    expression: "has(object.spec.template) ? object.spec.template.spec.containers.map(c, c.image) : []"
  - name: serving
    expression: "has(object.spec.engine) ? [object.spec.engine.?runner.?image.orValue('')] : []"
  - name: foreign
    expression: "(variables.deployed + variables.serving).filter(i, !i.startsWith(params.data.registry + '/'))"
  validations:
  - expression: "variables.foreign.size() == 0"
    messageExpression: "'take images from ' + params.data.registry + ', not ' + variables.foreign.join(', ')"
    reason: Forbidden
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: everywhere}
spec:
  policyName: allowed-registries
  validationActions: [Deny]
  paramRef: {name: registry, namespace: policies, parameterNotFoundAction: Deny}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: registry, namespace: policies}
data: {registry: registry.example}
"""
TEAM = """\
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicy
metadata: {name: team-label}
spec:
  matchConstraints:
    namespaceSelector: {matchLabels: {tenant: "yes"}}
    resourceRules:
    - {apiGroups: ["*"], apiVersions: ["*"], operations: [CREATE], resources: ["*"]}
  reinvocationPolicy: Never
  mutations:
  - patchType: ApplyConfiguration
    applyConfiguration:
      expression: "Object{metadata: Object.metadata{labels: {'team': namespaceObject.metadata.name}}}"
---
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicyBinding
metadata: {name: team-label}
spec: {policyName: team-label}
---
apiVersion: v1
kind: Namespace
metadata: {name: blue, labels: {tenant: "yes"}}
"""
DEPLOYMENT = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: blue}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - {name: a, image: "registry.example/a:1"}
      - {name: b, image: "elsewhere.example/b:1"}
"""
SERVICE = """\
apiVersion: ome.io/v1beta1
kind: InferenceService
metadata: {name: chat, namespace: blue}
spec:
  model: {name: m}
  engine: {minReplicas: 1, maxReplicas: 1, runner: {name: ome-container, image: "elsewhere.example/engine:1"}}
---
apiVersion: ome.io/v1beta1
kind: BaseModel
metadata: {name: m, namespace: blue}
spec: {modelFormat: {name: safetensors}, storage: {storageUri: "hf://org/m"}}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "policies").mkdir()
    (tmp_path / "policies" / "registries.yaml").write_text(REGISTRIES)
    (tmp_path / "policies" / "team.yaml").write_text(TEAM)
    (tmp_path / "manifests").mkdir()
    (tmp_path / "manifests" / "web.yaml").write_text(DEPLOYMENT)
    (tmp_path / "manifests" / "chat.yaml").write_text(SERVICE)
    return tmp_path


def run(folder: Path, command: str = "check", *more: str) -> int:
    return main([command, f"--admission-policies={folder / 'policies'}", *more, str(folder / "manifests")])


def test_every_kind_is_judged_ours_and_built_in_ones(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(folder) == 1
    out, err = capsys.readouterr()
    denied = "ValidatingAdmissionPolicy 'allowed-registries' with binding 'everywhere' denied request: "
    assert "web.yaml:1: Deployment blue/web: REFUSED" in out
    assert "chat.yaml:1: InferenceService blue/chat: REFUSED" in out
    assert f"error: {denied}take images from registry.example, not elsewhere.example/b:1\n" in out
    assert f"error: {denied}take images from registry.example, not elsewhere.example/engine:1\n" in out
    assert "BaseModel blue/m: accepted" in out
    assert err.startswith("3 checked, 2 refused, 0 with warnings, 0 skipped\n")


def test_what_is_allowed_is_accepted(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for file in (folder / "manifests").iterdir():
        file.write_text(file.read_text().replace("elsewhere.example", "registry.example"))
    assert run(folder) == 0
    assert "3 checked, 0 refused" in capsys.readouterr().err


def test_the_audit_profile_warns_of_what_a_policy_denies(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(folder, "check", "--profile=audit") == 0
    assert "warning: would be refused: ValidatingAdmissionPolicy 'allowed-registries'" in capsys.readouterr().out


def test_an_object_is_printed_as_policies_and_gate_would_store_it(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run(folder, "normalise")
    objects = {each["kind"]: each for each in yaml.safe_load_all(capsys.readouterr().out)}
    assert {each["metadata"]["labels"]["team"] for each in objects.values()} == {"blue"}
    assert "modelgate.dev/normalised" in objects["InferenceService"]["metadata"]["annotations"]
    assert "annotations" not in objects["Deployment"]["metadata"]


def test_a_namespace_that_no_file_describes_has_no_labels(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    team = folder / "policies" / "team.yaml"
    team.write_text(team.read_text().rpartition("---")[0])
    run(folder, "normalise")
    assert not any("labels" in each["metadata"] for each in yaml.safe_load_all(capsys.readouterr().out))
    there = folder / "blue.yaml"
    there.write_text('{apiVersion: v1, kind: Namespace, metadata: {name: blue, labels: {tenant: "yes"}}}')
    run(folder, "normalise", f"--view={there}")
    assert all(each["metadata"]["labels"] == {"team": "blue"} for each in yaml.safe_load_all(capsys.readouterr().out))


def test_params_that_are_not_there_are_what_the_binding_says(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = folder / "policies" / "registries.yaml"
    file.write_text(REGISTRIES.replace("metadata: {name: registry,", "metadata: {name: other,"))
    assert run(folder) == 1
    assert "no params found for policy binding with `Deny` parameterNotFoundAction" in capsys.readouterr().out
    file.write_text(file.read_text().replace("parameterNotFoundAction: Deny", "parameterNotFoundAction: Allow"))
    assert run(folder) == 0


def test_an_object_that_names_no_namespace_is_one_of_default(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = folder / "policies" / "registries.yaml"
    file.write_text(REGISTRIES.replace("name: registry, namespace: policies", "name: registry"))
    (folder / "manifests" / "web.yaml").write_text(DEPLOYMENT.replace(", namespace: blue", ""))
    (folder / "manifests" / "chat.yaml").unlink()
    assert run(folder) == 1
    assert "take images from registry.example, not elsewhere.example/b:1" in capsys.readouterr().out


def test_what_is_doubtful_about_policies_is_said_with_its_line(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    doubtful = REGISTRIES.replace("variables.foreign.size() == 0", "object.spec.modle.name == 'm'").replace(
        "apiGroups: [apps], apiVersions: [v1], operations: [CREATE, UPDATE], resources: [deployments]",
        "apiGroups: [ome.io], apiVersions: [v1beta1], operations: [CREATE], resources: [basemodels]",
    )
    (folder / "policies" / "registries.yaml").write_text(doubtful)
    (folder / "policies" / "unbound.yaml").write_text(TEAM.partition("---")[0].replace("team-label", "unbound"))
    run(folder)
    out = capsys.readouterr().out
    assert f"{folder}/policies/unbound.yaml:1: warning: MutatingAdmissionPolicy unbound has no binding: it never" in out
    line = doubtful.split("\n").index("  - expression: \"object.spec.modle.name == 'm'\"") + 1
    assert f"{folder}/policies/registries.yaml:{line}: warning: ValidatingAdmissionPolicy allowed-registries: " in out
    assert "ome.io/v1beta1, Kind=InferenceService: ERROR: <input>:1:12: undefined field 'modle'" in out


def test_all_that_is_wrong_with_the_folder_is_said_at_once(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    policies = folder / "policies"
    (policies / "registries.yaml").write_text(REGISTRIES.replace("size() == 0", "size() + 0"))
    (policies / "team.yaml").write_text("kind: [\n")
    (policies / "nameless.yaml").write_text("apiVersion: v1\nkind: ConfigMap\ndata: {a: b}\n")
    assert run(folder) == 2
    lines = capsys.readouterr().err
    assert "registries.yaml:18: spec.validations[0].expression: must evaluate to bool but got int" in lines
    assert "team.yaml:" in lines
    assert "nameless.yaml:1: metadata.name: ConfigMap without a name" in lines


def test_without_policies_built_in_kinds_are_judged_as_kubernetes_does(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    web = folder / "manifests" / "web.yaml"
    assert main(["check", str(web)]) == 0
    assert "1 checked, 0 refused" in capsys.readouterr().err
    web.write_text(DEPLOYMENT.replace("app: web}}\n  template", "app: wbe}}\n  template"))
    assert main(["check", str(web)]) == 1
    said = 'schema error: spec.template.metadata.labels: Invalid value: {"app":"web"}: `selector` does not match'
    assert said in capsys.readouterr().out


def test_a_folder_without_a_policy_is_an_error(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for file in (folder / "policies").iterdir():
        file.unlink()
    assert run(folder) == 2
    assert "policies: no ValidatingAdmissionPolicy or MutatingAdmissionPolicy found" in capsys.readouterr().err
    (folder / "policies" / "other.yaml").write_text(OTHERS)
    assert run(folder) == 2
    err = capsys.readouterr().err
    assert "other.yaml:1: kyverno.io/v1 ClusterPolicy p is not evaluated: Modelgate does not run this kind" in err
    assert "no ValidatingAdmissionPolicy or MutatingAdmissionPolicy found" in err


OTHERS = """\
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: p}
---
apiVersion: constraints.gatekeeper.sh/v1beta1
kind: K8sRequiredLabels
metadata: {name: c}
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: w}
"""


def test_policies_that_other_programs_evaluate_are_named(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "policies" / "other.yaml").write_text(OTHERS)
    run(folder)
    out = capsys.readouterr().out
    for line, kind in ((1, "ClusterPolicy p"), (5, "K8sRequiredLabels c"), (9, "ValidatingWebhookConfiguration w")):
        assert f"other.yaml:{line}: warning: " in out
        assert f"{kind} is not evaluated" in out


def test_built_in_kinds_are_checked_against_their_own_fields(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    web = folder / "manifests" / "web.yaml"
    web.write_text(
        DEPLOYMENT.replace("elsewhere", "registry").replace("spec:\n  selector", 'spec:\n  replicas: "2"\n  selector')
    )
    assert run(folder) == 1
    said = 'web.yaml:5:3: schema error: spec.replicas: Invalid value: "2": must be of type integer'
    assert said in capsys.readouterr().out
    web.write_text(DEPLOYMENT.replace("elsewhere", "registry").replace("  selector:", "  tmplate: {}\n  selector:"))
    assert run(folder) == 1
    assert "web.yaml:5:3: unknown-field error: spec.tmplate: unknown field" in capsys.readouterr().out
    web.write_text(DEPLOYMENT.replace("elsewhere", "registry").replace("name: web", "name: a/b, labels: {a: b c}"))
    assert run(folder) == 1
    out = capsys.readouterr().out
    assert 'error: metadata.name: Invalid value: "a/b": not an RFC 1123 subdomain; use' in out
    assert 'error: metadata.labels: Invalid value: "b c"' in out


def test_a_kind_without_a_known_schema_is_named(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "manifests" / "web.yaml").write_text("apiVersion: example.com/v1\nkind: Widget\nmetadata: {name: w}\n")
    run(folder)
    assert (
        "warning: only policies are evaluated: the schema of Widget is not known; use --crds" in capsys.readouterr().out
    )
