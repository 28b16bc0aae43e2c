"""The report of `--what-if` in each format, and mistakes in its values; a pin of the tree that a change raises."""

import json
from pathlib import Path

import pytest

from tests.cli.strangers import commit, git
from tests.cli.what_if import DOWN, HEAD, PLAIN, SHARED, UP, Capture, codes, report, run


@pytest.mark.usefixtures("model_tree")
def test_annotations_stand_at_new_findings_and_name_the_change(capsys: Capture) -> None:
    code, out, _ = run(capsys, "check", ".", "--what-if", UP, "-o", "github")
    assert code == 1
    found = sorted(out.splitlines())
    assert [line.split(" ")[0] for line in found] == ["::error", "::notice", "::warning", "::warning"]
    assert found[0].startswith("::error file=shared.yaml,line=10,col=7,endColumn=11,title=LS271 InferenceService team/")
    assert all("what if LLMKube 0.9.5 (the documented release) → LLMKube 0.9.19" in line for line in found)


def test_a_comment_for_a_pull_request_holds_texts_of_manifests_as_code(model_tree: Path, capsys: Capture) -> None:
    (model_tree / "x`|y.yaml").write_text(SHARED.replace("team", '"@all`<b>"'))
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


def test_what_cannot_be_read_fails_after_the_report(model_tree: Path, capsys: Capture) -> None:
    (model_tree / "broken.yaml").write_text("apiVersion: inference.llmkube.dev/v1alpha1\na: [\n")
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
@pytest.mark.usefixtures("model_tree")
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
@pytest.mark.usefixtures("model_tree")
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
def pinned(model_tree: Path) -> Path:
    """The tree as a repository that pins LLMKube 0.9.9; the commit is ``main``."""
    (model_tree / "pin.yaml").write_text(PIN)
    (model_tree / "draft.yaml").write_text(DRAFT)
    git(model_tree, "init", "-q", "-b", "main", ".")
    commit(model_tree, "base")
    git(model_tree, "checkout", "-q", "-b", "change")
    return model_tree


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
