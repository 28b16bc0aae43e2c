"""Fixtures of several modules of this folder."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.strangers import CACHE, commit, git


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
