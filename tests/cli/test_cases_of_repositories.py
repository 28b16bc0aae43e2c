"""Cases that public repositories and reports gave: each has its right value here."""

import shutil
from pathlib import Path

import pytest

from tests.shared import shared
from webhook.cli import main

Capture = pytest.CaptureFixture[str]

CASES = {
    "folder-with-template": ((), 0, ["Model ai/chat: accepted", "not read: 1 not readable"], ["REFUSED"]),
    "sibling-kind-argo.yaml": ((), 0, ["not checked: 1 argoproj.io/v1alpha1 Application: "], ["REFUSED"]),
    "sibling-kind-llmkube.yaml": (
        (),
        0,
        [
            "Model ai/chat: accepted",
            "InferenceService ai/chat: accepted",  # it has rules by now, so it is more than named
        ],
        ["REFUSED"],
    ),
    "flux-substitution.yaml": (
        (),
        0,
        ["Model ai/${APP}: accepted", "not judged: 2 values that Flux substitutes: ${APP}; no Kustomization with post"],
        ["REFUSED"],
    ),
    "kustomize-shared-file": (
        ("--kustomize",),
        0,
        ["model.yaml:1: Model ai/chat: accepted", "1 checked"],
        [],
    ),
    "hint-llmaz-requests.yaml": (
        (),
        1,
        ["spec.inferenceConfig.flavors[0].requests: unknown field; its name is now limits"],
        [],
    ),
    "silent-shard-gap.yaml": ((), 0, [":11:3: LK361 warning: spec.files: the split model is incomplete without "], []),
    "silent-ome-scale-to-zero.yaml": ((), 0, [":14:12: OM378 warning: spec.engine.minReplicas: "], []),
    "yaml-merge-override.yaml": ((), 0, ["OpenModel merge-override: accepted"], []),
    "yaml-anchor-again.yaml": ((), 0, ["OpenModel anchor-again: accepted"], []),
    "yaml-quoted-template-beside-merge.yaml": ((), 0, ["1 helm.toolkit.fluxcd.io/v2 HelmRelease"], ["Helm template"]),
    "typed-list-items.yaml": ((), 0, ["OpenModel item: accepted"], []),
    "newer-llmkube": (
        ("--crds={}/crds", "--diff"),
        0,
        [
            *(f"{code} warning: spec.source: " for code in ("LK205", "LK325", "LK206")),
            *(f"{code} warning: spec.format: " for code in ("LK323", "LK322")),
        ],
        ["resourceName: amd.com/gpu", "tolerationKey"],
    ),
    "open-definition-ome-service.yaml": ((), 1, ["OM402 error: ", "OM302 warning: "], []),
}
"""File or folder → flags, exit code, what is said, and what is not."""


@pytest.mark.parametrize("name", CASES)
def test_a_case_of_a_repository_is_right(name: str, tmp_path: Path, capsys: Capture) -> None:
    source = shared("cases", "repositories", name)
    place = tmp_path / name
    (shutil.copytree if source.is_dir() else shutil.copyfile)(source, place)
    flags, code, texts, absent = CASES[name]
    assert main(["check", "--no-config", *(each.format(place) for each in flags), str(place)]) == code
    captured = capsys.readouterr()
    said = captured.out + captured.err
    assert [text for text in texts if text not in said] == []
    assert [text for text in absent if text in said] == []
