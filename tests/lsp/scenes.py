"""The files of scenes in an editor, and what scenes ask of it."""

from tests.lsp.client import between, edited, place_of

MODEL = """\
apiVersion: inference.llmkube.dev/v1alpha1
kind: Model
metadata:
  name: llama
spec:
  source: https://example.com/llama.gguf
  hardware:
    accelerator: cuda
    gpu:
      enabled: true
      vendor: nvidia
      count: 1
"""
SERVICE = """\
apiVersion: inference.llmkube.dev/v1alpha1
kind: InferenceService
metadata:
  name: chat
spec:
  modelRef: llama
  image: ghcr.io/ggml-org/llama.cpp:server-cuda
  replicas: 1
  resources:
    gpu: 1
"""
RUNTIMES = """\
apiVersion: ome.io/v1beta1
kind: ClusterBaseModel
metadata: {name: base}
spec:
  modelFormat: {name: safetensors}
  modelArchitecture: LlamaForCausalLM
  modelParameterSize: 7B
  storage: {storageUri: "hf://meta/llama"}
---
apiVersion: ome.io/v1beta1
kind: ClusterServingRuntime
metadata: {name: fits}
spec:
  supportedModelFormats:
  - {modelFormat: {name: safetensors}, modelArchitecture: LlamaForCausalLM, autoSelect: true, priority: 1}
  engineConfig:
    runner: {name: ome-container, image: "example.com/sglang:1"}
"""
OME = """\
apiVersion: ome.io/v1beta1
kind: InferenceService
metadata:
  name: chosen
  namespace: default
spec:
  model:
    name: base
    kind: ClusterBaseModel
  engine:
    minReplicas: 1
"""
CACHE = """\
apiVersion: aim.silogen.ai/v1alpha1
kind: AIMModelCache
metadata: {name: cache}
spec: {sourceUri: "hf://org/model", size: 20Gi}
"""
EVERYTHING = between((0, 0), (1000, 0))


def actions(editor, name, place, **context):
    wanted = between(place, place)
    return editor.whole("codeAction", name, range=wanted, context={"diagnostics": [], **context})


def changed(editor, name, text, action):
    """The text after an action, which the editor then has; and its findings."""
    new = edited(text, action["edit"]["changes"][editor.uri(name)])
    return new, editor.type(name, new)


def labels(editor, name, text, words, behind):
    """What is offered behind some words."""
    return {item["label"]: item for item in editor.at("completion", name, place_of(text, words, behind))}
