"""Fixtures of several modules of this folder."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.strangers import CACHE, commit, git
from tests.cli.what_if import MODEL, S3, SHARED


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


@pytest.fixture
def model_tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two kinds in two namespaces: an object that the next release refuses, and one that only it accepts."""
    folder = tmp_path / "tree"
    folder.mkdir()
    for name, text in {"amd": MODEL, "s3": S3, "shared": SHARED}.items():
        (folder / f"{name}.yaml").write_text(text)
    monkeypatch.chdir(folder)
    return folder
