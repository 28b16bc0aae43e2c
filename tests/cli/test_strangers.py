"""Files of a stranger decide neither what runs on the machine that checks them, nor by which rules they are judged."""

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
from tests.crds import crd_text
from tests.e2e import assets
from tests.shared import ROOT
from webhook import catalog
from webhook.catalog.kept import Kept
from webhook.catalog.pickling import dumped
from webhook.cli import main
from webhook.cli.input.repository import Repository

Capture = pytest.CaptureFixture[str]

BAD = GOOD.replace("pvc://c/m.gguf", "ftp://x")
CACHE = """\
apiVersion: aim.silogen.ai/v1alpha1
kind: AIMModelCache
metadata: {name: cache, namespace: team}
spec: {sourceUri: "hf://org/model", size: 20Gi}
"""
CHANGED = CACHE.replace("org/model", "org/other")
POLICY = """\
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: no-good}
spec:
  matchConstraints:
    resourceRules: [{apiGroups: ["*"], apiVersions: ["*"], operations: ["*"], resources: ["*"]}]
  validations: [{expression: "object.metadata.name != 'good'", message: no good}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: no-good}
spec: {policyName: no-good, validationActions: [Deny]}
"""
OPEN = crd_text("inference.llmkube.dev", "Model", version="v1alpha1")


def git(folder: Path, *arguments: str, given: str = "") -> str:
    identity = ["-c", "user.name=t", "-c", "user.email=t@example.com", "-c", "commit.gpgsign=false"]
    command = ["git", "-C", str(folder), *identity, "-c", "protocol.file.allow=always", *arguments]
    done = subprocess.run(command, check=True, capture_output=True, input=given, text=True)
    return done.stdout.strip()


def commit(folder: Path, message: str = "change") -> None:
    git(folder, "add", "-A", "-f")
    git(folder, "commit", "-qm", message)


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with a base, in which the command runs."""
    found = tmp_path / "tree"
    (found / "manifests").mkdir(parents=True)
    (found / "manifests" / "cache.yaml").write_text(CACHE)
    git(found, "init", "-q", "-b", "main", ".")
    commit(found, "base")
    git(found, "branch", "base")
    monkeypatch.chdir(found)
    return found


@pytest.fixture
def marker(tmp_path: Path) -> Path:
    """What a program of the stranger would write."""
    return tmp_path / "ran"


def programs(marker: Path) -> dict[str, str]:
    """Settings of Git that name programs."""
    names = (
        "core.fsmonitor core.pager core.sshCommand core.askPass core.editor core.gitProxy core.alternateRefsCommand "
        "diff.x.textconv diff.x.command diff.external filter.x.smudge filter.x.clean filter.x.process gpg.program "
        "credential.helper pager.show pager.ls-tree pager.cat-file pager.rev-parse uploadpack.packObjectsHook "
        "remote.origin.uploadpack remote.origin.vcs"
    )
    found = dict.fromkeys(names.split(), f"touch {marker};false")
    return found | {f"alias.{each}": f"!touch {marker}" for each in ("rev-parse", "ls-tree", "cat-file", "show")}


def hostile(repository: Path, marker: Path) -> None:
    """Let every setting and hook of a repository name a program, and let its objects be fetched by one."""
    for key, value in programs(marker).items():
        git(repository, "config", key, value)
    for key, value in {
        "core.hooksPath": str(marker.parent / "hooks"),
        "core.repositoryFormatVersion": "1",
        "extensions.partialClone": "origin",
        "remote.origin.url": ".",
        "remote.origin.promisor": "true",
        "protocol.allow": "always",
        "protocol.file.allow": "always",
        "log.showSignature": "true",
    }.items():
        git(repository, "config", key, value)
    for folder in (marker.parent / "hooks", Path(git(repository, "rev-parse", "--absolute-git-dir"), "hooks")):
        folder.mkdir(exist_ok=True)
        for name in ("post-checkout", "reference-transaction", "fsmonitor-watchman", "post-index-change"):
            (folder / name).write_text(f"#!/bin/sh\ntouch {marker}\n")
            (folder / name).chmod(0o755)


def lose(repository: Path, name: str) -> None:
    """Remove an object, so that Git would fetch it."""
    folder = Path(git(repository, "rev-parse", "--absolute-git-dir"))
    identity = git(repository, "rev-parse", name)
    (folder / "objects" / identity[:2] / identity[2:]).unlink()


def bare(folder: Path, marker: Path) -> None:
    """A bare repository as ordinary files, whose main is a commit without its tree."""
    git(folder.parent, "init", "-q", "--bare", str(folder))
    blob = git(folder, "hash-object", "-w", "--stdin", given="hi")
    tree = git(folder, "mktree", given=f"100644 blob {blob}\tx.json\n")
    identity = git(folder, "commit-tree", tree, given="x")
    (folder / "refs" / "remotes" / "origin").mkdir(parents=True)
    for name in ("refs/remotes/origin/main", "refs/heads/base", "refs/heads/main"):
        (folder / name).write_text(identity)
    shutil.rmtree(folder / "hooks")
    hostile(folder, marker)
    lose(folder, tree)


def test_a_bare_repository_among_the_files_is_not_used(tree: Path, marker: Path, capsys: Capture) -> None:
    bare(tree / "manifests" / "store", marker)
    for each in (tree / "manifests" / "store").iterdir():
        shutil.move(each, tree / "manifests" / each.name)
    (tree / "manifests" / "cache.yaml").write_text(CHANGED)
    commit(tree)
    assert main(["check", "--git=base", "manifests"]) == 1
    assert "spec.sourceUri: " in capsys.readouterr().out
    assert not marker.exists()


def test_a_folder_that_names_another_repository_is_refused(tree: Path, marker: Path, capsys: Capture) -> None:
    bare(tree / "store", marker)
    (tree / "manifests" / ".git").write_text(f"gitdir: {tree / 'store'}\n")
    assert main(["check", "--git=base", "manifests"]) == 64
    assert "or in one of its own" in capsys.readouterr().err
    (tree / "manifests" / ".git").unlink()
    (tree / "manifests" / ".git").symlink_to("../store")
    assert main(["check", "--git=base", "manifests/cache.yaml"]) == 64
    assert not marker.exists()


@pytest.mark.parametrize("inside", [True, False])
def test_a_working_tree_whose_git_file_names_another_repository_is_refused(
    inside: bool, tree: Path, marker: Path, capsys: Capture
) -> None:
    store = tree / "store" if inside else tree.parent / "store"
    bare(store, marker)
    shutil.rmtree(tree / ".git")
    (tree / ".git").write_text(f"gitdir: {store}\n")
    git(store, "config", "core.bare", "false")
    if inside:
        git(store, "config", "core.worktree", "..")
    assert main(["check", "--git=base", "manifests"]) == 64
    assert "which is not the repository of this folder" in capsys.readouterr().err
    assert not marker.exists()


def test_a_repository_inside_is_not_asked(tree: Path, marker: Path, capsys: Capture) -> None:
    inner = tree / "manifests" / "inner"
    inner.mkdir()
    git(inner, "init", "-q", "-b", "base", ".")
    (inner / "other.yaml").write_text(CACHE.replace("cache", "other"))
    commit(inner)
    hostile(inner, marker)
    (inner / "other.yaml").write_text(CHANGED.replace("cache", "other"))
    assert main(["check", "--git=base", "manifests"]) == 0, "the repository has no earlier version of it"
    assert main(["check", "--git=base", "manifests/inner"]) == 64
    assert "or in one of its own" in capsys.readouterr().err
    assert not marker.exists()


def test_a_hostile_repository_runs_nothing_and_what_is_missing_is_an_error(
    tree: Path, marker: Path, capsys: Capture
) -> None:
    (tree / ".gitattributes").write_text("* diff=x filter=x\n")
    hostile(tree, marker)
    (tree / "manifests" / "cache.yaml").write_text(CHANGED)
    assert main(["check", "--git=base", "manifests"]) == 1
    lose(tree, "base:manifests/cache.yaml")
    assert main(["check", "--git=base", "manifests"]) == 64
    assert "fetch it without a filter" in capsys.readouterr().err
    assert not marker.exists()


@pytest.mark.parametrize("name", ["base:manifests", "base^{tree}"])
def test_a_folder_that_is_missing_is_an_error(name: str, tree: Path, marker: Path, capsys: Capture) -> None:
    hostile(tree, marker)
    lose(tree, name)
    assert main(["check", "--git=base", "manifests"]) == 64
    assert "Git cannot read base" in capsys.readouterr().err
    assert not marker.exists()


def test_variables_of_git_and_the_configuration_of_a_home_in_the_tree_do_not_count(
    tree: Path, marker: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bare(tree.parent / "store", marker)
    (tree / ".gitconfig").write_text(f'[core]\n\tfsmonitor = "touch {marker}"\n[trace2]\n\tnormalTarget = {marker}\n')
    (tree / "git").write_text(f"#!/bin/sh\ntouch {marker}\n")
    (tree / "git").chmod(0o755)
    values = {
        "HOME": str(tree),
        "XDG_CONFIG_HOME": str(tree),
        "GIT_DIR": str(tree.parent / "store"),
        "GIT_TRACE": str(marker),
        "GIT_SSH_COMMAND": f"touch {marker}",
        "GIT_EXTERNAL_DIFF": f"touch {marker}",
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": "core.fsmonitor",
        "GIT_CONFIG_VALUE_0": f"touch {marker}",
        "GIT_CONFIG_GLOBAL": str(tree / ".gitconfig"),
        "GIT_EXEC_PATH": str(tree),
        "PATH": f".::bin:{os.environ['PATH']}",
    }
    for key, value in values.items():
        monkeypatch.setenv(key, value)
    (tree / "manifests" / "cache.yaml").write_text(CHANGED)
    assert main(["check", "--git=base", "manifests"]) == 1
    assert not marker.exists()


def test_clones_worktrees_and_submodules_have_their_own_repository(
    tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    outer = tmp_path / "outer"
    git(tree, "worktree", "add", "-q", "--detach", str(tmp_path / "linked"))
    git(tmp_path, "clone", "-q", "--shared", str(tree), "shared")
    git(tmp_path, "init", "-q", str(outer))
    git(outer, "submodule", "--quiet", "add", str(tree), "sub")
    for folder in (tmp_path / "linked", tmp_path / "shared", outer / "sub"):
        monkeypatch.chdir(folder)
        (folder / "manifests" / "cache.yaml").write_text(CHANGED)
        assert main(["check", "--git=HEAD", "."]) == 1, folder
    monkeypatch.chdir(tmp_path)
    assert Repository.of([tree / "manifests"]).top == tree


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to make a folder of another user")
def test_a_repository_of_another_user_is_not_opened(tree: Path, capsys: Capture) -> None:
    os.chown(tree, 12345, 12345)
    os.chown(tree / ".git", 12345, 12345)
    assert main(["check", "--git=base", "manifests"]) == 64
    assert "dubious ownership" in capsys.readouterr().err


# Configuration, definitions and policies


def test_the_configuration_of_the_commit_decides(tree: Path, capsys: Capture) -> None:
    (tree / "manifests" / "model.yaml").write_text(BAD)
    (tree / ".modelgate.yaml").write_text("failOn: never\n")
    assert main(["check", "manifests"]) == 0
    assert "makes the check weaker: failOn: never" in capsys.readouterr().err
    assert main(["check", "--git=base", "manifests"]) == 1
    assert ".modelgate.yaml: not used: base has no such configuration" in capsys.readouterr().err
    commit(tree)
    (tree / ".modelgate.yaml").unlink()
    assert main(["check", "--git=HEAD", "manifests"]) == 0
    assert "HEAD:.modelgate.yaml: this configuration makes the check weaker: failOn: never" in capsys.readouterr().err
    (tree / ".modelgate.yaml").symlink_to("other.yaml")
    (tree / "other.yaml").write_text("exclude: ['*']\n")
    assert main(["check", "--git=HEAD", "manifests"]) == 0, "the link does not say which file of the commit counts"


@pytest.mark.parametrize("how", ["flag", "configuration"])
def test_policies_and_definitions_of_the_commit_decide(how: str, tree: Path, capsys: Capture) -> None:
    (tree / "policies").mkdir()
    (tree / "policies" / "policy.yaml").write_text(POLICY)
    (tree / "manifests" / "model.yaml").write_text(GOOD)
    if how == "configuration":
        (tree / ".modelgate.yaml").write_text("admissionPolicies: policies\n")
    commit(tree)
    flags = ["--admission-policies=policies"] if how == "flag" else []
    (tree / "policies" / "policy.yaml").write_text(POLICY.replace("!= 'good'", "!= 'other'"))
    assert main(["check", *flags, "manifests"]) == 0
    assert main(["check", "--git=HEAD", "--all", *flags, "manifests"]) == 1
    assert "no good" in capsys.readouterr().out
    shutil.rmtree(tree / "policies")
    assert main(["check", "--git=HEAD", "--all", *flags, "manifests"]) == 1


def test_what_only_the_change_has_does_not_decide(tree: Path, capsys: Capture) -> None:
    (tree / "policies").mkdir()
    (tree / "policies" / "policy.yaml").write_text(POLICY)
    (tree / "manifests" / "model.yaml").write_text(GOOD)
    flags = ["--git=base", "--admission-policies=policies"]
    assert main(["check", *flags, "manifests"]) == 1, "no commit has it: a step before has made it"
    commit(tree)
    capsys.readouterr()
    assert main(["check", *flags, "manifests"]) == 64
    assert "policies is not at base" in capsys.readouterr().err


def test_an_open_definition_among_the_files_does_not_decide(tree: Path, capsys: Capture) -> None:
    (tree / "manifests" / "model.yaml").write_text(BAD)
    (tree / "manifests" / "crd.yaml").write_text(OPEN)
    assert main(["check", "manifests"]) == 0
    assert "manifests/crd.yaml:1: this definition makes the check weaker: " in capsys.readouterr().err
    for flags, by in ((["--git=base"], "that of base"), (["--untrusted"], "Modelgate's own")):
        assert main(["check", *flags, "manifests"]) == 1, flags
        out = capsys.readouterr().out
        assert "spec.source: Invalid value" in out
        assert f"manifests/crd.yaml:1: warning: this definition does not decide about objects: {by} does" in out
    assert main(["scan", "--untrusted", "manifests"]) == 1
    commit(tree)
    assert main(["check", "--git=HEAD", "manifests"]) == 0, "at the commit it decides"


def test_a_definition_of_the_commit_decides_and_a_new_kind_is_judged_by_its_own(tree: Path, capsys: Capture) -> None:
    own = OPEN.replace("inference.llmkube.dev", "example.com").replace("models", "things").replace("Model", "Thing")
    strict = own.replace("x-kubernetes-preserve-unknown-fields: true", "properties: {spec: {type: string}}")
    thing = "apiVersion: example.com/v1alpha1\nkind: Thing\nmetadata: {name: t, namespace: team}\nspec: 1\n"
    (tree / "manifests" / "crd.yaml").write_text(strict.replace("model,", "thing,"))
    (tree / "manifests" / "thing.yaml").write_text(thing)
    assert main(["check", "--git=base", "manifests"]) == 1, "no other definition is known"
    commit(tree)
    (tree / "manifests" / "crd.yaml").write_text(own.replace("model,", "thing,"))
    (tree / "manifests" / "thing.yaml").write_text(thing.replace("spec: 1", "spec: 2"))
    assert main(["check", "manifests"]) == 0
    capsys.readouterr()
    assert main(["check", "--git=HEAD", "--all", "manifests"]) == 1
    assert "does not decide about objects: that of HEAD does" in capsys.readouterr().out


def test_a_configuration_above_or_of_another_user_is_not_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "model.yaml").write_text(BAD)
    (tmp_path / ".modelgate.yaml").write_text("failOn: never\n")
    monkeypatch.chdir(tmp_path / "work")
    assert main(["check", "."]) == 1, "without a repository only this folder counts"
    if os.geteuid() == 0:
        git(tmp_path, "init", "-q", ".")
        os.chown(tmp_path / ".modelgate.yaml", 12345, 12345)
        assert main(["check", "."]) == 64
        assert "belongs to another user" in capsys.readouterr().err
        os.chown(tmp_path / "work", 12345, 12345)
        assert main(["check", "."]) == 0, "as in a container, where all files belong to the user outside of it"


@pytest.mark.parametrize("key", ["view: [{}]", "crds: [{}]", "admissionPolicies: {}"])
@pytest.mark.parametrize("path", ["../secrets", "/proc/self", "/dev/zero", "link", "/"])
def test_a_configuration_names_no_files_outside_of_its_repository(
    key: str, path: str, tree: Path, capsys: Capture
) -> None:
    (tree.parent / "secrets").mkdir()
    (tree / "link").symlink_to("../secrets")
    (tree / ".modelgate.yaml").write_text(key.format(path))
    assert main(["check", "manifests"]) == 64
    assert f"is outside of {tree}" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["exclude: ['*']", "exclude: ['model*']"])
def test_nothing_left_to_check_is_a_failure(name: str, tree: Path, capsys: Capture) -> None:
    (tree / "manifests" / "cache.yaml").unlink()
    (tree / "manifests" / "model.yaml").write_text(BAD)
    (tree / "manifests" / "map.yaml").write_text("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: m}\n")
    (tree / ".modelgate.yaml").write_text(name)
    for command in ("check", "normalise", "explain", "scan"):
        assert main([command, "manifests"]) == 2, command
        assert "nothing is left to judge: " in capsys.readouterr().err


def test_what_weakens_the_check_is_told(tree: Path, capsys: Capture) -> None:
    text = "failOn: never\nprofile: audit\nexclude: [vendor]\nignore: [LK305]\nreferences: open\nview: [manifests]\n"
    (tree / ".modelgate.yaml").write_text(text)
    main(["check", "--quiet", "-o", "json", "manifests"])
    told = "failOn: never; profile: audit; references: open; exclude: vendor; ignore: LK305"
    assert f"this configuration makes the check weaker: {told}" in capsys.readouterr().err
    main(["check", "--fail-on=error", "--profile=standard", "--references=closed", "manifests"])
    assert "makes the check weaker: exclude: vendor; ignore: LK305" in capsys.readouterr().err


# Programs and code


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
    assert "egular file" in (err := capsys.readouterr().err) or "leads out of its repository" in err


def test_a_configuration_that_does_not_count_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    monkeypatch.chdir(tmp_path)
    Path(".modelgate.yaml").write_text("failOn: warning\n")
    Path("m.yaml").write_text(GOOD)
    assert main(["check", "--untrusted", "m.yaml"]) == 0
    assert ".modelgate.yaml: not used: the files are a stranger's (--untrusted)" in capsys.readouterr().err
