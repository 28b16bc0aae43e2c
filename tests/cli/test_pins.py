"""The release and the settings that a repository pins: what is judged by them, in every command and format."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.cli.strangers import commit, git
from tests.files import written
from tests.shared import ROOT
from webhook.cli import main
from webhook.cli.input.configuration import configured
from webhook.cli.input.flags import add_arguments
from webhook.cli.manifests import Outcomes, outcomes
from webhook.cli.shell.parser import Parser

Capture = pytest.CaptureFixture[str]

SOURCE = """\
apiVersion: source.toolkit.fluxcd.io/v1
kind: OCIRepository
metadata: {name: llmkube}
spec:
  url: oci://ghcr.io/defilantech/charts/llmkube
  ref: {tag: %s}
---
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: llmkube}
spec:
  chartRef: {kind: OCIRepository, name: llmkube}
  values: {modelSource: {allowedHostPathRoots: [/srv/models]}}
"""
MODEL = """\
apiVersion: inference.llmkube.dev/v1alpha1
kind: Model
metadata: {name: %s}
spec:
  source: /srv/models/a-Q8_0.gguf
  prefetch: true
  hardware: {accelerator: metal, gpu: {enabled: true, count: 1}}
"""
"""Local files are allowed by the pinned settings alone, and prefetch came with 0.9.11."""
SERVICE = """\
apiVersion: inference.llmkube.dev/v1alpha1
kind: InferenceService
metadata: {name: s}
spec: {modelRef: m}
"""
NEWER, OLDER = "LLMKube 0.9.19", "LLMKube 0.9.5"
ENVIRONMENTS = {
    "dev/llmkube.yaml": SOURCE % "0.9.5",
    "dev/model.yaml": MODEL % "m",
    "prod/llmkube.yaml": SOURCE % "0.9.19",
    "prod/model.yaml": MODEL % "m",
}


@pytest.fixture
def top(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository, in which the command runs."""
    top = tmp_path / "top"
    top.mkdir()
    git(top, "init", "-q", "-b", "main", ".")
    monkeypatch.chdir(top)
    return top


def run(capsys: Capture, *arguments: object) -> tuple[int, str, str]:
    code = main([*map(str, arguments)])
    said = capsys.readouterr()
    return code, said.out, said.err


def codes(capsys: Capture, *arguments: object) -> list[str]:
    """The codes of the findings of a check."""
    report = json.loads(run(capsys, "check", "-o", "json", *arguments)[1])
    return [found["code"] for each in report["objects"] for found in each["findings"]]


def judged(path: str, commit: str | None = None) -> Outcomes:
    parser = Parser()
    add_arguments(parser)
    options = parser.parse_args([path])
    options.git = commit
    return outcomes(configured(options))


def test_objects_are_judged_by_the_release_and_the_settings_that_the_repository_pins(
    top: Path, capsys: Capture
) -> None:
    written(top, {"llmkube/release.yaml": SOURCE % "0.9.19", "models/m.yaml": MODEL % "m", "models/s.yaml": SERVICE})
    place = f"judged as of {NEWER} (llmkube/release.yaml:6)"
    for given in (".", "models", "models/m.yaml"):
        code, out, err = run(capsys, "check", given)
        assert (code, out.count(" warning: "), "LK344 warning: " in out) == (0, 1, True)
        assert err.splitlines().count(place) == 1
    assert len(judged(".").judges.rulings.made) == 1, "one ruling, because there is one release"


def test_a_tree_without_pins_has_one_ruling_and_the_documented_release(top: Path, capsys: Capture) -> None:
    written(top, {"models/m.yaml": MODEL % "m"})
    assert len(judged(".").judges.rulings.made) == 1
    code, out, err = run(capsys, "check", ".")
    assert (code, "LK327" in out, "prefetch is a field of LLMKube 0.9.11 and later" in out) == (1, True, True)
    assert f"judged as of {OLDER}: for another release, " in err


def test_a_flag_counts_before_the_configuration_that_before_a_pin_and_that_before_definitions(
    top: Path, capsys: Capture
) -> None:
    definition = ROOT / "policies" / "llmkube" / "crds" / "models.yaml"

    def judged_as(*arguments: object) -> dict[str, Any]:
        (found,) = json.loads(run(capsys, "check", "m.yaml", "-o", "json", *arguments)[1])["objects"]
        basis: dict[str, Any] = found["judgedAs"]
        return basis

    written(top, {"m.yaml": MODEL % "m"})
    documented = {"release": OLDER, "by": "documented"}
    assert judged_as() == judged_as("--crds", definition) == documented
    written(top, {"llmkube.yaml": SOURCE % "0.9.19"})
    pinned = {"release": NEWER, "by": "pin", "places": ["llmkube.yaml:6"]}
    assert judged_as() == judged_as("--crds", definition) == pinned
    written(top, {".modelgate.yaml": 'releases: {llmkube: "0.9.13"}\n'})
    assert judged_as() == {"release": "LLMKube 0.9.13", "by": "setting"}
    assert judged_as("--release", "llmkube=0.9.14") == {"release": "LLMKube 0.9.14", "by": "setting"}


@pytest.mark.parametrize("command", ["check", "explain", "scan"])
def test_pins_can_be_turned_off(command: str, top: Path, capsys: Capture) -> None:
    written(top, {"llmkube.yaml": SOURCE % "0.9.19", "m.yaml": MODEL % "m"})
    assert "0.9.19" in "".join(run(capsys, command, ".")[1:])
    assert "0.9.19" not in "".join(run(capsys, command, ".", "--no-pins")[1:])
    written(top, {".modelgate.yaml": "pins: false\n"})
    assert "0.9.19" not in "".join(run(capsys, command, ".")[1:])


def test_each_environment_is_judged_by_its_own_release(top: Path, capsys: Capture) -> None:
    written(top, ENVIRONMENTS)
    code, out, err = run(capsys, "check", ".")
    assert code == 1
    lines = [line for line in out.splitlines() if ": Model m: " in line]
    assert lines == [
        f"dev/model.yaml:1: Model m: REFUSED: judged as of {OLDER} (dev/llmkube.yaml:6)",
        f"prod/model.yaml:1: Model m: accepted: judged as of {NEWER} (prod/llmkube.yaml:6)",
    ]
    for line in (f"{NEWER} (prod/llmkube.yaml:6): 1 object", f"{OLDER} (dev/llmkube.yaml:6): 1 object"):
        assert f"judged as of {line}" in err.splitlines()
    assert len(judged(".").judges.rulings.made) == 2
    code, out, err = run(capsys, "check", "prod")
    assert (code, "judged as of" in out, f"judged as of {NEWER} (prod/llmkube.yaml:6)" in err) == (0, False, True)


def test_objects_of_two_releases_see_each_other_each_as_its_own_release_stores_it(top: Path) -> None:
    other = SERVICE.replace("modelRef: m", "modelRef: prod")
    written(top, {**ENVIRONMENTS, "prod/model.yaml": MODEL % "prod", "dev/s.yaml": other, "prod/s2.yaml": SERVICE})
    found = judged(".")
    for review in found.reviews:
        assert not any("is not among the files given" in each.message for each in review.validation.warnings)
        models = found.judges.of(review.document).view.list(("inference.llmkube.dev", "Model"))  # type: ignore[arg-type]
        assert {each["metadata"]["name"]: "prefetch" in each["spec"] for each in models} == {"m": False, "prod": True}


def test_of_two_objects_with_one_name_each_release_sees_its_own(top: Path) -> None:
    written(top, ENVIRONMENTS)
    found = judged(".")
    for review in found.reviews:
        if review.reviewed:
            (model,) = found.judges.of(review.document).view.list(("inference.llmkube.dev", "Model"))  # type: ignore[arg-type]
            assert ("prefetch" in model["spec"]) == review.document.source.startswith("prod")


@pytest.mark.parametrize("output", ["text", "json", "sarif", "junit", "github", "gitlab"])
def test_every_format_says_the_release_with_its_place(output: str, top: Path, capsys: Capture) -> None:
    written(top, ENVIRONMENTS)
    _, out, err = run(capsys, "check", ".", "-o", output)
    for release, place in ((NEWER, "prod/llmkube.yaml:6"), (OLDER, "dev/llmkube.yaml:6")):
        assert f"judged as of {release} ({place}): 1 object" in err
        if output == "json":
            bases = [each.get("judgedAs") for each in json.loads(out)["objects"]]
            assert {"release": release, "by": "pin", "places": [place]} in bases
        elif output == "sarif":
            (sarif,) = json.loads(out)["runs"]
            assert f"{release} ({place})" in [each["properties"]["judgedAs"] for each in sarif["results"]]
            texts = [each["message"]["text"] for each in sarif["invocations"][0]["toolExecutionNotifications"]]
            assert f"judged as of {release} ({place}): 1 object" in texts
        else:
            assert f"judged as of {release} ({place})" in out


@pytest.mark.parametrize("output", ["text", "json", "sarif", "junit", "github", "gitlab"])
@pytest.mark.parametrize(
    ("files", "why"),
    [
        ({"llmkube.yaml": SOURCE % '"${VERSION}"'}, '"${VERSION}" is a variable (llmkube.yaml:6)'),
        ({"llmkube.yaml": SOURCE % "0.9.x"}, '"0.9.x" is a range (llmkube.yaml:6)'),
        (
            {"a/llmkube.yaml": SOURCE % "0.9.13", "b/llmkube.yaml": SOURCE % "0.9.19"},
            "several releases are deployed: 0.9.13 (a/llmkube.yaml:6), 0.9.19 (b/llmkube.yaml:6)",
        ),
    ],
    ids=["variable", "range", "contradiction"],
)
def test_a_pin_that_names_no_release_is_said_once_with_all_places_and_the_documented_release_counts(
    output: str, files: dict[str, str], why: str, top: Path, capsys: Capture
) -> None:
    written(top, {**files, "models/m.yaml": MODEL % "m", "models/other.yaml": MODEL % "other"})
    code, out, err = run(capsys, "check", ".", "-o", output)
    assert code == 1
    assert f"judged as of {OLDER}: " in err
    said = json.dumps(out)[1:-1] if output in {"text", "github"} else out
    text = f"the release of LLMKube is not known, so that 0.9.5 counts: {why}"
    shown = json.dumps(text)[1:-1] if output != "junit" else text.replace('"', "&quot;")
    assert shown in said or text in out
    if output == "json":
        remarks = [each for each in json.loads(out)["remarks"] if each["message"] == text]
        assert [(each["file"], each["line"]) for each in remarks] == [(min(files), 6)]


@pytest.mark.parametrize(
    ("release", "said"),
    [
        ("0.9.28", "0.9.28 is newer than 0.9.19, the newest that is known"),
        ("0.3.0", "0.3.0 is older than 0.4.0, the oldest that is known: schema not judged"),
    ],
)
def test_a_pinned_release_that_the_table_lacks_is_said_at_its_pin(
    release: str, said: str, top: Path, capsys: Capture
) -> None:
    written(top, {"llmkube.yaml": SOURCE % release, "m.yaml": MODEL % "m"})
    for command in ("check", "scan"):
        code, out, err = run(capsys, command, "-o", "text", ".")
        assert code == 0
        assert "llmkube.yaml:6: warning: " in out
        assert out.count(said) >= 1
        assert f"judged as of LLMKube {release} (llmkube.yaml:6)" in err.splitlines()


def test_a_pin_that_does_not_count_for_what_is_checked_is_not_said(top: Path, capsys: Capture) -> None:
    files = {"dev/llmkube.yaml": SOURCE % "0.9.x", "prod/llmkube.yaml": SOURCE % "0.9.19", "prod/m.yaml": MODEL % "m"}
    written(top, files)
    code, out, err = run(capsys, "check", "prod")
    assert (code, "is not known" in out + err) == (0, False)
    written(top, {"prod/m.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\n"})
    _, out, err = run(capsys, "check", ".")
    assert "LLMKube" not in out + err


def test_more_combinations_than_are_compiled_are_said(top: Path) -> None:
    source = SOURCE.replace("[/srv/models]", "[/srv/%s]")
    for number in range(18):
        written(top, {f"e{number:02}/llmkube.yaml": source % ("0.9.19", number), f"e{number:02}/m.yaml": MODEL % "m"})
    found = judged(".")
    assert len(found.judges.rulings.made) == 17
    left = [each for each in found.remarks if "16 combinations of releases and settings" in each.message]
    assert [each.source for each in left] == ["e16/llmkube.yaml:6", "e17/llmkube.yaml:6"]
    bases = [each.judged_as.by for each in found.reviews if each.judged_as]
    assert (bases.count("pin"), bases.count("documented")) == (16, 2)


def test_standard_input_is_judged_by_the_pins_of_the_current_folder(
    top: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    written(top, ENVIRONMENTS)
    for folder, release in (("dev", OLDER), ("prod", NEWER)):
        monkeypatch.chdir(top / folder)
        with (top / folder / "model.yaml").open() as stdin:
            monkeypatch.setattr("sys.stdin", stdin)
            assert f"judged as of {release} ({folder}/llmkube.yaml:6)" in run(capsys, "check", "-")[2]


@pytest.mark.skipif(not (shutil.which("kustomize") or shutil.which("kubectl")), reason="needs kustomize or kubectl")
def test_what_kustomize_builds_is_judged_by_the_pins_of_the_folder_that_is_built(top: Path, capsys: Capture) -> None:
    written(top, {"base/kustomization.yaml": "resources: [model.yaml]\n", "base/model.yaml": MODEL % "m"})
    for name, release in (("dev", "0.9.5"), ("prod", "0.9.19")):
        text = "resources: [../base, llmkube.yaml]\n"
        written(top, {f"{name}/kustomization.yaml": text, f"{name}/llmkube.yaml": SOURCE % release})
    _, out, _ = run(capsys, "check", "--kustomize", ".")
    assert f"base/model.yaml:1: Model m: REFUSED: judged as of {OLDER} (dev/llmkube.yaml:6)" in out
    assert f"base/model.yaml:1: Model m: accepted: judged as of {NEWER} (prod/llmkube.yaml:6)" in out
    commit(top)
    assert "changes: " not in run(capsys, "check", "--kustomize", "--git", "main", ".")[2]
    written(top, {"dev/llmkube.yaml": SOURCE % "0.9.13"})
    _, _, err = run(capsys, "check", "--kustomize", "--git", "main", ".")
    (moved,) = (line for line in err.splitlines() if "changes: " in line)
    assert moved.endswith(f"changes: {OLDER} (main:dev/llmkube.yaml:6) → LLMKube 0.9.13 (dev/llmkube.yaml:6)")


def test_a_scan_of_a_folder_and_explain_judge_by_pins_too(top: Path, capsys: Capture) -> None:
    written(top, ENVIRONMENTS)
    code, out, err = run(capsys, "scan", "-o", "text", ".")
    assert code == 0, "a stored object has no unknown fields"
    assert f"prod/model.yaml:1: Model default/m: accepted: judged as of {NEWER} (prod/llmkube.yaml:6)" in out
    assert f"judged as of {OLDER} (dev/llmkube.yaml:6): 1 object" in err.splitlines()
    bases = [each["judgedAs"] for each in json.loads(run(capsys, "scan", "-o", "json", ".")[1])["objects"]]
    assert bases == [{"release": NEWER, "by": "pin", "places": ["prod/llmkube.yaml:6"]}]
    _, out, _ = run(capsys, "explain", "prod")
    assert f"prod/model.yaml:1: Model m, judged as of {NEWER} (prod/llmkube.yaml:6)" in out.splitlines()


def test_the_stamp_is_that_of_a_gate_with_this_release_and_these_settings(top: Path, capsys: Capture) -> None:
    """A gate is told both by flags or values of its chart."""
    written(top, {"llmkube.yaml": SOURCE % "0.9.19", "m.yaml": MODEL.replace("  prefetch: true\n", "") % "m"})
    code, out, err = run(capsys, "normalise", "m.yaml")
    assert (code, err) == (0, f"judged as of {NEWER} (llmkube.yaml:6)\n")
    flags = ["--release", "llmkube=0.9.19", "--set", "llmkube.hostPathRoots=/srv/models"]
    assert run(capsys, "normalise", "m.yaml", "--no-pins", *flags)[1] == out
    assert run(capsys, "normalise", "m.yaml", "--no-pins", *flags[:2])[1] != out
    written(top, {"stored.yaml": out})
    for more, stamp in (([], "valid"), (["--no-pins", *flags], "valid"), (["--no-pins"], "outdated")):
        (row,) = run(capsys, "scan", "-v", "stored.yaml", *more)[1].splitlines()[1:]
        assert row.split()[:3] == ["Model", "default/m", stamp], more


def test_a_stranger_s_files_say_what_they_deploy_and_change_no_profile(top: Path, capsys: Capture) -> None:
    written(top, {"llmkube.yaml": SOURCE % "0.9.19", "m.yaml": MODEL % "m", ".modelgate.yaml": "profile: audit\n"})
    _, _, err = run(capsys, "check", "--untrusted", ".")
    assert f"judged as of {NEWER} (llmkube.yaml:6)" in err
    assert ".modelgate.yaml: not used" in err


def test_a_commit_is_judged_by_what_it_pins_and_a_raised_pin_is_said(top: Path, capsys: Capture) -> None:
    written(top, {**ENVIRONMENTS, "dev/other.yaml": MODEL % "other"})
    commit(top)
    assert codes(capsys, "--git", "main", ".") == []
    assert "changes" not in run(capsys, "check", "--git", "main", ".")[2]
    written(top, {"dev/llmkube.yaml": SOURCE % "0.9.19"})
    moved = (
        "the release by which objects are judged changes: "
        f"{OLDER} (main:dev/llmkube.yaml:6) → {NEWER} (dev/llmkube.yaml:6)"
    )
    for given in (".", "dev"):
        code, out, err = run(capsys, "check", "--git", "main", given)
        assert (code, err.splitlines().count(moved)) == (0, 1)
        assert [line.partition(": ")[0] for line in out.splitlines() if "LK344" in line] == [
            "dev/model.yaml:6:3",
            "dev/other.yaml:6:3",
        ]
    notes = json.loads(run(capsys, "check", "--git", "main", ".", "-o", "json")[1])["notes"]
    assert {"file": "dev/llmkube.yaml", "line": 6, "message": moved} in notes


def test_a_lowered_pin_refuses_what_the_older_release_does_not_have(top: Path, capsys: Capture) -> None:
    written(top, {"llmkube.yaml": SOURCE % "0.9.19", "models/m.yaml": MODEL % "m"})
    commit(top)
    written(top, {"llmkube.yaml": SOURCE % "0.9.5"})
    assert codes(capsys, "--git", "main", "models") == ["unknown-field"]
    assert codes(capsys, "--git", "main", "models", "--no-pins") == []


def test_a_pin_that_is_new_or_gone_is_a_change_too(top: Path, capsys: Capture) -> None:
    written(top, {"models/m.yaml": MODEL % "m"})
    commit(top)
    written(top, {"llmkube.yaml": SOURCE % "0.9.19"})
    text = f"{OLDER} (the documented release) → {NEWER} (llmkube.yaml:6)"
    assert text in run(capsys, "check", "--git", "main", "models")[2]
    commit(top)
    (top / "llmkube.yaml").unlink()
    text = f"{NEWER} (main:llmkube.yaml:6) → {OLDER} (the documented release)"
    assert text in run(capsys, "check", "--git", "main", "models")[2]


def test_an_object_updates_what_the_release_of_the_commit_stored(top: Path) -> None:
    """Of the two defaults, 0.9.5 writes the resource's name, and 0.9.19 does not."""
    model = MODEL.replace("accelerator: metal", "accelerator: rocm").replace("count: 1", "count: 1, vendor: amd")
    written(top, {"llmkube.yaml": SOURCE % "0.9.5", "m.yaml": model.replace("  prefetch: true\n", "") % "m"})
    commit(top)
    written(top, {"llmkube.yaml": SOURCE % "0.9.19"})
    found = judged(".", "main")
    (before,) = (each.judged_as for each in found.at_commit if each.judged_as)
    assert str(before) == f"{OLDER} (main:llmkube.yaml:6)"
    (review,) = (each for each in found.reviews if each.judged_as)
    gpu = review.merged["spec"]["hardware"]["gpu"]
    assert gpu["resourceName"] == "amd.com/gpu", "what the older release stored"


def test_strangers_cannot_pin_a_release_under_which_no_schema_is_judged(top: Path, capsys: Capture) -> None:
    written(top, {"llmkube.yaml": SOURCE % "0.3.0", "m.yaml": MODEL % "m"})
    code, out, err = run(capsys, "check", "--untrusted", ".")
    assert code == 1, "the documented release does not have the field prefetch"
    assert "llmkube.yaml:6: warning: the release of LLMKube is not known, so that 0.9.5 counts: 0.3.0 is older" in out
    assert "judged as of LLMKube 0.9.5" in err
