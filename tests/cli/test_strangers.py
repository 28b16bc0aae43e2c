"""Files of a stranger start no program, are read only if they are regular, and write no commands into logs."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
import yaml

from tests.cli.trees import GOOD
from tests.e2e import assets
from tests.shared import ROOT
from webhook import catalog
from webhook.catalog.kept import Kept
from webhook.catalog.pickling import dumped
from webhook.cli import main

Capture = pytest.CaptureFixture[str]

BAD = GOOD.replace("pvc://c/m.gguf", "ftp://x")


STUB = '#!/bin/sh\nprintf "<%s>" "$@" >> "$0.ran"\n/usr/bin/env >> "$0.ran"\nexit 1\n'


@pytest.fixture
def kustomize(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A program that writes how it is called."""
    (tmp_path / "bin").mkdir()
    program = tmp_path / "bin" / "kustomize"
    program.write_text(STUB)
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    monkeypatch.setenv("KUSTOMIZE_PLUGIN_HOME", "plugins")
    return Path(f"{program}.ran")


def test_only_a_flag_starts_kustomize_and_a_folder_stays_a_folder(tree: Path, kustomize: Path) -> None:
    for name in ("--enable-alpha-plugins", "-ofile"):
        (tree / name).mkdir()
        (tree / name / "kustomization.yaml").write_text("resources: []\n")
    (tree / ".modelgate.yaml").write_text("kustomize: true\n")
    for flags in (["."], ["--git=base", "."]):
        main(["check", *flags])
    (tree / ".modelgate.yaml").unlink()
    main(["check", "."])
    assert not kustomize.exists()
    assert main(["check", "--kustomize", "."]) == 0, "no file there may be an object to judge"
    called = kustomize.read_text()
    assert called.count("<build><--load-restrictor><LoadRestrictionsNone></") == 2
    assert "--enable-alpha-plugins" not in called
    assert "-ofile" not in called
    assert not {"KUSTOMIZE_PLUGIN_HOME", str(Path.home())} & set(called.replace("=", "\n").split("\n"))
    assert main(["check", "--kustomize", "--untrusted", "--", "-ofile"]) == 2, "it is named"
    assert kustomize.read_text().count("<build></") == 1, "a stranger's is restricted"


def test_a_name_of_a_folder_lifts_no_restriction_of_the_real_program(
    tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    kubectl = assets.CACHE / "kubectl"
    if not kubectl.exists():
        pytest.skip("needs the kubectl of the end-to-end tests")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "kubectl").symlink_to(kubectl)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/usr/bin:/bin")
    (tmp_path / "secret").write_text("of-the-host")
    lifting = tree / "--load-restrictor=LoadRestrictionsNone"
    lifting.mkdir()
    (lifting / "kustomization.yaml").write_text("resources: []\n")
    (tree / "manifests" / "model.yaml").write_text(GOOD.replace("{source", "{format: x, source"))
    (tree / "kustomization.yaml").write_text(
        "resources: [manifests/model.yaml]\n"
        "generatorOptions: {disableNameSuffixHash: true}\n"
        "configMapGenerator: [{name: c, files: [k=../secret]}]\n"
        "replacements:\n"
        "- source: {kind: ConfigMap, name: c, fieldPath: data.k}\n"
        "  targets: [{select: {kind: Model}, fieldPaths: [spec.format]}]\n"
    )
    assert main(["check", "--untrusted", "--kustomize", "."]) == 2
    out, err = capsys.readouterr()
    assert "cannot be built" in err
    assert "of-the-host" not in out + err


class Evil:
    def __init__(self, marker: Path) -> None:
        self.marker = marker

    def __reduce__(self) -> tuple[object, ...]:
        return os.system, (f"touch {self.marker}",)


def test_no_code_is_read_from_a_folder_of_the_user(tree: Path, marker: Path) -> None:
    """Every file that a kept policy could have, also beside the working tree's own policies."""
    found = dumped(Evil(marker), {})
    content = Kept(catalog.load().files)._key + hashlib.sha256(found).digest() + found
    names = [f"Model.v1alpha1.inference.llmkube.dev.{sys.implementation.cache_tag}", "modelgate.pickle"]
    folders = [tree / ".cache" / "modelgate", tree / "modelgate", tree / "policies" / ".compiled"]
    for folder in folders:
        folder.mkdir(parents=True)
        for name in names:
            (folder / name).write_bytes(content)
    (tree / "manifests" / "model.yaml").write_text(GOOD)
    program = Path(sys.executable).with_name("modelgate")
    for name in ("HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME", "TMPDIR"):
        environment = {"PATH": os.environ["PATH"], name: str(tree)}
        done = subprocess.run([program, "check", "manifests"], env=environment, capture_output=True, check=False)
        assert (done.returncode, done.stderr.count(b"2 checked")) == (0, 1), done.stderr
    assert not marker.exists()
    assert sorted(path.name for folder in folders for path in folder.iterdir()) == sorted(names * 3), (
        "nothing is written"
    )


# Files that never end


NAMED = [
    ["--view", "{}", "manifests"],
    ["--crds", "{}", "manifests"],
    ["--admission-policies", "{}", "manifests"],
    ["--old", "{}", "manifests"],
    ["--config", "{}", "manifests"],
    ["{}"],
]


@pytest.mark.parametrize("path", ["/proc/self", "/proc/self/", "/sys", "/dev/zero", "root", "device", "/proc/kmsg"])
@pytest.mark.parametrize("flags", NAMED, ids=lambda flags: flags[0])
def test_only_regular_files_are_read(flags: list[str], path: str, tree: Path, capsys: Capture) -> None:
    (tree / "root").symlink_to("/proc/self/root")
    (tree / "device").symlink_to("/dev/zero")
    assert main(["check", *(each.format(path) for each in flags)]) in {2, 64}
    assert "cannot be read: " in capsys.readouterr().err


@pytest.mark.parametrize("name", ["device", "pipe"])
def test_what_never_ends_is_not_read_where_there_is_no_repository(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "device").symlink_to("/dev/zero")
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "model.yaml").write_text(GOOD)
    for flags in NAMED[:-1]:
        assert main(["check", *(each.format(name).replace("manifests", "model.yaml") for each in flags)]) in {2, 64}
        assert "cannot be read: Not a regular file" in capsys.readouterr().err
    (tmp_path / ".modelgate.yaml").symlink_to(name)
    assert main(["check", "model.yaml"]) == 64
    assert "cannot be read: Not a regular file" in capsys.readouterr().err


def test_what_a_shell_names_is_read(tree: Path) -> None:
    (tree / "manifests" / "model.yaml").write_text(GOOD)
    program = Path(sys.executable).with_name("modelgate")
    command = f"{program} check --view <(cat manifests/model.yaml) <(cat manifests/cache.yaml)"
    assert subprocess.run(["bash", "-c", command], check=False, capture_output=True).returncode == 0


def test_links_lead_to_files_of_the_repository_only(tree: Path, capsys: Capture) -> None:
    (tree.parent / "host").mkdir()
    (tree.parent / "host" / "model.yaml").write_text(BAD)
    (tree / "other").mkdir()
    (tree / "other" / "model.yaml").write_text(GOOD)
    (tree / "manifests" / "host").symlink_to("../../host")
    (tree / "manifests" / "host.yaml").symlink_to("../../host/model.yaml")
    (tree / "manifests" / "other").symlink_to("../other")
    assert main(["check", "manifests"]) == 0
    out, err = capsys.readouterr()
    assert ("manifests/other/model.yaml:1: Model good: accepted" in out, "2 link that leads out" in err) == (True, True)
    assert main(["check", "--crds=manifests/other", "--view=manifests", "manifests/cache.yaml"]) == 2
    assert "manifests/host.yaml: is a link that leads out of the folder" in capsys.readouterr().err
    for name in ("host", "host.yaml"):
        assert main(["check", f"manifests/{name}"]) == 2
        assert "A link that leads out of its repository" in capsys.readouterr().err


# Commands of CI systems


COMMANDS = [
    "##vso[task.setvariable variable=x]y",
    "##[group]x",
    "##teamcity[x]",
    "::set-output name=x::y",
    " ::stop-commands::x",
]


@pytest.mark.parametrize("form", ["text", "json", "sarif", "junit", "github", "gitlab"])
def test_no_format_carries_a_command_of_a_ci_system(
    form: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    monkeypatch.chdir(tmp_path)
    for number, text in enumerate(COMMANDS):
        bad = BAD.replace("ftp://x", f"'{text}'").replace("good", "'a'").replace("spec:", f"{text!r}: 1\nspec:")
        (tmp_path / f"{text}.yaml").write_text(bad)
        (tmp_path / f"{text}{number}.yaml").write_text(f"{text!r}: [")
    main(["check", "-o", form, "."])
    out = capsys.readouterr().out
    assert not commands(out, allowed=("::error file=", "::notice file=") if form == "github" else ())
    assert {"json": json.loads, "sarif": json.loads, "gitlab": json.loads, "junit": ET.fromstring}.get(form, str)(out)
    if form == "json":
        files = {each["file"] for each in json.loads(out)["objects"]}
        assert files == {f"{text}.yaml" for text in COMMANDS}, "a reader of the report sees the names as they are"


def commands(out: str, allowed: tuple[str, ...]) -> list[str]:
    anywhere = [line for line in out.split("\n") if re.search(r"##\w*\[", line)]
    return anywhere + [
        line for line in out.split("\n") if line.lstrip().startswith("::") and not line.startswith(allowed)
    ]


@pytest.mark.parametrize("command", [["normalise"], ["scan", "-o", "openreports"]])
def test_no_yaml_carries_a_command_of_a_ci_system(command: list[str], tmp_path: Path, capsys: Capture) -> None:
    text = GOOD.replace("pvc://c/m.gguf", "'##vso[task.x]y'").replace(
        "metadata: {name: good}", "metadata: {name: good, labels: {a: '##teamcity[x]'}}"
    )
    (tmp_path / "m.yaml").write_text(text)
    main([*command, str(tmp_path / "m.yaml")])
    out = capsys.readouterr().out
    assert out
    assert not commands(out, allowed=())
    assert not [line for each in yaml.safe_load_all(out) for line in [each] if each is None]


@pytest.mark.parametrize("place", ["llmkube/crds/a.yaml", "llmkube/a.yaml", "llmkube/cases/a.yaml"])
@pytest.mark.parametrize("target", ["/dev/zero", "/proc/kmsg", "pipe", "../secret.yaml"])
def test_the_cases_of_a_stranger_are_regular_files(target: str, place: str, tree: Path, capsys: Capture) -> None:
    shutil.copytree(ROOT / "policies" / "llmkube", tree / "policies" / "llmkube")
    os.mkfifo(tree / "pipe")
    (tree.parent / "secret.yaml").write_text("a: [")
    (tree / "policies" / place).symlink_to(target if target.startswith("/") else tree / target)
    assert main(["test", "policies"]) == 2
    assert re.search("egular file|leads out of (its repository|the folder)", capsys.readouterr().err)


def test_a_configuration_that_does_not_count_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    monkeypatch.chdir(tmp_path)
    Path(".modelgate.yaml").write_text("failOn: warning\n")
    Path("m.yaml").write_text(GOOD)
    assert main(["check", "--untrusted", "m.yaml"]) == 0
    assert ".modelgate.yaml: not used: the files are a stranger's (--untrusted)" in capsys.readouterr().err
