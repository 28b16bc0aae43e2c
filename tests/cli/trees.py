"""Trees of files as people have them in repositories."""

from pathlib import Path

GOOD = (
    "apiVersion: inference.llmkube.dev/v1alpha1\nkind: Model\nmetadata: {name: good}\nspec: {source: pvc://c/m.gguf}\n"
)
BAD = """\
# a comment
apiVersion: inference.llmkube.dev/v1alpha1
kind: Model
metadata:
  name: bad
spec:
  source: s3://bucket/model   # where
  hardware:
    gpu:
      count: 9
      vendor: yes
  prefetch: true
"""
WARNED = GOOD.replace("{source", "{hardware: {gpu: {count: 1}}, source")
RUNTIMES = """\
apiVersion: ome.io/v1beta1
kind: ClusterServingRuntime
metadata: {name: fits}
spec: {supportedModelFormats: [{modelFormat: {name: onnx}, modelFramework: {name: f}, autoSelect: true}]}
---
apiVersion: ome.io/v1beta1
kind: ClusterServingRuntime
metadata: {name: other}
spec: {supportedModelFormats: [{modelFormat: {name: safetensors}, modelFramework: {name: f}, autoSelect: true}]}
"""
BROKEN = {
    "open.yaml": b"a: [\n",
    "tab.yaml": b"a:\n\t- b\n",
    "latin.yaml": b"a: \xff\n",
    "utf16.yaml": "a: b\n".encode("utf-16"),
    "twice.yaml": b"a: 1\na: 2\n",
    "template.yaml": b"kind: Model\nname: {{ .Values.name }}\n",
    "bomb.yaml": b"a: &a [*a]\n",
    "half.json": b'{"apiVersion": "v1", "kind": "ConfigMap", \n',
    "nan.yaml": b"a: .nan\n",
    "headless.yaml": b"kind: Model\nmetadata: {name: m}\n",
    "kindless.yaml": b"apiVersion: v1\nspec: {}\n",
    "key.yaml": b"{[1]: 2}\n",
    "deep.yaml": b"a: " + b"[" * 1100 + b"\n",
}
"""Files that cannot be read as manifests."""


def repository(root: Path) -> Path:
    """A repository with manifests, a chart, kustomizations, workflows, values, binaries and circles of links."""
    files = {
        "manifests/model.yaml": GOOD,
        "manifests/deployment.yaml": "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: d}\n",
        "charts/mine/Chart.yaml": "apiVersion: v2\nname: mine\nversion: 1.0.0\n",
        "charts/mine/values.yaml": "source: pvc://c/m.gguf\n",
        "charts/mine/templates/model.yaml": GOOD.replace("good", "{{ .Release.Name }}"),
        "charts/mine/templates/_helpers.tpl": '{{ define "name" }}x{{ end }}\n',
        "base/kustomization.yaml": "resources: [model.yaml]\n",
        "base/model.yaml": GOOD.replace("good", "base"),
        "overlay/kustomization.yaml": "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\n"
        "resources: [../base]\nnamePrefix: big-\npatches: [{path: patch.yaml}]\n",
        "overlay/patch.yaml": "apiVersion: inference.llmkube.dev/v1alpha1\nkind: Model\nmetadata: {name: base}\n"
        "spec: {quantization: Q4_K_M}\n",
        ".github/workflows/ci.yaml": "on: push\njobs: {}\n",
        ".pre-commit-config.yaml": "repos: []\n",
        "docker-compose.yaml": "services: {}\n",
        "playbook.yaml": "- hosts: all\n",
        "tsconfig.json": '{\n  // comment\n  "compilerOptions": {}\n}\n',
        "package.json": '{"name": "x"}\n',
        "empty.yaml": "",
    }
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    (root / "logo.png").write_bytes(bytes(range(256)))
    (root / "manifests" / "up").symlink_to("..")
    (root / "self.yaml").symlink_to("self.yaml")
    (root / "void.yaml").symlink_to("nowhere")
    return root
