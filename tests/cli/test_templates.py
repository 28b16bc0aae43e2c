"""What `helm template` made is reported at the template, where its file is known."""

import io
import json
import re
import subprocess
from pathlib import Path

import pytest

from tests.chart import helm
from webhook.cli import main

Capture = pytest.CaptureFixture[str]

TEMPLATE = """\
{{- range .Values.models }}
---
apiVersion: inference.llmkube.dev/v1alpha1
kind: Model
metadata:
  name: {{ .name }}
  labels:
    {{- include "llm.labels" $ | nindent 4 }}
spec:
  source: {{ .source }}
  hardware:
    accelerator: cuda
    gpu:
      {{- if .gpus }}
      count: {{ .gpus }}
      enabled: true
      {{- end }}
  resources: {{ .resources | toYaml | nindent 4 }}
{{- end }}
"""
CHART = {
    "deploy/large/Chart.yaml": "apiVersion: v2\nname: llm\nversion: 1.0.0\n",
    "deploy/large/templates/models.yaml": TEMPLATE,
    "deploy/large/templates/_helpers.tpl": '{{- define "llm.labels" -}}\napp: llm\nteam: a\n{{- end }}\n',
    "deploy/large/values.yaml": """\
models:
- {name: a, source: pvc://c/a.gguf, gpus: 1, resources: {memory: 1Gi}}
- {name: b, source: pvc://c/b.gguf, gpus: 99, resources: {memory: 1Gi, momery: 2Gi}}
""",
}
MADE = """\
---
# Source: llm/templates/models.yaml
apiVersion: inference.llmkube.dev/v1alpha1
kind: Model
metadata:
  name: a
  labels:
    app: llm
    team: a
spec:
  source: pvc://c/a.gguf
  hardware:
    accelerator: cuda
    gpu:
      count: 1
      enabled: true
  resources:
    memory: 1Gi
---
# Source: llm/templates/models.yaml
apiVersion: inference.llmkube.dev/v1alpha1
kind: Model
metadata:
  name: b
  labels:
    app: llm
    team: a
spec:
  source: pvc://c/b.gguf
  hardware:
    accelerator: cuda
    gpu:
      count: 99
      enabled: true
  resources:
    memory: 1Gi
    momery: 2Gi
"""


@pytest.fixture
def chart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name, text in CHART.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


def check(monkeypatch: pytest.MonkeyPatch, text: str, *flags: str) -> int:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
    return main(["check", "--no-config", *flags, "-"])


def render(chart: Path) -> str:
    return subprocess.run(
        [helm.program(), "template", "r", str(chart / "deploy/large")], check=True, capture_output=True, text=True
    ).stdout


@pytest.mark.parametrize("by_helm", [False, True])
def test_findings_are_at_the_line_of_the_template(
    chart: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture, *, by_helm: bool
) -> None:
    made = render(chart) if by_helm else MADE
    assert check(monkeypatch, made) == 1
    out = capsys.readouterr().out
    file = "deploy/large/templates/models.yaml"
    assert re.findall(r"^(\S+): (Model \w: \w+|\S+ error: [\w.]+|LK334 warning)", out, re.MULTILINE) == [
        (f"{file}:3", "Model a: accepted"),
        (f"{file}:18:3", "LK334 warning"),
        (f"{file}:3", "Model b: REFUSED"),
        (f"{file}:15:7", "schema error: spec.hardware.gpu.count"),
        (f"{file}:18:3", "LK334 warning"),
        (f"{file}:18:3", "unknown-field error: spec.resources.momery"),
    ]
    assert check(monkeypatch, made, "-o", "sarif") == 1
    (run,) = json.loads(capsys.readouterr().out)["runs"]
    places = [each["locations"][0]["physicalLocation"] for each in run["results"]]
    assert {each["artifactLocation"]["uri"] for each in places} == {file}
    assert [each["region"]["startLine"] for each in places] == [18, 15, 18, 18]


@pytest.mark.parametrize(
    "named",
    [
        "other/templates/models.yaml",
        "llm/templates/none.yaml",
        "llm/../../../../etc/passwd",
        "llm/templates/link.yaml",
    ],
)
def test_a_template_that_is_not_one_of_the_files_leaves_the_lines_of_the_text(
    chart: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture, named: str
) -> None:
    (chart / ".git").mkdir()
    (chart / "deploy/large/templates/link.yaml").symlink_to("/etc/passwd")
    assert check(monkeypatch, MADE.replace("llm/templates/models.yaml", named)) == 1
    assert "stdin:33:7: schema error: spec.hardware.gpu.count" in capsys.readouterr().out


def test_two_charts_of_one_name_leave_the_lines_of_the_text(
    chart: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    for name in ("Chart.yaml", "templates/models.yaml"):
        (chart / "copy" / name).parent.mkdir(parents=True, exist_ok=True)
        (chart / "copy" / name).write_text(CHART[f"deploy/large/{name}"])
    assert check(monkeypatch, MADE) == 1
    assert "stdin:33:7: schema error" in capsys.readouterr().out
