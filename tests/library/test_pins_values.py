"""The settings of an operator that a repository gives, by each way of deploying it."""

from pathlib import Path

import pytest

from tests.library.test_pins import ARGO, CHART, DEPLOYMENT, HELM_CHARTS, HELMFILE, K3S, OWN_CHART, TERRAFORM
from tests.library.trees import FLUX, lines, pins

VALUES = "modelSource: {allowedHostPathRoots: [/srv/models]}"
FILE = f"\n=== values/llm.yaml\n{VALUES}\n"
MAP = f"""
=== llmkube/values.yaml
apiVersion: v1
kind: ConfigMap
metadata: {{name: values-of-ai}}
data:
  values.yaml: |
    {VALUES}
"""
"""Of a chart's values, as ways of deploying take them."""


def after(text: str, last: str) -> str:
    """A text with lines at its end."""
    return f"{text.rstrip()}\n{last}\n"


ARGO_SOURCES = f"""
=== apps/llmkube.yaml
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {{name: llmkube}}
spec:
  sources:
    - {{repoURL: "https://github.com/us/config", ref: config, targetRevision: main}}
    - repoURL: https://defilantech.github.io/LLMKube
      chart: llmkube
      targetRevision: 0.9.12
      helm: {{valueFiles: [$config/values/llm.yaml]}}
{FILE}"""

WAYS = {
    "flux": after(FLUX, f"  values:\n    {VALUES}"),
    "flux-map": after(FLUX, "  valuesFrom: [{kind: ConfigMap, name: values-of-ai}]") + MAP,
    "flux-target": after(
        FLUX,
        "  valuesFrom: [{kind: ConfigMap, name: roots, valuesKey: list, targetPath: modelSource.allowedHostPathRoots}]",
    )
    + MAP.replace("values-of-ai", "roots").replace("values.yaml: |", "list:").replace(VALUES, "/srv/models"),
    "flux-generated": after(FLUX, "  valuesFrom: [{kind: ConfigMap, name: values-of-ai}]")
    + "=== kustomization.yaml\nresources: [llmkube]\n"
    + "configMapGenerator: [{name: values-of-ai, files: [values.yaml=values/llm.yaml]}]\n"
    + FILE,
    "flux-values-count-more": after(
        FLUX, f"  valuesFrom: [{{kind: ConfigMap, name: values-of-ai}}]\n  values: {{{VALUES}}}"
    )
    + MAP.replace("/srv/models", "/other"),
    "chart": after(CHART.replace("VERSION", "0.9.16"), f"=== apps/llm/values.yaml\nllmkube: {{{VALUES}}}"),
    "alias": after(
        CHART.replace("VERSION", '0.9.16\n    alias: "ai"'),
        f"=== apps/llm/values.yaml\nai: {{{VALUES}}}\nllmkube: {{}}",
    ),
    "own-chart": after(OWN_CHART, f"=== charts/llmkube/values.yaml\n{VALUES}"),
    "argo-text": after(ARGO, f"    helm:\n      values: |\n        {VALUES}"),
    "argo-object": after(ARGO, f"    helm:\n      values: 'modelSource: {{}}'\n      valuesObject: {{{VALUES}}}"),
    "argo-parameters": after(
        ARGO, "    helm: {parameters: [{name: modelSource.allowedHostPathRoots, value: /srv/models}]}"
    ),
    "argo-braces": after(
        ARGO, "    helm: {parameters: [{name: modelSource.allowedHostPathRoots, value: '{/srv/models}'}]}"
    ),
    "argo-sources": ARGO_SOURCES,
    "k3s": after(K3S, f"  valuesContent: |-\n    {VALUES}"),
    "k3s-set": after(K3S, "  set: {modelSource.allowedHostPathRoots: /srv/models}"),
    "helmfile": after(HELMFILE.replace("VERSION", "0.9.5"), f"    values: [values/llm.yaml, {{x: 1}}]{FILE}"),
    "helmfile-map": after(HELMFILE.replace("VERSION", "0.9.5"), f"    values: [{{{VALUES}}}]"),
    "helmfile-set": after(
        HELMFILE.replace("VERSION", "0.9.5"), "    set: [{name: modelSource.allowedHostPathRoots, value: /srv/models}]"
    ),
    "kustomize": after(HELM_CHARTS, f"    valuesInline: {{{VALUES}}}"),
    "kustomize-file": after(HELM_CHARTS, f"    valuesFile: ../values/llm.yaml{FILE}"),
    "argument": after(DEPLOYMENT, "          args: [--leader-elect, --allowed-host-path-roots=/srv/models]"),
    "arguments": after(DEPLOYMENT, "          args: [--allowed-host-path-roots, /srv/models]"),
    "terraform-text": TERRAFORM.replace('"0.9.0"', f'"0.9.0"\n  values = [<<-EOT\n    {VALUES}\n  EOT\n  , var.more]'),
    "terraform-map": TERRAFORM.replace(
        '"0.9.0"', '"0.9.0"\n  values = [yamlencode({modelSource = {allowedHostPathRoots = ["/srv/models"]}})]'
    ),
    "terraform-file": TERRAFORM.replace('"0.9.0"', '"0.9.0"\n  values = [file("${path.module}/../values/llm.yaml")]')
    + FILE,
    "terraform-set": TERRAFORM.replace(
        '"0.9.0"',
        '"0.9.0"\n  set {\n    name  = "modelSource.allowedHostPathRoots"\n    value = "/srv/models" # ours\n  }',
    ),
    "terraform-places": TERRAFORM.replace(
        '"0.9.0"', '"0.9.0"\n  set {\n    name  = "modelSource.allowedHostPathRoots[0]"\n    value = "/srv/models"\n  }'
    ),
}


UMBRELLA = CHART.replace("VERSION", "0.9.16")
LOCAL = {
    "argo": UMBRELLA
    + ARGO.replace("chart: llmkube", "path: apps/llm").replace("0.9.12", "main")
    + f"    helm:\n      valueFiles: [prod.yaml]\n=== apps/llm/prod.yaml\nllmkube: {{{VALUES}}}\n",
    "argo-text": UMBRELLA
    + ARGO.replace("chart: llmkube", "path: apps/llm")
    + f"    helm:\n      values: |\n        llmkube: {{{VALUES}}}\n",
    "flux": UMBRELLA
    + f"""
=== apps/release.yaml
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {{name: llm}}
spec:
  chart: {{spec: {{chart: ./apps/llm, sourceRef: {{kind: GitRepository, name: flux-system}}}}}}
  values: {{llmkube: {{{VALUES}}}}} # llmkube
""",
    "helmfile": UMBRELLA
    + f"\n=== helmfile.yaml\nreleases: [{{name: a, chart: ./apps/llm, values: [{{llmkube: {{{VALUES}}}}}]}}]\n",
}


@pytest.mark.parametrize("way", LOCAL)
def test_a_chart_of_the_tree_is_installed_with_values(way: str, tmp_path: Path) -> None:
    read = pins(
        tmp_path, LOCAL[way] + "\n=== apps/llm/values.yaml\nllmkube: {modelSource: {allowedHostPathRoots: [/a]}}\n"
    )
    pinned = read.of(tmp_path / "m.yaml")["llmkube"]
    assert (pinned.release, dict(pinned.settings)) == ("0.9.16", {"hostPathRoots": ("/srv/models",)})


@pytest.mark.parametrize("way", WAYS)
def test_values_give_settings(way: str, tmp_path: Path) -> None:
    read = pins(tmp_path, WAYS[way])
    assert [dict(pin.settings) for pin in read.pins] == [{"hostPathRoots": ("/srv/models",)}]
    assert read.remarks == ()


def test_the_tag_in_values_counts_more_than_the_version_of_the_chart(tmp_path: Path) -> None:
    text = after(FLUX, "  values:\n    controllerManager:\n      image:\n        tag: 0.9.18")
    assert lines(pins(tmp_path, text)) == ["llmkube 0.9.18 llmkube/release.yaml:9"]


def test_an_empty_tag_in_values_is_that_of_the_chart(tmp_path: Path) -> None:
    text = after(FLUX, '  values: {controllerManager: {image: {tag: ""}}}')
    assert lines(pins(tmp_path, text)) == ["llmkube 0.9.19 llmkube/source.yaml:6"]


BAD = {
    "  values: [1]": "spec.values: values of a chart are a map, not list",
    "  values: 'a: [b'": "spec.values: values that cannot be read: line 2: ",
    "  values: {modelSource: {allowedHostPathRoots: 5}}": (
        "spec.values.modelSource.allowedHostPathRoots: '5' is not a list of texts, or one text with commas: "
        "the setting hostPathRoots of LLMKube is left out"
    ),
}


@pytest.mark.parametrize("last", BAD)
def test_values_of_a_wrong_type_are_left_out_and_a_remark(last: str, tmp_path: Path) -> None:
    read = pins(tmp_path, after(FLUX, last))
    assert [(pin.release, dict(pin.settings)) for pin in read.pins] == [("0.9.19", {})]
    (remark,) = map(str, read.remarks)
    assert remark.startswith(f"llmkube/release.yaml:6: {BAD[last]}")


@pytest.mark.parametrize("value", ["null", '""', '"${ROOTS}"'])
def test_a_value_that_is_not_known_is_left_out(value: str, tmp_path: Path) -> None:
    text = after(FLUX, f"  values: {{modelSource: {{allowedHostPathRoots: {value}}}, other: [1, 2]}}")
    assert [dict(pin.settings).get("hostPathRoots", "left out") for pin in pins(tmp_path, text).pins] == ["left out"]
