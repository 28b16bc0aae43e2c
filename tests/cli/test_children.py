"""`explain --children` and `check --children`: what an operator will make of an object, and which fields decide it."""

import json
from pathlib import Path

import jsonschema
import pytest
import yaml

from modelgate import Gate
from tests.cli.test_formats import SCHEMA
from tests.engine.test_children import pack_at
from tests.test_plain_texts import EVIL, raw
from webhook.cli import main

TEXT = """\
apiVersion: acme.example.com/v1
kind: Server
metadata: {name: s, namespace: team}
spec:
  labels: {team: a}
  env: [{name: A, value: "b\\nc"}]
  few: 2
  many: 5
  metrics: [{name: qps, average: "3"}]
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return pack_at(tmp_path_factory.mktemp("packs"))


@pytest.fixture
def file(tmp_path: Path) -> Path:
    file = tmp_path / "s.yaml"
    file.write_text(TEXT)
    return file


def run(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    code = main([*map(str, arguments)])
    return code, *capsys.readouterr()


def test_each_line_of_a_child_has_the_field_that_decides_it(folder, file, capsys) -> None:
    code, out, _ = run(capsys, "explain", "--no-config", f"--policies={folder}", "--children", file)
    assert code == 0
    deployment, autoscaler = yaml.safe_load_all(out)
    assert (deployment["kind"], autoscaler["kind"]) == ("Deployment", "HorizontalPodAutoscaler")
    assert deployment["spec"]["template"]["spec"]["containers"][0]["env"][1] == {"name": "A", "value": "b\nc"}
    assert out.startswith(f"# {file}:1: Server team/s: children: 2 objects\n---\napiVersion: apps/v1\n")
    comments = dict(line.strip().removeprefix("- ").split("  # ") for line in out.splitlines() if "  # " in line)
    assert comments["namespace: team"] == "metadata.namespace"
    assert comments["team: a"] == "spec.labels.team"
    assert comments["c'"] == "spec.env[0].value"
    assert comments["minReplicas: 2"] == "spec.few"
    assert comments["averageValue: '3'"] == "spec.metrics[0].average"
    assert "type: AverageValue" not in comments


def test_of_many_fields_the_part_is_named_unless_one_has_the_value(tmp_path, capsys) -> None:
    file = tmp_path / "s.yaml"
    spec = "{modelRef: m, contextSize: 8192, parallelSlots: 4, extraArgs: [--own]}"
    head = "apiVersion: inference.llmkube.dev/v1alpha1\nkind: InferenceService\nmetadata: {name: s, namespace: t}\n"
    file.write_text(f"{head}spec: {spec}\n")
    _, out, _ = run(capsys, "explain", "--no-config", "--children", file)
    comments = dict(line.strip().removeprefix("- ").split("  # ") for line in out.splitlines() if "  # " in line)
    assert comments["--ctx-size"] == "spec"
    assert comments["'8192'"] == "spec.contextSize"
    assert comments["--own"] == "spec.extraArgs"


def test_an_empty_list_has_its_field_too(folder, tmp_path, capsys) -> None:
    file = tmp_path / "s.yaml"
    file.write_text(TEXT.replace('metrics: [{name: qps, average: "3"}]', "metrics: []"))
    code, out, _ = run(capsys, "explain", "--no-config", f"--policies={folder}", "--children", file)
    assert code == 0
    assert "  metrics: []  # spec.metrics\n" in out


def test_as_json_each_place_has_its_fields(folder, file, capsys) -> None:
    code, out, _ = run(capsys, "explain", "--no-config", f"--policies={folder}", "--children", "-o", "json", file)
    assert code == 0
    ((_, autoscaler),) = [each["children"] for each in json.loads(out)]
    assert autoscaler["name"] == "autoscaler"
    assert autoscaler["object"]["spec"]["maxReplicas"] == 5
    assert autoscaler["origins"]["spec.maxReplicas"] == ["spec.many"]
    assert "spec.scaleTargetRef.kind" not in autoscaler["origins"]


def test_the_library_gives_the_same_objects(folder, file, capsys) -> None:
    children = Gate(policies=[folder]).check(file).children
    assert [child.name for child in children] == ['Deployment "s"', 'HorizontalPodAutoscaler "s"']
    assert children[1].origin(("spec", "minReplicas")).field == "spec.few"
    _, out, _ = run(capsys, "explain", "--no-config", f"--policies={folder}", "--children", file)
    assert [child.object for child in children] == [*yaml.safe_load_all(out)]
    assert Gate().check({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}).children == ()


@pytest.mark.parametrize("spec", [None, 5, [], {"env": 5, "labels": [1], "metrics": {}}, {"few": 0, "claim": True}])
def test_an_object_that_cannot_be_described_has_no_such_children(folder, spec) -> None:
    server = {"apiVersion": "acme.example.com/v1", "kind": "Server", "metadata": {"name": "s"}, "spec": spec}
    children = Gate(policies=[folder]).check(server).children
    assert "PersistentVolumeClaim" not in {child.rule.kind for child in children}
    assert all(child.rule.kind for child in Gate(policies=[folder]).check({**server, "metadata": spec}).children)


def test_check_names_them(folder, file, capsys) -> None:
    shared = ("check", "--no-config", f"--policies={folder}", file)
    assert "makes" not in run(capsys, *shared)[1]
    assert '  makes Deployment "s", HorizontalPodAutoscaler "s"\n' in run(capsys, *shared, "--children")[1]
    (plain,) = json.loads(run(capsys, *shared, "-o", "json")[1])["objects"]
    assert "children" not in plain
    report = json.loads(run(capsys, *shared, "--children", "-o", "json")[1])
    jsonschema.validate(report, SCHEMA)
    named = {"apiVersion": "apps/v1", "kind": "Deployment", "namespace": "team", "name": "s"}
    assert report["objects"][0]["children"][0] == named


def test_no_text_of_a_user_forges_a_line(folder, tmp_path, capsys) -> None:
    spec = {"labels": {EVIL: EVIL}, "env": [{"name": EVIL, "value": EVIL}], "image": f"a  # spec.few\n{EVIL}"}
    file = tmp_path / "evil.json"
    server = {"apiVersion": "acme.example.com/v1", "kind": "Server", "metadata": {"name": f"s{EVIL}"}, "spec": spec}
    file.write_text(json.dumps(server))
    for form in ("yaml", "json"):
        code, out, _ = run(capsys, "explain", "--no-config", f"--policies={folder}", "--children", "-o", form, file)
        assert code == 0
        assert raw(out) <= {"\n"}
        assert not any(line.lstrip().startswith("::") for line in out.splitlines())


@pytest.mark.parametrize("flags", [("-o", "json"), ("--children", "--field", "spec")])
def test_flags_that_do_not_go_together_are_refused(file, capsys, flags) -> None:
    code, _, err = run(capsys, "explain", "--no-config", *flags, file)
    assert code == 64
    assert "--children" in err
