"""LLMKube's definitions, upgraded and downgraded under a running gate: its rules follow the release."""

from __future__ import annotations

import json
from copy import deepcopy
from pathlib import Path
from shutil import copytree
from typing import Any

import pytest
import yaml

from tests.definitions import POLICIES, definition
from tests.e2e.processes import wait_until
from tests.e2e.seeing import as_the_chart_lets_it
from tests.shared import shared
from webhook.catalog import built_in
from webhook.schema.crd.digest import digest

OURS = POLICIES / "llmkube" / "crds" / "models.yaml"
GPU = {"enabled": True, "count": 1, "vendor": "amd", "runtime": "rocm"}
SPEC = {"source": "pvc://claim/model.gguf", "hardware": {"accelerator": "rocm", "gpu": GPU}}
MODEL = {
    "apiVersion": "inference.llmkube.dev/v1alpha1",
    "kind": "Model",
    "metadata": {"name": "by-release"},
    "spec": SPEC,
}


@pytest.fixture
def restored(plane):
    yield
    put(plane, definition(OURS))


def put(plane, document: dict[str, Any]) -> None:
    plane.kubectl.send("apply", document, "--server-side", "--force-conflicts")


def resource(kubectl) -> str | None:
    """The resource that the gate writes for an AMD GPU with ROCm."""
    made = json.loads(kubectl("create", "-f", "-", "--dry-run=server", "-o", "json", stdin=json.dumps(MODEL)))
    return made["spec"]["hardware"]["gpu"].get("resourceName")


def follows(gate, words: str) -> None:
    wait_until(lambda: words in gate.readiness(), f"the gate to say {words}")


@pytest.mark.usefixtures("restored")
def test_the_newest_definition_is_recognised_by_its_digest_and_the_documented_one_again(plane, kubectl, seeing):
    assert resource(kubectl) == "amd.com/gpu"
    file = shared("upstream-crds", "llmkube") / "inference.llmkube.dev_models.yaml"
    newest = yaml.safe_load(file.read_text())
    put(plane, newest)
    follows(seeing, "LLMKube head-2026-08-22 (definitions)")
    assert resource(kubectl) is None
    said = [line for line in seeing.readiness().splitlines() if "definition of Model." in line]
    assert not any("rules not applied" in line for line in said)

    changed = deepcopy(newest)
    changed["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["description"] = "a Model of no known release"
    put(plane, changed)
    follows(seeing, "the release of LLMKube is not known (set releases.llmkube), so that rules are not applied: LK101")
    assert resource(kubectl) is None

    put(plane, definition(OURS))
    wait_until(lambda: "LLMKube" not in seeing.readiness(), "the gate to follow the documented release again")
    assert resource(kubectl) == "amd.com/gpu"


@pytest.mark.usefixtures("restored")
def test_no_call_fails_while_a_definition_changes_twice_a_second(plane, kubectl, seeing):
    """Each form is new to the gate, so that nothing that it keeps of one serves for the next."""
    ours = definition(OURS)
    for turn in range(24):
        changed = deepcopy(ours)
        schema = changed["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
        schema["description"] = f"form {turn}"
        schema["properties"]["spec"]["properties"]["format"]["enum"].append(f"form{turn}")
        put(plane, changed)
        assert resource(kubectl) in {None, "amd.com/gpu"}
    put(plane, ours)
    wait_until(lambda: "LLMKube" not in seeing.readiness(), "the gate to follow the documented release again")
    assert resource(kubectl) == "amd.com/gpu"


def of_release(form: str, release: str) -> dict[str, Any]:
    """A later definition of the policies, with a text that tells the release."""
    found = deepcopy(dict(built_in()["llmkube"].files.forms("models"))[form])
    found["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["description"] = f"A Model as of {release}."
    return found


@pytest.fixture
def releases() -> dict[str, dict[str, Any]]:
    return {
        "0.9.7": of_release("0.9.6", "0.9.7"),
        "0.9.8": of_release("0.9.6", "0.9.8"),
        "0.9.19": of_release("0.9.11", "0.9.19"),
    }


@pytest.fixture
def policies(tmp_path: Path, releases: dict[str, dict[str, Any]]) -> Path:
    """The rules of LLMKube, with a table that has the digests of these definitions."""
    copytree(POLICIES / "llmkube", tmp_path / "llmkube")
    file = tmp_path / "llmkube" / "releases.json"
    table = json.loads(file.read_text())
    rows = [[digest(each), release, release] for release, each in releases.items()]
    table["digests"] = {"models.inference.llmkube.dev": rows}
    file.write_text(json.dumps(table))
    return tmp_path


@pytest.mark.usefixtures("restored")
def test_releases_with_equal_schemas_are_told_apart_by_their_texts(plane, kubectl, gate, policies, releases):
    file = as_the_chart_lets_it(plane)
    flags = ("--view=live", f"--view-kubeconfig={file}", f"--only-policies={policies}")
    gate.stop()
    gate.start(*flags)
    try:
        for release, expected in (
            ("0.9.7", "amd.com/gpu"),
            ("0.9.8", "devic.es/dri-render"),
            ("0.9.19", None),
            ("0.9.8", "devic.es/dri-render"),
        ):
            put(plane, releases[release])
            follows(gate, f"LLMKube {release} (definitions)")
            assert resource(kubectl) == expected
        gate.stop()
        gate.start(*flags, "--release=llmkube=0.9.5")
        follows(gate, "LLMKube 0.9.5 (setting)")
        assert resource(kubectl) == "amd.com/gpu"
    finally:
        gate.stop()
        gate.start()
