"""`check --what-if` and `scan --what-if`: what another release or profile changes."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.cli.what_if import DOWN, HEAD, MODEL, SHARED, UP, Capture, codes, findings, report, run
from tests.files import written
from tests.shared import ROOT


@pytest.mark.usefixtures("model_tree")
def test_an_upgrade_names_what_it_breaks_resolves_and_fills_in_otherwise(capsys: Capture) -> None:
    code, out, err = run(capsys, "check", ".", "--what-if", UP)
    assert code == 1
    head, columns, *rest = out.splitlines()
    expected = "1 newly refused, 2 newly warned, 2 resolved, 1 with other defaults (3 objects judged twice)"
    assert head == f"what if LLMKube 0.9.5 (the documented release) → LLMKube 0.9.19: {expected}"
    assert columns.split() == ["CHANGE", "CODE", "OBJECTS", "NAMESPACES", "FILES"]
    assert rest[0].split("  ")[0] == "newly refused"
    assert rest[0].split()[2:] == ["LS271", "1", "team", "(1)", "shared.yaml", "(1)"]
    places = rest[rest.index("") + 1 :]
    assert places[0].startswith(
        "shared.yaml:10:7: LS271 newly refused: spec.resources.gpuSharing.mode: Invalid value: "
    )
    assert places[0].endswith("(InferenceService team/shared)")
    assert any(line.startswith("s3.yaml:5:3: LK342 newly warned: spec.source: ") for line in places)
    assert any(line.startswith("s3.yaml:5:3: schema resolved: spec.source: Invalid value: ") for line in places)
    assert any(
        'LK102 other default: spec.hardware.gpu.resourceName: "amd.com/gpu" → nothing' in line for line in places
    )
    assert err == "`modelgate rule LS271` explains a code, with an object that is right\n"
    page = run(capsys, "check", ".", "--what-if", UP, "-o", "html")[1]
    assert page.count("judged as of LLMKube 0.9.5 (the documented release) → LLMKube 0.9.19") == 3
    assert page.count("judged as of ") == 3


@pytest.mark.usefixtures("model_tree")
def test_the_way_back_has_the_opposite_effects(capsys: Capture) -> None:
    up = report(capsys, "check", ".", "--what-if", UP)
    down = report(capsys, "check", ".", "--release", "llmkube=0.9.19", "--what-if", DOWN)
    assert (up["changes"], down["changes"]) == (
        ["LLMKube 0.9.5 (the documented release) → LLMKube 0.9.19"],
        ["LLMKube 0.9.19 (as it is set) → LLMKube 0.9.5"],
    )
    assert codes(up, "refused") == {"LS271": 1}
    assert codes(down, "resolved") == codes(up, "refused") | codes(up, "warned")
    assert codes(up, "resolved") == codes(down, "refused") | codes(down, "warned")
    assert codes(up, "otherDefaults") == codes(down, "otherDefaults")


def cases() -> Iterator[dict[str, Any]]:
    """The objects of the cases of LLMKube's rules."""
    for kind in ("Model", "InferenceService"):
        table = yaml.safe_load((ROOT / f"policies/llmkube/cases/{kind.lower()}.yaml").read_text())["cases"]
        for number, spec in enumerate(each["spec"] for each in table if isinstance(each.get("spec"), dict)):
            metadata = {"name": f"m{number}", "namespace": f"n{number % 7}"}
            yield {"apiVersion": "inference.llmkube.dev/v1alpha1", "kind": kind, "metadata": metadata, "spec": spec}


def test_the_difference_is_that_of_two_checks(tmp_path: Path, capsys: Capture) -> None:
    """Of all cases of LLMKube, what is new and gone is what two reports of plain checks differ in."""
    file = tmp_path / "cases.yaml"
    file.write_text(yaml.safe_dump_all(cases()))
    found = report(capsys, "check", file, "--what-if", UP)
    sides = [json.loads(run(capsys, "check", file, *more, "-o", "json")[1]) for more in ((), ("--release", UP[8:]))]
    before, after = (findings(side, "findings") for side in sides)
    new, gone = (findings(found, name) for name in ("new", "resolved"))
    assert len(new) > 20
    assert len(gone) > 20
    assert new <= after - before  # an error at a field that was refused in other words is not new
    assert gone <= before - after
    rest = (after - before) - new
    refused = {(line, field) for line, severity, _, field in before if severity == "error"}
    assert {(line, field) for line, severity, _, field in rest if severity == "error"} <= refused
    assert not [each for each in rest if each[1] == "warning"]


@pytest.mark.parametrize(
    ("flags", "code"),
    [
        ((UP,), 1),
        ((DOWN,), 0),
        ((UP, "--fail-on", "never"), 0),
        (("release=llmkube=0.9.8", "--fail-on", "error"), 0),
        (("release=llmkube=0.9.8", "--fail-on", "warning"), 1),
        (("profile=strict", "--fail-on", "warning"), 0),
    ],
)
@pytest.mark.usefixtures("model_tree")
def test_the_exit_code_is_that_of_what_is_new(flags: tuple[str, ...], code: int, capsys: Capture) -> None:
    assert run(capsys, "check", ".", "--what-if", *flags)[0] == code


@pytest.mark.usefixtures("model_tree")
def test_the_same_release_changes_nothing(capsys: Capture) -> None:
    said = "what if LLMKube 0.9.5, as now: nothing changes (3 objects judged twice)\n"
    assert run(capsys, "check", ".", "--what-if", DOWN) == (0, said, "")
    said = "### what if profile standard, as now: nothing changes (3 objects judged twice)\n"
    assert run(capsys, "check", ".", "--what-if", "profile=standard", "-o", "markdown") == (0, said, "")


def test_a_stricter_profile_refuses_what_was_warned_and_resolves_nothing(model_tree: Path, capsys: Capture) -> None:
    service = SHARED.replace("gpu: 2\n    gpuSharing:\n      mode: shared", "memory: 16GB")
    (model_tree / "memory.yaml").write_text(service)
    strict = report(capsys, "check", "memory.yaml", "--what-if", "profile=strict")
    (differing,) = strict["objects"]
    assert codes(strict, "refused") == {"LS209": 1}
    assert (differing["before"], differing["after"], differing["resolved"]) == ("accepted", "refused", [])
    assert {each["severity"] for each in differing["new"]} == {"error"}
    back = report(capsys, "check", "memory.yaml", "--profile", "strict", "--what-if", "profile=standard")
    (differing,) = back["objects"]
    assert (codes(back, "resolved"), differing["new"]) == (codes(strict, "refused"), [])
    audit = report(capsys, "scan", "s3.yaml", "--what-if", "profile=audit")
    (differing,) = audit["objects"]
    assert (codes(audit, "resolved"), differing["new"]) == ({"schema": 1}, [])


def test_a_scan_compares_the_findings_of_stored_objects(model_tree: Path, capsys: Capture) -> None:
    found = report(capsys, "scan", ".", "--what-if", UP)
    assert codes(found, "refused") == {"LS271": 1}
    assert codes(found, "warned") == {"LK306": 1, "LK342": 1}
    assert found["summary"]["judged"] == 3
    code, out, _ = run(capsys, "scan", "-n", "ml", "--kind", "Model", model_tree, "--what-if", UP)
    assert (code, out.partition(": ")[2].partition("\n")[0]) == (
        0,
        "2 newly warned, 1 resolved, 1 with other defaults (2 objects judged twice)",
    )


SERVED = f"""{HEAD}kind: InferenceService
metadata: {{name: served, namespace: ml}}
spec: {{modelRef: amd, image: "example.com/llama:1"}}
"""


ROCM = MODEL.replace("vendor: amd", "vendor: amd, runtime: rocm")


@pytest.mark.parametrize("command", ["check", "scan"])
def test_what_the_operator_makes_otherwise_is_named(command: str, tmp_path: Path, capsys: Capture) -> None:
    folder = written(tmp_path, {"model.yaml": ROCM, "served.yaml": SERVED})
    found = report(capsys, command, folder, "--what-if", UP)
    assert codes(found, "otherChildren") == {"Deployment": 1, "PersistentVolumeClaim": 1}
    (children,) = (each["otherChildren"] for each in found["objects"] if each["name"] == "served")
    limits = "spec.template.spec.containers[llama-server].resources.limits"
    changed = {each["field"]: (each["before"], each["after"]) for each in children if each["kind"] == "Deployment"}
    (claim,) = (each for each in children if each["kind"] == "PersistentVolumeClaim")
    assert (claim["field"], claim["before"], claim["after"]) == ("", "made", "nothing")
    assert changed[f"{limits}.amd.com/gpu"] == ('"1"', "nothing")
    assert changed[f"{limits}.devic.es/dri-render"] == ("nothing", '"1"')
    assert changed["spec.template.spec.containers[llama-server].args"][1] == "the same in another order"
    assert {"{}", "[]"}.isdisjoint(value for pair in changed.values() for value in pair)
    (moved,) = (each["otherDefaults"] for each in found["objects"] if each["name"] == "amd")
    assert "spec.hardware.gpu.tolerationKey" in {each["field"] for each in moved}
