"""Which pin counts for a file: of what is deployed together with it, else the nearest by folder."""

from pathlib import Path

import pytest

from tests.library.test_pins import IMAGES
from tests.library.trees import FLUX, pins
from webhook.library.pins import Pin, Pinned, Pins


def chart(folder: str, version: str) -> str:
    return f"""
=== {folder}/release.yaml
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {{name: llmkube}}
spec: {{chart: {{spec: {{chart: llmkube, version: {version}}}}}}}
"""


def applied(file: str, *paths: str) -> str:
    """A file with an object of Flux for each path."""
    documents = (
        f"""apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {{name: "{path}"}}
spec: {{path: "{path}", sourceRef: {{kind: GitRepository, name: flux-system}}}}
---
"""
        for path in paths
    )
    return f"\n=== {file}\n{''.join(documents)}"


def applications(folder: str, *paths: str) -> str:
    return "".join(
        f"""
=== {folder}/{number}.yaml
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {{name: a{number}}}
spec: {{source: {{repoURL: https://github.com/us/config, path: {path}}}}}
"""
        for number, path in enumerate(paths)
    )


def kustomization(folder: str, *resources: str, patches: str = "[]") -> str:
    return f"\n=== {folder}/kustomization.yaml\nresources: [{', '.join(resources)}]\npatches: {patches}\n"


TWO = chart("infra/prod", "0.9.18") + chart("infra/staging", "0.9.19")
OVERLAYS = (
    chart("llmkube/base", "0.9.17")
    + kustomization("llmkube/base", "release.yaml")
    + kustomization("llmkube/prod", "../base", "../../models/prod", patches="[{path: version.yaml}]")
    + chart("llmkube/prod", "0.9.18").replace("chart: llmkube, ", "").replace("release.yaml", "version.yaml")
    + kustomization("llmkube/dev", "../base", "../../models/dev", "../../models/base")
    + kustomization("models/prod", "m.yaml", "../base")
    + kustomization("models/dev", "m.yaml")
    + kustomization("models/base", "m.yaml")
)

ROWS = {
    "the same folder": (TWO, {"infra/prod/m.yaml": "0.9.18", "infra/staging/m.yaml": "0.9.19"}),
    "below it": (TWO, {"infra/prod/models/m.yaml": "0.9.18"}),
    "neither": (TWO, {"apps/m.yaml": ""}),
    "the folder above": (chart(".", "0.9.17") + TWO, {"apps/m.yaml": "0.9.17", "infra/prod/m.yaml": "0.9.18"}),
    "one release": (chart("infra/prod", "0.9.18") + chart("infra/staging", "0.9.18"), {"apps/m.yaml": "0.9.18"}),
    "only one that says it": (chart("a", '"${V}"') + chart("b", "0.9.18"), {"m.yaml": "0.9.18", "a/m.yaml": ""}),
    "paths of Flux": (
        TWO
        + applied("clusters/prod/all.yaml", "./infra/prod", "./apps/prod")
        + applied("clusters/staging/all.yaml", "./infra/staging", "./apps/staging", "./apps/both")
        + applied("clusters/prod/more.yaml", "./apps/both"),
        {"apps/prod/m.yaml": "0.9.18", "apps/staging/x/m.yaml": "0.9.19", "apps/both/m.yaml": "", "apps/m.yaml": ""},
    ),
    "a cluster that applies itself": (
        TWO
        + applied("clusters/prod/flux-system/sync.yaml", "./clusters/prod")
        + applied("clusters/prod/infra.yaml", "./infra/prod")
        + applied("clusters/prod/apps/apps.yaml", "./apps/prod")
        + applied("clusters/staging/all.yaml", "./infra/staging", "./apps/staging"),
        {"apps/prod/m.yaml": "0.9.18", "apps/staging/m.yaml": "0.9.19"},
    ),
    "applications of Argo CD": (
        TWO
        + applications("argo/prod", "infra/prod", "apps/prod")
        + applications("argo/dev", "infra/staging", "apps/dev"),
        {"apps/prod/m.yaml": "0.9.18", "apps/dev/m.yaml": "0.9.19"},
    ),
    "kustomizations": (
        OVERLAYS,
        {"models/prod/m.yaml": "0.9.18", "models/dev/m.yaml": "0.9.17", "models/base/m.yaml": "", "m.yaml": "0.9.18"},
    ),
}


@pytest.mark.parametrize("row", ROWS)
def test_the_pin_that_counts(row: str, tmp_path: Path) -> None:
    text, expected = ROWS[row]
    read = pins(tmp_path, text)
    assert {file: read.of(tmp_path / file)["llmkube"].release for file in expected} == expected


def test_pins_that_contradict_are_all_named(tmp_path: Path) -> None:
    pinned = pins(tmp_path, TWO).of(tmp_path / "m.yaml")["llmkube"]
    places = ("infra/prod/release.yaml:4", "infra/staging/release.yaml:4")
    assert pinned.places == places
    assert pinned.why == (
        "several releases are deployed: 0.9.18 (infra/prod/release.yaml:4), 0.9.19 (infra/staging/release.yaml:4)"
    )


def test_settings_of_pins_that_are_equally_near_add_up() -> None:
    here = Path("/a/b.yaml")
    one = Pin("x", "a:1", here, "1.0.0", settings={"a": 1, "b": 2})
    other = Pin("x", "b:1", here, "1.0.0", settings={"b": 3, "c": 4})
    assert Pins([one, other]).of(here) == {"x": Pinned("1.0.0", {"a": 1, "c": 4}, ("a:1", "b:1"), disputed=("b",))}


STRATEGIC = """
=== prod/kustomization.yaml
resources: [../llmkube]
patches:
  - path: tag.yaml
=== prod/tag.yaml
apiVersion: source.toolkit.fluxcd.io/v1
kind: OCIRepository
metadata: {name: llmkube}
spec:
  ref:
    tag: 0.9.18
"""
INLINE = """
=== prod/kustomization.yaml
resources: [../llmkube]
patches:
  - target: {kind: Namespace}
    patch: "- {op: remove, path: /spec}"
  - patch: |
      apiVersion: source.toolkit.fluxcd.io/v1
      kind: OCIRepository
      metadata: {name: llmkube}
      spec: {ref: {tag: 0.9.18}}
"""
OPERATIONS = """
=== prod/kustomization.yaml
resources: [../llmkube]
patches:
  - target: {group: source.toolkit.fluxcd.io, kind: OCIRepository, name: llmkube}
    patch: |
      - {op: replace, path: /spec/ref/tag, value: 0.9.18}
"""
TARGET = """
=== prod/kustomization.yaml
resources: [../llmkube]
patches:
  - target: {kind: OCIRepository, name: llmkube}
    patch: |
      kind: any
      metadata: {name: any}
      spec: {ref: {tag: 0.9.18}}
"""
VALUES = """
=== prod/kustomization.yaml
resources: [../llmkube]
patches: [{path: values.yaml}]
=== prod/values.yaml
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: llmkube}
spec:
  values:
    controllerManager: {image: {tag: 0.9.18}}
"""

PATCHES = {
    "of a file": (STRATEGIC, "prod/tag.yaml:6"),
    "in the text": (INLINE, "prod/kustomization.yaml:5"),
    "of operations": (OPERATIONS, "prod/kustomization.yaml:3"),
    "of a target": (TARGET, "prod/kustomization.yaml:3"),
    "of values": (VALUES, "prod/values.yaml:6"),
}


@pytest.mark.parametrize("row", PATCHES)
def test_a_patch_counts_where_its_kustomization_does(row: str, tmp_path: Path) -> None:
    text, place = PATCHES[row]
    models = kustomization("models/prod", "m.yaml") + kustomization("dev", "../llmkube", "../models/dev")
    text = text.replace("[../llmkube]", "[../llmkube, ../models/prod]")
    base = FLUX + kustomization("llmkube", "source.yaml", "release.yaml") + kustomization("models/dev", "m.yaml")
    read = pins(tmp_path, base + models + text)
    prod, dev = (read.of(tmp_path / "models" / name / "m.yaml")["llmkube"] for name in ("prod", "dev"))
    assert (prod.release, prod.places) == ("0.9.18", (place,))
    assert (dev.release, dev.places) == ("0.9.19", ("llmkube/source.yaml:6",))


PATCHED = """
=== clusters/prod/llmkube.yaml
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: llmkube}
spec:
  path: ./llmkube
  sourceRef: {kind: GitRepository, name: flux-system}
  patches:
    - target: {kind: OCIRepository, name: llmkube}
      patch: "- {op: replace, path: /spec/ref/tag, value: 0.9.18}"
"""


def test_a_patch_of_an_object_of_flux_counts_where_it_is_applied(tmp_path: Path) -> None:
    prod = applied("clusters/prod/models.yaml", "./models/prod")
    dev = applied("clusters/dev/all.yaml", "./models/dev", "./llmkube")
    read = pins(tmp_path, FLUX + prod + dev + PATCHED)
    pinned = [read.of(tmp_path / "models" / name / "m.yaml")["llmkube"] for name in ("prod", "dev")]
    assert [(each.release, each.places) for each in pinned] == [
        ("0.9.18", ("clusters/prod/llmkube.yaml:8",)),
        ("0.9.19", ("llmkube/source.yaml:6",)),
    ]


def test_a_tag_of_a_kustomization_counts_more_than_that_of_the_deployment(tmp_path: Path) -> None:
    read = pins(tmp_path, IMAGES.replace("controller:latest", "x/llmkube-controller:v0.9.1"))
    pinned = read.of(tmp_path / "m.yaml")["llmkube"]
    assert (pinned.release, pinned.places) == ("0.9.2", ("llmkube/kustomization.yaml:5",))


def test_two_sources_of_one_name_count_by_their_folders(tmp_path: Path) -> None:
    source, _, release = FLUX.partition("=== llmkube/release.yaml")
    text = source.replace("llmkube/source", "prod/source") + f"=== base/release.yaml{release}"
    text += source.replace("llmkube/source", "dev/source").replace("0.9.19", "0.9.18")
    read = pins(tmp_path, text)
    assert [read.of(tmp_path / name / "m.yaml")["llmkube"].release for name in ("prod", "dev")] == ["0.9.19", "0.9.18"]


def test_a_file_of_very_many_kustomizations_is_looked_for_in_the_first(tmp_path: Path) -> None:
    many = "".join(kustomization(f"k{number}", "../m.yaml", "../infra/prod/release.yaml") for number in range(60))
    assert pins(tmp_path, TWO + many).of(tmp_path / "m.yaml")["llmkube"].release == "0.9.18"
