"""Whole repositories: green when they are right, and one finding at its line for each planted mistake."""

import json
import shutil
from pathlib import Path

import pytest

from tests.crds import crd_text
from webhook.cli import main

Capture = pytest.CaptureFixture[str]

SECRET = "ENC[AES256_GCM,data:Zm9v,iv:aXY=,tag:dGFn,type:str]"
KUSTOMIZE = pytest.mark.skipif(
    not (shutil.which("kustomize") or shutil.which("kubectl")), reason="needs kustomize or kubectl"
)

FLUX = {
    "clusters/prod/apps.yaml": """\
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: apps, namespace: flux-system}
spec:
  path: ./apps
  interval: 10m
  prune: true
  sourceRef: {kind: GitRepository, name: flux-system}
  postBuild:
    substitute: {NS: ai, GPUS: "2", ACCEL: cuda}
    substituteFrom: [{kind: ConfigMap, name: vars}, {kind: Secret, name: tokens}]
""",
    "clusters/prod/vars.yaml": """\
apiVersion: v1
kind: ConfigMap
metadata: {name: vars, namespace: flux-system}
data: {VENDOR: nvidia}
""",
    "apps/model.yaml": """\
apiVersion: inference.llmkube.dev/v1alpha1
kind: Model
metadata:
  name: chat
  namespace: ${NS}
spec:
  source: pvc://${BUCKET}/chat.gguf
  hardware:
    accelerator: ${ACCEL}
    gpu:
      enabled: true
      count: ${GPUS}
      vendor: ${VENDOR}
""",
    "apps/service.yaml": """\
apiVersion: inference.llmkube.dev/v1alpha1
kind: InferenceService
metadata: {name: chat, namespace: "${NS}"}
spec: {modelRef: chat, image: "ghcr.io/ggml-org/llama.cpp:server-cuda"}
""",
    "apps/encrypted.yaml": f"""\
apiVersion: llmaz.io/v1alpha1
kind: OpenModel
metadata:
  name: encrypted
spec:
  familyName: qwen
  source:
    modelHub:
      modelID: {SECRET}
sops:
  mac: {SECRET}
  version: 3.9.0
""",
    "apps/flavors.yaml": """\
apiVersion: llmaz.io/v1alpha1
kind: OpenModel
metadata:
  name: flavors
spec:
  familyName: qwen
  source:
    modelHub:
      modelID: Qwen/Qwen2-0.5B
  inferenceConfig:
    flavors:
      - &flavor
        name: a10
        limits: {nvidia.com/gpu: 1}
      - <<: *flavor
        name: a100
""",
    "infra/release.yaml": """\
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: web, namespace: default}
spec:
  interval: 1h
  chartRef: {kind: OCIRepository, name: app-template}
  values:
    envFrom: [{secretRef: {name: "{{ .Release.Name }}-secret"}}]
    liveness: &probe {enabled: true, spec: {periodSeconds: 10}}
    readiness:
      <<: *probe
      spec: {periodSeconds: 5}
""",
    "docs/job.tmpl.yaml": "apiVersion: batch/v1\nkind: Job\nmetadata:\n  name: {{ .Name }}\n",
}
ARGO = {
    "root/apps.yaml": """\
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: apps, namespace: argocd}
spec:
  project: default
  source: {repoURL: "https://git.example.com/r", path: charts/llm, helm: {valuesObject: {source: pvc://a/b.gguf}}}
  destination: {name: in-cluster, namespace: ai}
""",
    "charts/llm/Chart.yaml": "apiVersion: v2\nname: llm\nversion: 1.0.0\n",
    "charts/llm/values.yaml": "source: pvc://c/m.gguf\n",
    "charts/llm/templates/model.yaml": """\
apiVersion: inference.llmkube.dev/v1alpha1
kind: Model
metadata: {name: {{ .Release.Name }}}
spec: {source: {{ .Values.source }}}
""",
    "base/kustomization.yaml": "resources: [model.yaml, service.yaml]\n",
    "base/model.yaml": """\
apiVersion: ome.io/v1beta1
kind: ClusterBaseModel
metadata:
  name: qwen
spec:
  modelFormat: {name: safetensors}
  storage:
    storageUri: hf://Qwen/Qwen2-0.5B
""",
    "base/service.yaml": """\
apiVersion: ome.io/v1beta1
kind: InferenceService
metadata:
  name: qwen
  namespace: ai
spec:
  model:
    name: qwen
  engine:
    minReplicas: 1
    runner: {name: ome-container, image: "registry.example/engine:1"}
""",
    "shared/labels.yaml": "- {op: add, path: /metadata/labels, value: {team: a}}\n",
    "overlays/prod/kustomization.yaml": """\
apiVersion: kustomize.config.k8s.io/v1beta1
kind: Kustomization
resources: [../../base]
patches: [{path: ../../shared/labels.yaml, target: {kind: InferenceService}}]
""",
}
PLAIN = {
    "crds/rollouts.yaml": crd_text(
        "argoproj.io",
        "Rollout",
        "{type: object, properties: {spec: {type: object, properties: {replicas: {type: integer, minimum: 0}}}}}",
        version="v1alpha1",
    ),
    "rollout.yaml": """\
apiVersion: argoproj.io/v1alpha1
kind: Rollout
metadata: {name: web, namespace: web}
spec:
  replicas: 2
""",
    "project.yaml": "apiVersion: argoproj.io/v1alpha1\nkind: AppProject\nmetadata: {name: p, namespace: argocd}\n",
    "models.yaml": """\
apiVersion: llmaz.io/v1alpha1
kind: OpenModelList
items:
- metadata:
    name: listed
  spec:
    familyName: qwen
    source: {modelHub: {modelID: Qwen/Qwen2-0.5B}}
""",
    "files.yaml": """\
apiVersion: inference.llmkube.dev/v1alpha1
kind: Model
metadata: {name: split, namespace: ai}
spec:
  source: hf://org/a-GGUF
  format: gguf
  files:
  - a-00001-of-00002.gguf
  - a-00002-of-00002.gguf
""",
    "deployment.yaml": "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web, namespace: web}\n",
    "values.yaml": "replicas: 1\n",
}
TREES = {"flux": FLUX, "argo": ARGO, "plain": PLAIN}
FLAGS = {"flux": (), "argo": ("--kustomize",), "plain": ()}
CHECKED = {"flux": 5, "argo": 2, "plain": 4}
MISTAKES = [
    ("flux", "apps/model.yaml", "kind: Model", "kind: Modle", 2, "unknown-kind"),
    ("flux", "apps/model.yaml", "inference.llmkube.dev", "inference.llmkub.dev", 1, "unknown-kind"),
    ("flux", "apps/model.yaml", "v1alpha1", "v1alpha", 1, "unknown-kind"),
    ("flux", "clusters/prod/apps.yaml", "ACCEL: cuda", "ACCEL: cudda", "apps/model.yaml:9", "schema"),
    ("flux", "clusters/prod/apps.yaml", 'GPUS: "2"', 'GPUS: "20"', "apps/model.yaml:12", "schema"),
    ("flux", "clusters/prod/vars.yaml", "VENDOR: nvidia", "VENDOR: nvdia", "apps/model.yaml:13", "schema"),
    ("flux", "apps/model.yaml", "enabled: true", "enabeld: true", 11, "unknown-field"),
    ("flux", "apps/model.yaml", "source: pvc://${BUCKET}/chat.gguf", "format: gguf", 6, "schema"),
    ("flux", "apps/encrypted.yaml", "familyName: qwen", "familyName: qwen 2", 6, ""),
    ("flux", "apps/encrypted.yaml", "modelHub:", "modelhub:", 8, "unknown-field"),
    ("flux", "apps/flavors.yaml", "name: a100", "name: a100\n        requests: {}", 17, "unknown-field"),
    ("flux", "apps/flavors.yaml", "name: a100", "name: a100\n        name: b100", 17, "yaml"),
    ("argo", "base/service.yaml", "    name: qwen", "    name: qwem", 8, "OM401"),
    ("argo", "base/service.yaml", "minReplicas: 1", "minReplicas: one", 10, "schema"),
    ("argo", "base/service.yaml", "minReplicas: 1", "minReplica: 1", 10, "unknown-field"),
    ("argo", "base/service.yaml", "kind: InferenceService", "kind: InferenceSerivce", 2, "unknown-kind"),
    ("argo", "base/service.yaml", "ome.io/v1beta1", "ome.io/v1beta", 1, "unknown-kind"),
    ("argo", "base/service.yaml", "minReplicas: 1", "minReplicas: 3\n    maxReplicas: 2", 11, "OM302"),
    ("argo", "base/model.yaml", "storageUri: hf://", "storageUri: hff://", 8, ""),
    ("argo", "base/model.yaml", "modelFormat: {name: safetensors}", "modelFormat: {}", 6, "schema"),
    ("argo", "base/model.yaml", "kind: ClusterBaseModel", "kind: ClusterBaseModle", 2, "unknown-kind"),
    (
        "argo",
        "overlays/prod/kustomization.yaml",
        "patches:",
        "namespace: prod_x\npatches:",
        "base/service.yaml:5",
        "schema",
    ),
    ("argo", "shared/labels.yaml", "value: {team: a}", "value: {team: a b}", "base/service.yaml:3", "schema"),
    ("plain", "rollout.yaml", "replicas: 2", "replicas: -2", 5, "schema"),
    ("plain", "rollout.yaml", "replicas: 2", "replicsa: 2", 5, "unknown-field"),
    ("plain", "rollout.yaml", "v1alpha1", "v1alpha3", 1, "unknown-kind"),
    ("plain", "crds/rollouts.yaml", "scope: Namespaced", "scope: Namespace", 7, "schema"),
    ("plain", "models.yaml", "familyName: qwen", 'familyName: ""', 7, "LZ213"),
    ("plain", "models.yaml", "name: listed", "name: Listed", 5, "schema"),
    ("plain", "models.yaml", "OpenModelList", "OpenModlList", 4, "unknown-kind"),
    ("plain", "models.yaml", "modelID", "modelId", 8, "unknown-field"),
    ("plain", "files.yaml", "  - a-00002-of-00002.gguf\n", "", 7, "LK361"),
    ("plain", "files.yaml", "format: gguf", "format: GGUF", 6, "schema"),
    ("plain", "files.yaml", "format: gguf", "quantization: Q8_0\n  format: gguf\n  fromat: gguf", 8, "unknown-field"),
    (
        "plain",
        "files.yaml",
        "apiVersion: inference.llmkube.dev/v1alpha1",
        "apiVersion: llmkube.dev/v1alpha1",
        1,
        "unknown-kind",
    ),
]
"""Repository, file, what is written instead of what, the line of the finding, and its code if it is a certain one."""


def made(name: str, folder: Path) -> Path:
    for path, text in TREES[name].items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    return folder


def marked(name: str) -> object:
    return pytest.param(name, marks=KUSTOMIZE) if name == "argo" else name


@pytest.mark.parametrize("name", [marked(name) for name in TREES])
def test_a_right_repository_is_green(
    name: str, tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(made(name, tmp_path))
    code = main(["check", "--no-config", "--fail-on=warning", f"--min-checked={CHECKED[name]}", *FLAGS[name], "."])
    out, err = capsys.readouterr()
    assert (code, f"{CHECKED[name]} checked, 0 refused, 0 with warnings" in err) == (0, True), out + err


@pytest.mark.parametrize(
    ("kind", "spec", "named"),
    [
        ("Application", "{source: {helm: {valuesObject: {a: 1}}}}", True),
        ("Application", "{sources: [{path: a}, {helm: {values: 'a: 1'}}]}", True),
        ("Application", "{source: {helm: {parameters: [{name: a, value: b}]}}}", False),
        ("ApplicationSet", "{template: {spec: {source: {helm: {valuesObject: {a: 1}}}}}}", True),
        ("ApplicationSet", "{template: {metadata: {}}}", False),
        ("ApplicationSet", "{template: 1}", False),
    ],
)
def test_values_that_an_application_gives_to_a_chart_are_not_looked_into(
    kind: str, spec: str, named: bool, tmp_path: Path, capsys: Capture
) -> None:
    (tmp_path / "a.yaml").write_text(f"apiVersion: argoproj.io/v1alpha1\nkind: {kind}\nmetadata: {{}}\nspec: {spec}\n")
    assert main(["check", str(tmp_path)]) == 0
    assert (f"not looked into: the values that 1 {kind} give to charts" in capsys.readouterr().err) == named


def test_what_is_not_judged_of_them_is_said(tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(made("flux", tmp_path))
    assert main(["check", "--no-config", "."]) == 0
    err = capsys.readouterr().err
    assert "not judged: 1 value encrypted by SOPS\n" in err
    assert "not judged: 1 value that Flux substitutes: ${BUCKET}\n" in err
    assert "not looked into: the values that 1 HelmRelease give to charts" in err
    assert "not read: 1 not readable\n" in err
    assert main(["check", "--no-config", "--substitute=BUCKET=weights", "--substitute=GPUS=none", "."]) == 1
    out, err = capsys.readouterr()
    assert "apps/model.yaml:12:7: schema error: spec.hardware.gpu.count: " in out
    assert "Flux substitutes" not in err
    (tmp_path / "vars.env").write_text('# values\nexport BUCKET="weights"\nGPUS=3\n')
    assert main(["check", "--no-config", "--substitute-file=vars.env", "."]) == 0
    assert "Flux substitutes" not in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "path", "right", "wrong", "line", "code"),
    [pytest.param(*row, marks=[KUSTOMIZE] if row[0] == "argo" else []) for row in MISTAKES],
)
def test_a_planted_mistake_is_one_finding_at_its_line(
    name: str,
    path: str,
    right: str,
    wrong: str,
    line: int | str,
    code: str,
    tmp_path: Path,
    capsys: Capture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    folder = made(name, tmp_path)
    text = (folder / path).read_text()
    assert text.count(right) == 1
    (folder / path).write_text(text.replace(right, wrong))
    monkeypatch.chdir(folder)
    assert main(["check", "--no-config", "--fail-on=warning", "-o", "json", *FLAGS[name], "."]) == 1
    report = json.loads(capsys.readouterr().out)
    found = [(f"{each['file']}:{one['line']}", one["code"]) for each in report["objects"] for one in each["findings"]]
    place = line if isinstance(line, str) else f"{path}:{line}"
    assert [each for each, _ in found] == [place], found
    assert code in ("", found[0][1])
