"""What is read of a Git repository: commits, files at paths, links, and what cannot be read."""

from __future__ import annotations

import os
import shutil
import subprocess
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from tests.cli.strangers import CACHE, CHANGED, commit, git
from webhook.admission.errors import SettingsError
from webhook.cli.input import repository as module
from webhook.cli.input.repository import Commit, Entry, Repository, surroundings
from webhook.manifests.documents import Document


@pytest.fixture
def here(tree: Path) -> Repository:
    return Repository.at(tree)


@pytest.fixture
def base(here: Repository) -> Commit:
    return here.commit("base")


def refusal(call: Any, *given: Any) -> str:
    with pytest.raises(SettingsError) as error:
        call(*given)
    return str(error.value)


def test_the_repository_of_the_current_folder_counts_unless_the_paths_are_elsewhere(
    tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = tmp_path / "other"
    other.mkdir()
    git(other, "init", "-q", ".")
    (other / "a.yaml").write_text(CACHE)
    assert Repository.of([]) == Repository(tree, tree / ".git")
    assert Repository.of([Path("manifests")]).top == Repository.of([Path("-"), Path("manifests")]).top == tree
    assert Repository.of([Path("-")]).top == tree
    assert Repository.of([other]).top == Repository.of([other / "a.yaml"]).top == other
    monkeypatch.chdir(tmp_path)
    assert Repository.of([tree / "manifests" / "cache.yaml"]).top == tree
    assert f"{tmp_path} is in no Git repository" in refusal(Repository.of, [])
    assert Repository.of([Path("-"), tree]).top == tree


def test_a_revision_is_a_commit_by_any_of_its_names(here: Repository, tree: Path) -> None:
    first = git(tree, "rev-parse", "base")
    (tree / "manifests" / "cache.yaml").write_text(CHANGED)
    commit(tree)
    git(tree, "tag", "-a", "-m", "t", "v1", "base")
    for name in ("base", "v1", first, "HEAD~1", "HEAD^"):
        assert here.commit(name) == Commit(here, name, first)
    for name in ("none", "base:manifests", "--all", ""):
        text = refusal(here.commit, name)
        assert f"Git knows no commit {name!r} there" in text
        assert "shallow" not in text


def test_a_place_is_relative_to_the_top_and_not_in_another_repository(
    here: Repository, tree: Path, tmp_path: Path
) -> None:
    (tmp_path / "link").symlink_to(tree)
    (tree / "inner" / "deep").mkdir(parents=True)
    (tree / "manifests" / "alias").symlink_to("../inner")
    assert here.place(tree) == here.place(tmp_path / "link") == ""
    assert here.place(Path("manifests/../manifests/none.yaml")) == "manifests/none.yaml"
    assert here.place(tmp_path / "link" / "manifests") == "manifests"
    assert here.place(Path("manifests/alias/deep")) == "manifests/alias/deep", "a link in the tree is not followed"
    assert here.place(tmp_path) is None
    git(tree / "inner", "init", "-q", ".")
    assert here.place(tree / "inner") is here.place(tree / "inner" / "deep") is None
    assert here.place(tree / "manifests") == "manifests"


def test_files_are_those_at_a_path_or_below_it(base: Commit, tree: Path, tmp_path: Path) -> None:
    blob = git(tree, "rev-parse", "base:manifests/cache.yaml")
    one = Entry("100644", blob, "manifests/cache.yaml")
    assert base.files(tree) == base.files(tree / "manifests") == base.files(tree / one.path) == [one]
    assert base.files(tree / "none", tree / "manifests") == base.files(tree / "none", tree) == [one]
    assert base.files() == base.files(tree / "none") == []
    assert "is not in the repository" in refusal(base.files, tree / "manifests", tmp_path)


def test_names_of_files_are_not_patterns(tree: Path, here: Repository) -> None:
    (tree / "m*").mkdir()
    (tree / "m*" / "a\tb\nc.yaml").write_text("a: 1\n")
    (tree / "z.yaml").write_text("b: 2\n")
    commit(tree)
    head = here.commit("HEAD")
    assert [entry.path for entry in head.files(tree / "m*")] == ["m*/a\tb\nc.yaml"]
    assert [*head.read(head.files(tree / "m*", tree / "z.yaml"))] == [
        ("HEAD:m*/a\tb\nc.yaml", b"a: 1\n"),
        ("HEAD:z.yaml", b"b: 2\n"),
    ]


def test_only_regular_files_are_read_also_those_that_can_be_run(tree: Path, here: Repository) -> None:
    (tree / "run").write_text("")
    (tree / "run").chmod(0o755)
    (tree / "link").symlink_to("run")
    commit(tree)
    head = here.commit("HEAD")
    assert sorted(entry.mode for entry in head.files(tree)) == ["100644", "100755", "120000"]
    assert [name for name, _ in head.read(head.files(tree))] == ["HEAD:manifests/cache.yaml", "HEAD:run"]
    assert [*head.read([])] == []
    assert "HEAD:link is a symbolic link, which is not followed there" in refusal(head.contents, tree / "link")


def test_contents_are_what_the_commit_has_at_a_path(base: Commit, tree: Path, tmp_path: Path) -> None:
    (tree / "manifests" / "cache.yaml").write_text(CHANGED)
    whole = base.contents(tree / "manifests")
    assert whole is not None
    assert (whole.name, whole.files) == ("base:manifests", (("base:manifests/cache.yaml", CACHE.encode()),))
    assert base.contents(tree / "none") is base.contents(tmp_path) is None


def test_what_is_missing_in_the_clone_is_an_error(base: Commit, tree: Path) -> None:
    (entry,) = base.files(tree)
    gone = entry._replace(id="0" * 40)
    folder = git(tree, "rev-parse", "base:manifests")
    for one in (gone, entry._replace(id=folder)):
        text = refusal(lambda one=one: [*base.read([entry, one])])
        assert "base:manifests/cache.yaml is not in this clone: fetch it without a filter" in text
    missing = Commit(base.repository, "lost", "0" * 40)
    text = refusal(missing.files, tree)
    assert "Git cannot read lost: fatal: not a tree object" in text


def test_a_path_that_head_has_and_the_commit_has_not_is_refused(base: Commit, tree: Path, tmp_path: Path) -> None:
    base.must_not_lack(tree / "none.yaml")
    base.must_not_lack(tmp_path)
    (tree / "new.yaml").write_text("a: 1\n")
    base.must_not_lack(tree / "new.yaml")
    commit(tree)
    assert "new.yaml is not at base" in refusal(base.must_not_lack, tree / "new.yaml")


def test_a_commit_mentions_a_name_in_its_files_in_any_case(base: Commit, tree: Path) -> None:
    (tree / "manifests" / "cache.yaml").write_text("nothing")
    assert base.mentions(["AIMMODELcache"])
    assert base.mentions(["none", "hf://org"])
    assert not base.mentions(["none", "o.g/model"])
    assert not base.mentions([])
    assert not base.mentions(["--all"])
    (tree / "binary").write_bytes(b"\0nowhere-else")
    commit(tree)
    assert not base.repository.commit("HEAD").mentions(["nowhere-else"])


def test_a_document_comes_from_its_file_and_its_kustomization(base: Commit, tree: Path) -> None:
    alone = Document(str(tree / "manifests" / "cache.yaml"), 1, {})
    assert base.origin(alone) == ("base:manifests/cache.yaml", None)
    assert base.origin(replace(alone, built=tree / "manifests")) == ("base:manifests/cache.yaml", Path("manifests"))
    assert base.origin(replace(alone, built=tree.parent))[1] is None


@pytest.mark.parametrize("kind", ["missing", "slow"])
def test_without_git_or_with_one_that_hangs_there_is_an_answer(
    kind: str, here: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "bin").mkdir()
    if kind == "slow":
        (tmp_path / "bin" / "git").write_text("#!/bin/sh\nexec /bin/sleep 30\n")
        (tmp_path / "bin" / "git").chmod(0o755)
        monkeypatch.setattr(module, "_SECONDS", 0.1)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    text = "git is not installed" if kind == "missing" else "git takes longer than 0.1 s"
    assert text in refusal(here.commit, "base")


def test_the_surroundings_of_git_have_no_relative_folder_and_nothing_else(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", f"bin:/usr/bin::{os.curdir}:/bin")
    monkeypatch.setenv("GIT_DIR", "/x")
    assert surroundings(A="b") == {"PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8", "A": "b"}
    monkeypatch.delenv("PATH")
    assert surroundings()["PATH"] == os.defpath


def test_git_is_run_with_the_settings_that_switch_programs_off(
    here: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each of them is a line of defence of its own: a later Git may run what this one does not."""
    runs: list[Any] = []
    run = subprocess.run

    def seen(command: list[str], **given: Any) -> Any:
        runs.append((command, given["env"]))
        return run(command, **given)

    monkeypatch.setattr(subprocess, "run", seen)
    Repository.at(here.top)
    here.commit("base").mentions(["a"])
    (opened, its), (asked, own), (searched, _) = runs
    settings = {
        *("safe.bareRepository=explicit", "protocol.allow=never", "core.alternateRefsCommand=false"),
        *("core.askPass=false", "core.fsmonitor=false", f"core.hooksPath={os.devnull}", "core.pager=cat"),
        *("core.sshCommand=false", "credential.helper="),
    }
    assert {"--no-recurse-submodules", "--literal-pathspecs"} <= {*searched}
    for command in (opened, asked, searched):
        assert {value for flag, value in pairwise(command) if flag == "-c"} == settings
        assert command[:2] == ["git", "--no-pager"]
    assert asked[-2:] == ["--end-of-options", "base^{commit}"]
    assert {f"--git-dir={here.folder}", f"--work-tree={here.top}", "--literal-pathspecs"} <= {*asked}
    never = {"GIT_ALLOW_PROTOCOL": "none", "GIT_NO_LAZY_FETCH": "1", "GIT_NO_REPLACE_OBJECTS": "1"}
    never |= {"GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0"}
    assert never.items() <= its.items()
    assert its["GIT_CEILING_DIRECTORIES"] == str(here.top.parent)
    assert "GIT_CONFIG_GLOBAL" not in its
    alone = {"GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.devnull, "HOME": "/"}
    assert own == {**surroundings(), **never, **alone}


@pytest.mark.parametrize(
    ("name", "kept"), [("HOME", True), ("XDG_CONFIG_HOME", True), ("SUDO_UID", True), ("USER", False)]
)
def test_only_the_question_of_the_owner_sees_the_configuration_of_the_user(
    name: str, kept: bool, here: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[dict[str, str]] = []
    run = subprocess.run
    for each in ("HOME", "XDG_CONFIG_HOME", "SUDO_UID"):
        monkeypatch.delenv(each, raising=False)
    monkeypatch.setattr(subprocess, "run", lambda command, **given: seen.append(given["env"]) or run(command, **given))
    monkeypatch.chdir(tmp_path)
    for value in (str(tmp_path / "home"), "", str(here.top / "home")):
        monkeypatch.setenv(name, value)
        Repository.at(here.top)
    assert [environment.get(name) for environment in seen] == [str(tmp_path / "home") if kept else None, None, None]


def test_a_folder_that_git_does_not_open_is_told_with_its_reason(tmp_path: Path) -> None:
    (tmp_path / "a" / ".git").mkdir(parents=True)
    text = refusal(Repository.at, tmp_path / "a")
    assert f"Git does not open {tmp_path / 'a'}: fatal: not a git repository" in text
    assert len(text) < 400


def test_the_repository_of_a_linked_tree_and_of_a_submodule_names_its_tree(tree: Path, tmp_path: Path) -> None:
    git(tree, "worktree", "add", "-q", "--detach", str(tmp_path / "linked"))
    outer = tmp_path / "outer"
    git(tmp_path, "init", "-q", str(outer))
    git(outer, "submodule", "--quiet", "add", str(tree), "sub")
    for top in (tmp_path / "linked", outer / "sub"):
        assert Repository.at(top).top == top
    for stolen in ("linked", "outer/sub"):
        copy = tmp_path / "copy"
        copy.mkdir()
        shutil.copy(tmp_path / stolen / ".git", copy / ".git")
        if stolen == "linked":
            assert "which is not the repository of this folder" in refusal(Repository.at, copy)
        shutil.rmtree(copy)
    (tmp_path / "copy").mkdir()
    (tmp_path / "copy" / ".git").write_text(f"gitdir: {outer / '.git' / 'modules' / 'sub'}\n")
    assert "which is not the repository of this folder" in refusal(Repository.at, tmp_path / "copy")


def test_a_repository_behind_a_link_is_that_of_the_tree_that_it_names(tree: Path, tmp_path: Path) -> None:
    shutil.move(tree / ".git", tmp_path / "store")
    (tree / ".git").symlink_to(tmp_path / "store")
    assert "which is not the repository of this folder" in refusal(Repository.at, tree)
    git(tmp_path / "store", "config", "core.worktree", str(tree))
    assert Repository.at(tree) == Repository(tree, tmp_path / "store")


def test_a_repository_that_names_its_tree_in_no_text_is_refused(tree: Path, tmp_path: Path) -> None:
    git(tree, "worktree", "add", "-q", "--detach", str(tmp_path / "linked"))
    for content in (b"\xff", bytes(tmp_path / "linked" / "other")):
        (tree / ".git" / "worktrees" / "linked" / "gitdir").write_bytes(content)
        assert "which is not the repository of this folder" in refusal(Repository.at, tmp_path / "linked")


@pytest.mark.parametrize(("words", "reason"), [("", "no reason is given"), ("printf '\\377 a' >&2; ", "\ufffd a")])
def test_a_git_that_gives_no_reason_or_not_in_a_text_is_told_so(
    words: str, reason: str, tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "git").write_text(f"#!/bin/sh\n{words}exit 1\n")
    (tmp_path / "bin" / "git").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    assert refusal(Repository.at, tree).endswith(f"Git does not open {tree}: {reason}")
