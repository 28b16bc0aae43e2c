"""No program that a repository names runs, and no other repository than that of the checked files is asked."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from tests.cli.strangers import CACHE, CHANGED, commit, git
from webhook.cli import main
from webhook.cli.input.repository import Repository

Capture = pytest.CaptureFixture[str]


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
