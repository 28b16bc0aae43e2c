"""The README's three mistakes get the answers that it quotes."""

import re

import pytest

from modelgate import Gate
from tests.shared import ROOT

README = (ROOT / "README.md").read_text()

VARIANT = """\
apiVersion: llmd.ai/v1alpha1
kind: VariantAutoscaling
metadata: {name: chat, namespace: team}
spec:
  modelID: meta/llama-3.1-8b
  variantID: meta/llama-3.1-8b-A100-4
  accelerator: A100
  acceleratorCount: 4
  sloClassRef: {name: classes, key: premium.yaml}
  variantProfile:
    maxBatchSize: 4
    perfParms: {decodeParms: {beta: "0.41"}, prefillParms: {gamma: "5.2", delta: "0.1"}}
"""
MEMORY = """\
apiVersion: inference.llmkube.dev/v1alpha1
kind: InferenceService
metadata: {name: chat, namespace: team}
spec: {modelRef: llama, resources: {memory: 16GB}}
"""
SERVICE = """\
apiVersion: ome.io/v1beta1
kind: InferenceService
metadata: {name: chat, namespace: team}
spec:
  model: {name: llama-3-8b, kind: ClusterBaseModel}
  engine: {runner: {name: ome-container, resources: {requests: {memory: 160Gi}, limits: {memory: 80Gi}}}}
"""


@pytest.mark.parametrize(
    ("code", "text", "refused"), [("LD211", VARIANT, True), ("LS209", MEMORY, False), ("KP001", SERVICE, False)]
)
def test_a_mistake_gets_the_answer_that_the_readme_quotes(code, text, refused):
    ((effect, quoted),) = re.findall(rf"\| ([^|`]*(?:`strict` refused)?): `{code} ([^`]*)` \|", README)
    assert (effect == "refused") is refused
    assert quoted in [each.text for each in Gate().check(text).findings if each.code == code]
    assert Gate().check(text).allowed is not refused
    assert not Gate(profile="strict").check(text).allowed
