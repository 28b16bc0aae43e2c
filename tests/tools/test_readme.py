"""The README's three mistakes get the answers that it quotes."""

import re

import pytest

from modelgate import Gate
from tests.shared import ROOT

README = (ROOT / "README.md").read_text()

MODEL = """\
apiVersion: inference.llmkube.dev/v1alpha1
kind: Model
metadata: {name: llama}
spec: {source: "https://huggingface.co/org/repo/blob/main/model.gguf"}
"""
SERVICE = """\
apiVersion: ome.io/v1beta1
kind: InferenceService
metadata: {name: chat, namespace: team}
spec:
  model: {name: llama-3-8b, kind: ClusterBaseModel}
  engine: {runner: {name: ome-container, resources: {requests: {memory: 160Gi}, limits: {memory: 80Gi}}}}
"""
TYPO = """\
apiVersion: aim.silogen.ai/v1alpha1
kind: AIMService
metadata: {name: chat, namespace: team}
spec: {aimImageName: lama-3-8b}
"""


@pytest.mark.parametrize(("code", "text"), [("LK325", MODEL), ("KP001", SERVICE), ("AI417", TYPO)])
def test_a_mistake_gets_the_answer_that_the_readme_quotes(code, text):
    (quoted,) = re.findall(rf"\| `{code} ([^`]*)` \|", README)
    said = [each.text for each in Gate().check(text).findings if each.code == code]
    parts = [part.strip() for part in quoted.split("…")]
    assert any(all(part in each for part in parts) for each in said), said
