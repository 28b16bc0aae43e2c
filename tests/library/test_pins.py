"""Which release of an operator a repository deploys, by each way of deploying it."""

from pathlib import Path

import pytest

from tests.library.trees import FLUX, lines, pins
from tests.shared import shared
from webhook.catalog import built_in
from webhook.library.pins import Pins
from webhook.manifests.folders import read_all
from webhook.manifests.reading import Reading, read_paths

HELM_REPOSITORY = """
=== llmkube.yaml
apiVersion: source.toolkit.fluxcd.io/v1
kind: HelmRepository
metadata: {name: defilantech}
spec: {url: https://defilantech.github.io/LLMKube}
---
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: llmkube}
spec:
  chart:
    spec:
      chart: llmkube
      version: VERSION
      sourceRef: {kind: HelmRepository, name: defilantech}
"""

CHART = """
=== apps/llm/Chart.yaml
apiVersion: v2
name: our-llm
version: 1.0.0
dependencies:
  - {name: other, version: 1.0.0}
  - name: llmkube
    version: VERSION
    repository: https://defilantech.github.io/LLMKube
"""

LOCK = """
=== apps/llm/Chart.lock
dependencies:
- name: other
  version: 1.0.0
- name: llmkube
  version: 0.9.17
"""

GIT = """
=== infra/llmkube.yaml
apiVersion: source.toolkit.fluxcd.io/v1
kind: GitRepository
metadata: {name: llmkube}
spec:
  url: https://github.com/defilantech/LLMKube.git
  ref:
    tag: v0.9.15
---
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: llmkube}
spec:
  path: ./config/default
  sourceRef: {kind: GitRepository, name: llmkube}
"""

GIT_CHART = """
=== infra/git.yaml
apiVersion: source.toolkit.fluxcd.io/v1
kind: GitRepository
metadata: {name: upstream}
spec:
  url: ssh://git@github.com/defilantech/llmkube
  ref: {tag: llmkube-0.9.14}
=== infra/release.yaml
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: ai}
spec:
  chart: {spec: {chart: ./charts/llmkube, sourceRef: {kind: GitRepository, name: upstream}}}
"""

HELM_CHART = """
=== a.yaml
apiVersion: source.toolkit.fluxcd.io/v1
kind: HelmChart
metadata: {name: chart-of-ai}
spec:
  chart: llmkube
  version: 0.9.13
=== release.yaml
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: ai}
spec:
  chartRef: {kind: HelmChart, name: chart-of-ai}
"""

ARGO = """
=== apps/llmkube.yaml
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: llmkube}
spec:
  source:
    repoURL: https://defilantech.github.io/LLMKube
    chart: llmkube
    targetRevision: 0.9.12
"""

ARGO_OCI = """
=== apps/llmkube.yaml
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: llmkube}
spec:
  sources:
    - repoURL: oci://ghcr.io/defilantech/charts/llmkube
      path: .
      targetRevision: 0.9.11
"""

ARGO_SET = """
=== apps/set.yaml
apiVersion: argoproj.io/v1alpha1
kind: ApplicationSet
metadata: {name: operators}
spec:
  generators: [{list: {elements: [{name: a}]}}]
  template:
    spec:
      sources:
        - {repoURL: "https://github.com/us/config", ref: values, targetRevision: main}
        - repoURL: https://github.com/defilantech/LLMKube
          path: charts/llmkube
          targetRevision: v0.9.10
"""

ARGO_IMAGE = """
=== apps/app.yaml
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: llmkube}
spec:
  source:
    repoURL: https://github.com/us/config
    path: llmkube
    kustomize:
      images:
        - controller=ghcr.io/defilantech/llmkube-controller:0.9.9
"""

K3S = """
=== llmkube.yaml
apiVersion: helm.cattle.io/v1
kind: HelmChart
metadata: {name: llmkube, namespace: kube-system}
spec:
  chart: oci://ghcr.io/defilantech/charts/llmkube
  version: 0.9.8
"""

OWN_CHART = """
=== charts/llmkube/Chart.yaml
apiVersion: v2
name: llmkube
version: 0.9.7
"""

APP_VERSION = """
=== charts/llmaz/Chart.yaml
apiVersion: v2
name: llmaz
version: 0.0.99
appVersion: 0.1.3
"""

COUNTED_APART = """
=== Chart.yaml
name: us
dependencies:
  - name: llmaz
    version: 0.0.10
"""

HELMFILE = """
=== helmfile.yaml
repositories:
  - {name: llmkube, url: "https://defilantech.github.io/LLMKube"}
releases:
  - name: other
    chart: other/other
  - name: llmkube
    chart: llmkube/llmkube
    version: VERSION
"""

HELMFILE_TEMPLATE = """
=== deploy/helmfile.yaml.gotmpl
{{ $env := .Environment.Name }}
releases:
{{ if eq $env "prod" }}
  - name: llmkube
    chart: oci://ghcr.io/defilantech/charts/llmkube
    version: 0.9.6
    namespace: {{ .Values.namespace }}
{{ end }}
"""

HELMFILE_LOCK = """
=== helmfile.lock
version: v1
dependencies:
- name: llmkube
  repository: https://defilantech.github.io/LLMKube
  version: 0.9.4
"""

HELM_CHARTS = """
=== llmkube/kustomization.yaml
helmCharts:
  - name: llmkube
    repo: https://defilantech.github.io/LLMKube
    version: 0.9.3
"""

REMOTE = """
=== llmkube/kustomization.yaml
resources:
  - ../base
  - ADDRESS
"""

IMAGES = """
=== llmkube/kustomization.yaml
resources: [manager.yaml]
images:
  - name: controller
    newName: registry.local/mirror/llmkube-controller
    newTag: v0.9.2
=== llmkube/manager.yaml
apiVersion: apps/v1
kind: Deployment
metadata: {name: manager}
spec: {template: {spec: {containers: [{name: manager, image: controller:latest}]}}}
"""

DEPLOYMENT = """
=== operator.yaml
apiVersion: apps/v1
kind: Deployment
metadata: {name: manager}
spec:
  template:
    spec:
      containers:
        - {name: proxy, image: "proxy:1.2.3"}
        - name: manager
          image: ghcr.io/defilantech/llmkube-controller:v0.9.1@sha256:abcdef
"""

TERRAFORM = """
=== infra/main.tf
resource "helm_release" "other" {
  chart   = "other" # not "llmkube"
  version = "1.0.0"
}

resource "helm_release" "llmkube" {
  name       = "llmkube"
  repository = "oci://ghcr.io/defilantech/charts"
  chart      = "llmkube"
  version    = "0.9.0"
}
"""

BLOB = "https://github.com/defilantech/LLMKube"
RAW = "https://raw.githubusercontent.com/defilantech/LLMKube"

WAYS = {
    "flux-oci": (FLUX, ["llmkube 0.9.19 llmkube/source.yaml:6"]),
    "flux-helm": (HELM_REPOSITORY.replace("VERSION", "v0.9.18"), ["llmkube 0.9.18 llmkube.yaml:13"]),
    "flux-git": (GIT, ["llmkube 0.9.15 infra/llmkube.yaml:7"]),
    "flux-git-chart": (GIT_CHART, ["llmkube 0.9.14 infra/git.yaml:6"]),
    "flux-helm-chart": (HELM_CHART, ["llmkube 0.9.13 a.yaml:6"]),
    "chart": (CHART.replace("VERSION", "0.9.16"), ["llmkube 0.9.16 apps/llm/Chart.yaml:7"]),
    "lock": (CHART.replace("VERSION", '">=0.9.0"') + LOCK, ["llmkube 0.9.17 apps/llm/Chart.lock:5"]),
    "argo": (ARGO, ["llmkube 0.9.12 apps/llmkube.yaml:8"]),
    "argo-oci": (ARGO_OCI, ["llmkube 0.9.11 apps/llmkube.yaml:8"]),
    "argo-set": (ARGO_SET, ["llmkube 0.9.10 apps/set.yaml:12"]),
    "argo-image": (ARGO_IMAGE, ["llmkube 0.9.9 apps/app.yaml:10"]),
    "k3s": (K3S, ["llmkube 0.9.8 llmkube.yaml:6"]),
    "own-chart": (OWN_CHART, ["llmkube 0.9.7 charts/llmkube/Chart.yaml:3"]),
    "app-version": (APP_VERSION, ["llmaz 0.1.3 charts/llmaz/Chart.yaml:4"]),
    "counted-apart": (COUNTED_APART, ["llmaz 0.1.4 Chart.yaml:4"]),
    "helmfile": (HELMFILE.replace("VERSION", "0.9.5"), ["llmkube 0.9.5 helmfile.yaml:8"]),
    "helmfile-template": (HELMFILE_TEMPLATE, ["llmkube 0.9.6 deploy/helmfile.yaml.gotmpl:6"]),
    "helmfile-lock": (HELMFILE.replace("VERSION", "~0.9.0") + HELMFILE_LOCK, ["llmkube 0.9.4 helmfile.lock:5"]),
    "helm-charts": (HELM_CHARTS, ["llmkube 0.9.3 llmkube/kustomization.yaml:4"]),
    "remote-ref": (
        REMOTE.replace("ADDRESS", f"{BLOB}//config/default?ref=v0.9.2"),
        ["llmkube 0.9.2 llmkube/kustomization.yaml:3"],
    ),
    "remote-asset": (
        REMOTE.replace("ADDRESS", f"{BLOB}/releases/download/v0.9.1/install.yaml"),
        ["llmkube 0.9.1 llmkube/kustomization.yaml:3"],
    ),
    "remote-raw": (
        REMOTE.replace("ADDRESS", f"{RAW}/v0.9.0/config/install.yaml"),
        ["llmkube 0.9.0 llmkube/kustomization.yaml:3"],
    ),
    "remote-raw-tag": (
        REMOTE.replace("ADDRESS", f"{RAW}/refs/tags/v0.8.9/config/install.yaml"),
        ["llmkube 0.8.9 llmkube/kustomization.yaml:3"],
    ),
    "images": (IMAGES, ["llmkube 0.9.2 llmkube/kustomization.yaml:5"]),
    "deployment": (DEPLOYMENT, ["llmkube 0.9.1 operator.yaml:10"]),
    "terraform": (TERRAFORM, ["llmkube 0.9.0 infra/main.tf:10"]),
}


@pytest.mark.parametrize("way", WAYS)
def test_a_way_of_deploying_says_the_release(way: str, tmp_path: Path) -> None:
    text, expected = WAYS[way]
    assert lines(pins(tmp_path, text)) == expected


@pytest.mark.parametrize("way", WAYS)
def test_files_that_were_read_anyway_say_the_same(way: str, tmp_path: Path) -> None:
    text, expected = WAYS[way]
    pins(tmp_path, text)
    read = read_paths([tmp_path], Reading(lenient=True))
    assert lines(Pins.read(built_in(), read.documents, [tmp_path])) == expected


def test_the_shared_tree() -> None:
    tree = shared("cases", "release", "tree")
    read = Pins.read(built_in(), read_all([tree]), [tree])
    pinned = read.of(tree / "model.yaml")["llmkube"]
    assert (pinned.release, pinned.places) == ("0.9.19", ("llmkube/ocirepository.yaml:6",))
    assert read.remarks == ()
