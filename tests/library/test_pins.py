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

WAYS = {
    "flux-oci": (FLUX, ["llmkube 0.9.19 llmkube/source.yaml:6"]),
    "flux-helm": (HELM_REPOSITORY.replace("VERSION", "v0.9.18"), ["llmkube 0.9.18 llmkube.yaml:13"]),
    "chart": (CHART.replace("VERSION", "0.9.16"), ["llmkube 0.9.16 apps/llm/Chart.yaml:7"]),
    "lock": (CHART.replace("VERSION", '">=0.9.0"') + LOCK, ["llmkube 0.9.17 apps/llm/Chart.lock:5"]),
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
