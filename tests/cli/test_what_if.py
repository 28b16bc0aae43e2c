"""`check --what-if` and `scan --what-if`: what another release, profile, pack or definition changes."""

import json
from collections import Counter
from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml
from referencing import Registry, Resource

from tests.catalog.test_installed import changed, with_prefetch
from tests.cli.strangers import commit, git
from tests.enforcement.policies import enforcement, exception
from tests.files import written
from tests.shared import ROOT
from webhook.admission import GroupVersionKind
from webhook.catalog import load
from webhook.cli import main
from webhook.cli.input.change import WhatIf
from webhook.facts.settings import Settings
from webhook.library.rulings import JudgedAs

Capture = pytest.CaptureFixture[str]

SCHEMAS = {file.name: json.loads(file.read_text()) for file in (ROOT / "docs/schemas").glob("*-report.schema.json")}
DEFINITION = ROOT / "policies/llmkube/crds/models.yaml"
HEAD = "apiVersion: inference.llmkube.dev/v1alpha1\n"
MODEL = (
    f"{HEAD}kind: Model\nmetadata: {{name: amd, namespace: ml}}\n"
    "spec: {source: pvc://c/m.gguf, hardware: {accelerator: rocm, gpu: {enabled: true, count: 1, vendor: amd}}}\n"
)
S3 = f"{HEAD}kind: Model\nmetadata: {{name: s3, namespace: ml}}\nspec:\n  source: s3://bucket/m.gguf\n"
SHARED = f"""{HEAD}kind: InferenceService
metadata: {{name: shared, namespace: team}}
spec:
  modelRef: amd
  image: example.com/llama:1
  resources:
    gpu: 2
    gpuSharing:
      mode: shared
"""
PLAIN = (
    "apiVersion: inference.llmkube.dev/v1alpha1\nkind: Model\nmetadata: {name: m%s}\nspec: {source: pvc://c/m.gguf}\n"
)
UP, DOWN = "release=llmkube=0.9.19", "release=llmkube=0.9.5"


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two kinds in two namespaces: an object that the next release refuses, and one that only it accepts."""
    folder = tmp_path / "tree"
    folder.mkdir()
    for name, text in {"amd": MODEL, "s3": S3, "shared": SHARED}.items():
        (folder / f"{name}.yaml").write_text(text)
    monkeypatch.chdir(folder)
    return folder


def run(capsys: Capture, *arguments: object) -> tuple[int, str, str]:
    code = main([*map(str, arguments)])
    said = capsys.readouterr()
    return code, said.out, said.err


def report(capsys: Capture, *arguments: object) -> Any:
    """The report as JSON, which is of its schema."""
    _, out, err = run(capsys, *arguments, "-o", "json")
    assert out, err
    found = json.loads(out)
    registry = Registry().with_resources([(name, Resource.from_contents(each)) for name, each in SCHEMAS.items()])
    jsonschema.Draft202012Validator(SCHEMAS["what-if-report.schema.json"], registry=registry).validate(found)
    return found


def codes(found: Any, effect: str) -> dict[str, int]:
    return {each["code"]: each["objects"] for each in found["codes"] if each["effect"] == effect}


@pytest.mark.usefixtures("tree")
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


@pytest.mark.usefixtures("tree")
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


def findings(found: Any, name: str) -> Counter[Any]:
    """The findings of all objects, each with the line of its object."""
    return Counter(
        (each["line"], finding["severity"], finding["code"], finding["field"])
        for each in found["objects"]
        for finding in each[name]
    )


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
@pytest.mark.usefixtures("tree")
def test_the_exit_code_is_that_of_what_is_new(flags: tuple[str, ...], code: int, capsys: Capture) -> None:
    assert run(capsys, "check", ".", "--what-if", *flags)[0] == code


@pytest.mark.usefixtures("tree")
def test_the_same_release_changes_nothing(capsys: Capture) -> None:
    said = "what if LLMKube 0.9.5, as now: nothing changes (3 objects judged twice)\n"
    assert run(capsys, "check", ".", "--what-if", DOWN) == (0, said, "")
    said = "### what if profile standard, as now: nothing changes (3 objects judged twice)\n"
    assert run(capsys, "check", ".", "--what-if", "profile=standard", "-o", "markdown") == (0, said, "")


def test_a_release_that_several_files_pin_is_said_once() -> None:
    newer = [JudgedAs("llmkube", "LLMKube 0.9.19", "pin", (place,)) for place in ("a.yaml:6", "b.yaml:6")]
    older, set_ = (
        JudgedAs("llmkube", "LLMKube 0.9.5", "pin", ("c.yaml:6",)),
        JudgedAs("llmkube", newer[0].release, "setting"),
    )
    change = WhatIf.of(["release=llmkube=0.9.19"])
    assert [*change.texts([(each, set_) for each in (*newer, older)], "standard")] == [
        "LLMKube 0.9.5 (c.yaml:6) → LLMKube 0.9.19",
        "LLMKube 0.9.19, as now",
    ]


def test_a_stricter_profile_refuses_what_was_warned_and_resolves_nothing(tree: Path, capsys: Capture) -> None:
    service = SHARED.replace("gpu: 2\n    gpuSharing:\n      mode: shared", "memory: 16GB")
    (tree / "memory.yaml").write_text(service)
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


PACK = {
    "pack.yaml": "apiVersion: modelgate.dev/v1alpha1\nkind: Pack\nmetadata: {name: toy}\n"
    "spec: {operator: Toy, codes: [TY], groups: [toy.example.com]}\n",
    "crds/toys.yaml": """apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: toys.toy.example.com}
spec:
  group: toy.example.com
  scope: Namespaced
  names: {kind: Toy, plural: toys, singular: toy, listKind: ToyList}
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec: {type: object, properties: {size: {type: integer}}}
""",
    "toy.yaml": """apiVersion: modelgate.dev/v1alpha1
kind: Policy
metadata: {name: toy}
spec:
  target: {group: toy.example.com, versions: [v1], kind: Toy}
  validations:
  - code: TY201
    at: spec.size
    rule: self < 10
    message: is too large; use at most 9
    action: Deny
    docs: A toy fits into a hand.
""",
}


def pack(folder: Path, limit: int) -> Path:
    """A folder with an API whose rule allows sizes below a limit."""
    written(folder / "toy", {name: text.replace("self < 10", f"self < {limit}") for name, text in PACK.items()})
    return folder


def test_a_pack_is_added_or_takes_the_place_of_its_older_form(tmp_path: Path, capsys: Capture) -> None:
    toy = tmp_path / "toy.yaml"
    toy.write_text("apiVersion: toy.example.com/v1\nkind: Toy\nmetadata: {name: t}\nspec: {size: 12}\n")
    old, new = pack(tmp_path / "old", 20), pack(tmp_path / "new", 10)
    for given in ((), ("--policies", old)):
        found = report(capsys, "check", toy, *given, "--what-if", f"policies={new}")
        assert (found["changes"], codes(found, "refused")) == ([f"policies {new}"], {"TY201": 1})
    assert report(capsys, "check", toy, "--policies", old, "--what-if", f"policies={old / 'toy'}")["objects"] == []


def policies(folder: Path, *objects: Any) -> Path:
    folder.mkdir()
    (folder / "policies.yaml").write_text(yaml.safe_dump_all(objects))
    return folder


FRACTION = PLAIN.replace("m%s", "f, namespace: team").replace("}\n", ", hardware: {memoryFraction: 1.5}}\n")
NAMESPACE = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "team", "labels": {"team": "a"}}}
TEAM_A = {"namespaceSelector": {"matchLabels": {"team": "a"}}}


@pytest.mark.parametrize(
    ("now", "then", "effect", "by"),
    [
        ([], [enforcement(action="deny", codes=["LK223"])], "refused", "deny by Enforcement e"),
        ([], [NAMESPACE, enforcement(action="deny", codes=["LK2*"], **TEAM_A)], "refused", "deny by Enforcement e"),
        ([NAMESPACE], [enforcement(action="audit", **TEAM_A)], "relaxed", "audit by Enforcement e"),
        ([], [enforcement(action="off", codes=["LK22*"])], "relaxed", "off by Enforcement e"),
        (
            [],
            [exception(codes=["LK223"], namespaces=["team"], until="2999-01-01T00:00:00Z")],
            "relaxed",
            "excepted by P",
        ),
        ([enforcement(action="deny")], [enforcement(action="warn")], "relaxed", "warn by Enforcement e"),
        ([enforcement(action="audit")], [enforcement(action="warn")], "warned", "warn by Enforcement e"),
        ([enforcement(action="deny")], [enforcement("other", action="warn")], None, ""),
        ([], [enforcement(action="deny", namespaces=["others"])], None, ""),
    ],
)
@pytest.mark.parametrize("command", ["check", "scan"])
def test_enforcements_and_exceptions_are_judged_by_as_if_they_were_applied(
    command: str, now: list[Any], then: list[Any], effect: str | None, by: str, tmp_path: Path, capsys: Capture
) -> None:
    (tmp_path / "model.yaml").write_text(FRACTION)
    given, change = policies(tmp_path / "now", *now), policies(tmp_path / "then", *then)
    beside = (given,) if command == "scan" else ("--view", given, "--references", "open")
    arguments = (command, tmp_path / "model.yaml", *beside, "--what-if", f"enforcement={change}")
    found = report(capsys, *arguments)
    assert {each["effect"] for each in found["codes"]} == ({effect} if effect else set())
    if effect is not None:
        assert found["changes"] == [f"enforcement {change}"]
        (difference,) = found["objects"]
        messages = {each["code"]: each["message"] for each in difference["relaxed" if effect == "relaxed" else "new"]}
        assert by in messages["LK223"]
        code, out, _ = run(capsys, *arguments)
        assert (code, f"({by}" in out) == (1 if effect == "refused" else 0, True)


def never(file: Path) -> Path:
    """LLMKube's definition of 0.9.19, in which no source is right."""
    later = load(settings=Settings(releases=(("llmkube", "0.9.19"),)))
    schema = deepcopy(dict(later.kinds[GroupVersionKind("inference.llmkube.dev", "v1alpha1", "Model")].schema.raw))
    schema["properties"]["spec"]["properties"]["source"]["pattern"] = "^never$"
    definition = yaml.safe_load(DEFINITION.read_text())
    definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"] = schema
    file.write_text(json.dumps(definition))
    return file


@pytest.mark.parametrize("command", ["check", "scan"])
def test_a_definition_of_the_next_release_takes_the_place_of_the_others(
    command: str, tree: Path, tmp_path: Path, capsys: Capture
) -> None:
    crd = never(tmp_path / "crd.json")
    (tree / "models.json").write_text(json.dumps(changed("Model", with_prefetch)))
    found = report(capsys, command, ".", "--what-if", f"crds={crd}", "--what-if", UP)
    assert found["changes"] == [
        "LLMKube of an unknown release (by its definitions) → LLMKube 0.9.19",
        f"crds {crd}",
    ]
    assert codes(found, "refused")["schema"] == 2  # the definition among the files has another pattern
    assert {each["name"] for each in found["objects"]} >= {"amd"}


def test_what_a_rule_without_a_known_release_would_say_is_not_resolved(tree: Path, capsys: Capture) -> None:
    (tree / "tgi.yaml").write_text(
        f"{HEAD}kind: InferenceService\nmetadata: {{name: tgi}}\n"
        'spec: {modelRef: m, runtime: tgi, endpoint: {port: 80}, extraArgs: ["--seed", "1"]}\n'
    )
    found = report(capsys, "check", "tgi.yaml", "--what-if", "release=llmkube=unknown")
    assert (codes(found, "unjudged"), codes(found, "resolved")) == ({"LS382": 1}, {})
    assert any("LS382" in each["message"] for each in found["remarks"])
    found = report(capsys, "check", "s3.yaml", "--what-if", "release=llmkube=0.3.9")  # older than all definitions
    assert (codes(found, "unjudged"), codes(found, "resolved")) == ({"schema": 1}, {})


@pytest.mark.parametrize("command", ["check", "scan"])
def test_a_version_that_is_served_no_more_is_refused_and_resolves_nothing(
    command: str, tree: Path, capsys: Capture
) -> None:
    crd = tree.parent / "crd.yaml"
    text = DEFINITION.read_text()
    crd.write_text(text.replace("served: true", "served: false"))
    found = report(capsys, command, ".", "--what-if", f"crds={crd}")
    assert codes(found, "refused") == {"unknown-kind": 2}
    assert (codes(found, "unjudged"), codes(found, "resolved")) == ({"schema": 1}, {})


def test_a_scan_compares_the_findings_of_stored_objects(tree: Path, capsys: Capture) -> None:
    found = report(capsys, "scan", ".", "--what-if", UP)
    assert codes(found, "refused") == {"LS271": 1}
    assert codes(found, "warned") == {"LK306": 1, "LK342": 1}
    assert found["summary"]["judged"] == 3
    code, out, _ = run(capsys, "scan", "-n", "ml", "--kind", "Model", tree, "--what-if", UP)
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


@pytest.mark.usefixtures("tree")
def test_annotations_stand_at_new_findings_and_name_the_change(capsys: Capture) -> None:
    code, out, _ = run(capsys, "check", ".", "--what-if", UP, "-o", "github")
    assert code == 1
    found = sorted(out.splitlines())
    assert [line.split(" ")[0] for line in found] == ["::error", "::notice", "::warning", "::warning"]
    assert found[0].startswith("::error file=shared.yaml,line=10,col=7,endColumn=11,title=LS271 InferenceService team/")
    assert all("what if LLMKube 0.9.5 (the documented release) → LLMKube 0.9.19" in line for line in found)


def test_a_comment_for_a_pull_request_holds_texts_of_manifests_as_code(tree: Path, capsys: Capture) -> None:
    (tree / "x`|y.yaml").write_text(SHARED.replace("team", '"@all`<b>"'))
    _, out, _ = run(capsys, "check", ".", "--what-if", UP, "-o", "markdown")
    lines = out.splitlines()
    assert lines[0].startswith("### what if LLMKube 0.9.5 (the documented release) → LLMKube 0.9.19: ")
    table = [line for line in lines if line.startswith("| ")]
    assert {line.count("|") for line in table} == {6}
    assert sum(line.startswith("- `") for line in lines) == 9
    for line in (line for line in lines if "@all" in line):
        assert all("@all" not in outside and "<b>" not in outside for outside in line.split("`")[::2])


def test_a_difference_of_thousands_of_objects_stays_readable(tmp_path: Path, capsys: Capture) -> None:
    text = PLAIN.replace("pvc://c/m.gguf", "s3://bucket/m.gguf")
    file = tmp_path / "many.yaml"
    file.write_text("---\n".join(text % number for number in range(3000)))
    code, out, _ = run(capsys, "check", file, "--what-if", UP, "--fail-on", "warning")
    lines = out.splitlines()
    assert code == 1
    assert lines[0].endswith(": 3,000 newly warned, 3,000 resolved (3,000 objects judged twice)")
    assert len(lines) < 20
    assert lines[-1] == "not listed: 5,990 more places; -v has all"
    markdown = run(capsys, "check", file, "--what-if", UP, "-o", "markdown")[1]
    assert len(markdown) < 10_000
    assert len(run(capsys, "check", file, "--what-if", UP, "-v")[1].splitlines()) == 6005


def test_what_cannot_be_read_fails_after_the_report(tree: Path, capsys: Capture) -> None:
    (tree / "broken.yaml").write_text("apiVersion: inference.llmkube.dev/v1alpha1\na: [\n")
    code, out, err = run(capsys, "check", ".", "--what-if", UP)
    assert (code, err.count("broken.yaml")) == (2, 1)
    assert "1 newly refused" in out


@pytest.mark.parametrize(
    ("given", "code", "message"),
    [
        (["relase=x"], 64, "there is no change 'relase'; did you mean release; write release=API=RELEASE, profile="),
        (["x"], 64, "there is no change 'x'; write release=API=RELEASE, profile=standard|strict|audit, policies=DIR"),
        (["release=llmkube"], 64, "release=llmkube names no release; write it as release=API=RELEASE"),
        (["release=llmkub=0.9.5"], 64, '"llmkub" is not an API with releases; use '),
        (["release=llmkube=0.9.77"], 64, '--release llmkube=0.9.77: "0.9.77" is not a known release'),
        (["profile=hard"], 64, "there is no profile 'hard'; use standard, strict, audit"),
        (["policies="], 64, "policies= names no policies; write it as policies=DIR"),
        (["profile=strict", "profile=audit"], 64, "the profile is changed twice: give one change of it"),
        ([UP, DOWN], 64, "the release of llmkube is changed twice"),
        (["crds=a", "crds=a"], 64, "crds=a is changed twice"),
        (["crds=nowhere"], 2, "nowhere: cannot be read"),
        (["policies=nowhere"], 2, "nowhere: is not a folder of APIs"),
        (["enforcement=nowhere"], 2, "nowhere: cannot be read"),
        (["enforcement=amd.yaml"], 2, "amd.yaml: has no Enforcement and no PolicyException"),
    ],
)
@pytest.mark.parametrize("command", ["check", "scan"])
@pytest.mark.usefixtures("tree")
def test_a_mistake_in_a_change_says_what_to_write(
    command: str, given: list[str], code: int, message: str, capsys: Capture
) -> None:
    found = run(capsys, command, ".", *(part for each in given for part in ("--what-if", each)))
    assert found[:2] == (code, "")
    assert message in found[2]


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (("--what-if", UP, "--fix"), "--fix: edits the files, and a change of what decides leaves them as they are"),
        (("--what-if", UP, "--git", "main"), "--git: compares the files with those of a commit"),
        (("--what-if", UP, "--diff"), "--diff: prints what is filled in now"),
        (("--what-if", UP, "-o", "sarif"), "sarif is not a format of --what-if: use text, json, github, markdown"),
    ],
)
@pytest.mark.usefixtures("tree")
def test_flags_that_do_not_go_with_a_change_are_errors(flags: tuple[str, ...], message: str, capsys: Capture) -> None:
    code, out, err = run(capsys, "check", ".", *flags)
    assert (code, out) == (64, "")
    assert message in err


PIN = """apiVersion: source.toolkit.fluxcd.io/v1
kind: OCIRepository
metadata: {name: llmkube, namespace: flux-system}
spec:
  url: oci://ghcr.io/defilantech/charts/llmkube
  ref: {tag: 0.9.9}
---
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: llmkube, namespace: flux-system}
spec: {chartRef: {kind: OCIRepository, name: llmkube}}
"""
DRAFT = f"""{HEAD}kind: InferenceService
metadata: {{name: draft, namespace: team}}
spec:
  modelRef: amd
  speculativeDecoding: {{type: draft}}
"""


@pytest.fixture
def pinned(tree: Path) -> Path:
    """The tree as a repository that pins LLMKube 0.9.9; the commit is ``main``."""
    (tree / "pin.yaml").write_text(PIN)
    (tree / "draft.yaml").write_text(DRAFT)
    git(tree, "init", "-q", "-b", "main", ".")
    commit(tree, "base")
    git(tree, "checkout", "-q", "-b", "change")
    return tree


def test_a_raised_pin_shows_what_it_breaks_in_objects_that_the_change_does_not_touch(
    pinned: Path, capsys: Capture
) -> None:
    assert run(capsys, "check", "--git", "main", ".")[0] == 0
    (pinned / "pin.yaml").write_text(PIN.replace("0.9.9", "0.9.19"))
    code, out, err = run(capsys, "check", "--git", "main", ".")
    assert code == 1
    (error,) = (line for line in out.splitlines() if " error: " in line)
    assert error.startswith("draft.yaml:6:3: schema error: spec.speculativeDecoding: Invalid value: ")
    assert out.count("this speculative decoding type needs draft weights") == 1
    effects = "1 newly refused, 1 newly warned, 2 resolved (4 objects judged twice)"
    assert f"what the releases change, as if all were created: {effects}\n" in err
    found = json.loads(run(capsys, "check", "--git", "main", ".", "-o", "json")[1])
    assert [each["name"] for each in found["objects"] if each["verdict"] == "refused"] == ["draft"]
    assert any(effects in each["message"] for each in found["notes"])
    assert run(capsys, "check", "--git", "main", ".", "--fail-on", "never")[0] == 0


def test_a_pin_of_the_tree_is_what_a_named_release_is_compared_with(pinned: Path, capsys: Capture) -> None:
    found = report(capsys, "check", ".", "--what-if", UP)
    assert found["changes"] == ["LLMKube 0.9.9 (pin.yaml:6) → LLMKube 0.9.19"]
    assert codes(found, "refused") == {"schema": 1}
    (pinned / "new.yaml").write_text(DRAFT.replace("name: draft", "name: new"))
    _, _, err = run(capsys, "check", "--git", "main", ".")
    assert "what the releases change" not in err
