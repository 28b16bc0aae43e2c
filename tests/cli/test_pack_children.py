"""`modelgate pack check` of descriptions of children: each is made in a case, and is right by itself."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from modelgate import Gate
from tests.crds import crd, spec_schema
from tests.files import written
from webhook.cli import main

PACK: dict[str, Any] = {
    "apiVersion": "modelgate.dev/v1alpha1",
    "kind": "Pack",
    "metadata": {"name": "acme"},
    "spec": {"operator": "Acme", "codes": ["AC"], "groups": ["acme.example.com"]},
}
TARGET = {"group": "acme.example.com", "versions": ["v1"], "kind": "Server"}
SERVICE: dict[str, Any] = {
    "apiVersion": "serving.kserve.io/v1beta1",
    "kind": "InferenceService",
    "metadata": {"name": "${object.metadata.name}"},
    "spec": {"predictor": {"minReplicas": "${object.spec.?replicas}", "model": {"modelFormat": {"name": "acme"}}}},
}
CLAIM: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "PersistentVolumeClaim",
    "metadata": {"name": "${object.metadata.name}"},
    "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "${object.spec.size}"}}},
}
CASES = [{"name": "a server", "spec": {"size": "1Gi"}, "expect": {}}]
Capture = pytest.CaptureFixture[str]


def checked(folder: Path, capsys: Capture, children: list[dict[str, Any]], cases: Any = CASES) -> list[str]:
    server = crd("acme.example.com", "Server", spec_schema(size={"type": "string"}, replicas={"type": "integer"}))
    policy = {**PACK, "kind": "Policy", "spec": {"target": TARGET, "children": children}}
    target = {key: TARGET[key] for key in ("group", "kind")} | {"version": "v1"}
    documents = {
        "pack.yaml": PACK,
        "crds/servers.yaml": server,
        "server.children.yaml": policy,
        "cases/server.yaml": {"apiVersion": PACK["apiVersion"], "kind": "Cases", "target": target, "cases": cases},
    }
    written(folder, documents)
    capsys.readouterr()
    main(["pack", "check", str(folder)])
    return capsys.readouterr().out.splitlines()


def child(name: str, made: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"name": name, "becomes": "it is refused", "object": made, **more}


def test_children_that_are_made_and_right_are_proven(tmp_path: Path, capsys: Capture) -> None:
    claim = child("claim", CLAIM, when="has(object.spec.size)")
    said = checked(tmp_path / "acme", capsys, [child("service", SERVICE), claim])
    assert said == ["acme: 1 kind, 0 codes, 1 case", "0 problems"]


def test_a_child_that_no_case_makes_is_named_with_its_place(tmp_path: Path, capsys: Capture) -> None:
    claim = child("claim", CLAIM, when="object.spec.?size.orValue('') == '2Gi'")
    (said, *_, count) = checked(tmp_path / "acme", capsys, [child("service", SERVICE), claim])
    assert said.startswith(f"{tmp_path}/acme/server.children.yaml:")
    assert count == "1 problem"
    assert "claim: no case has an object of which this child of Server is made" in said


@pytest.mark.parametrize(
    ("path", "value", "text"),
    [
        (("metadata", "labels"), {"a b": "c"}, "metadata.labels"),
        (("spec", "predictor", "maxReplicas"), "many", "spec.predictor.maxReplicas"),
        (("spec", "predictor", "modle"), {}, "spec.predictor.modle: Invalid value: unknown field"),
        (("spec", "predictor", "scaleMetric"), "gpu", 'Unsupported value: "gpu"'),
    ],
)
def test_a_constant_that_is_wrong_is_found(
    path: tuple[str, ...], value: Any, text: str, tmp_path: Path, capsys: Capture
) -> None:
    made: dict[str, Any] = yaml.safe_load(yaml.safe_dump(SERVICE))
    node = made
    for key in path[:-1]:
        node = node.setdefault(key, {})
    node[path[-1]] = value
    of_case, said, *_ = checked(tmp_path / "acme", capsys, [child("service", made)])
    assert "KC009" in of_case
    assert "is refused for what the description alone decides" in said
    assert text in said
    obj = {"apiVersion": "acme.example.com/v1", "kind": "Server", "metadata": {"name": "s"}, "spec": {}}
    findings = Gate(policies=[tmp_path / "acme"], profile="strict").check(obj)
    assert [each.code for each in findings.findings] == ["KC009"]
    assert findings.allowed


def test_a_child_of_the_smallest_object_must_be_right(tmp_path: Path, capsys: Capture) -> None:
    """The smallest object has no size, which this description takes for granted."""
    cases = [{"name": "a server", "spec": {"size": "1Gi"}, "expect": {}}]
    said = checked(tmp_path / "acme", capsys, [child("claim", CLAIM)], cases)
    assert any("the smallest object" in line and "KC00" in line for line in said)


def test_a_wrong_child_of_a_case_is_a_failure_of_the_case(tmp_path: Path, capsys: Capture) -> None:
    cases = [*CASES, {"name": "a negative size", "spec": {"size": "-1Gi"}, "expect": {}}]
    said = checked(tmp_path / "acme", capsys, [child("claim", CLAIM, when="has(object.spec.size)")], cases)
    assert any("KC004 spec.size" in line for line in said)


def test_children_that_cost_too_much_are_said_by_every_command_and_not_shown(tmp_path: Path, capsys: Capture) -> None:
    long = "lists.range(9999).map(a, lists.range(9999).map(b, lists.range(9999).map(c, a)))"
    metadata = {"name": "${object.metadata.name}"}
    costly = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": metadata,
        "data": {"a": f"${{string({long}.size())}}"},
    }
    folder = tmp_path / "acme"
    said = checked(folder, capsys, [child("map", costly)])
    assert any("KC009: the smallest object: " in line and "take too long to describe" in line for line in said)
    server = {"apiVersion": "acme.example.com/v1", "kind": "Server", "metadata": {"name": "a"}, "spec": {}}
    file = written(tmp_path, {"server.yaml": server}) / "server.yaml"
    for command in ("check", "explain"):
        assert main([command, "--children", f"--policies={folder}", str(file)]) == 0
    verdict = Gate(policies=folder).check(server)
    assert (verdict.allowed, verdict.codes, [*verdict.children]) == (True, {"KC009"}, [])
