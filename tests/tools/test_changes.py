"""A release is described by the files of changes/, which are joined into CHANGELOG.md."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools.release import changes


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "changes").mkdir()
    (tmp_path / "CHANGELOG.md").write_text("# Changelog\n\nAll changes.\n\n## 0.1.0 - 2026-01-01\n\n- The first.\n")
    (tmp_path / "changes" / "README.md").write_text("how to write one\n")
    return tmp_path


def write(root: Path, name: str, text: str) -> None:
    (root / "changes" / name).write_text(text)


def test_every_change_of_this_checkout_is_clear() -> None:
    assert changes.unclear() == []


def test_changes_become_the_first_section_and_their_files_go(root: Path) -> None:
    write(root, "b.gate.fixed.md", "A fault is\ngone.\n")
    write(root, "a.command.added.md", "A flag.\n")
    write(root, "c.command.added.md", "A format.\n")
    write(root, "d.ome.added.md", "A rule.\n")
    changes.join("0.2.0", "2026-02-01", root)
    assert (root / "CHANGELOG.md").read_text() == (
        "# Changelog\n\nAll changes.\n\n## 0.2.0 - 2026-02-01\n\n### Added\n\n"
        "#### OME\n\n- A rule.\n\n#### The command\n\n- A flag.\n- A format.\n\n"
        "### Fixed\n\n#### The gate\n\n- A fault is gone.\n\n## 0.1.0 - 2026-01-01\n\n- The first.\n"
    )
    assert [path.name for path in (root / "changes").iterdir()] == ["README.md"]


@pytest.mark.parametrize(
    ("name", "text", "reason"),
    [
        ("a.md", "A flag.", "the kind is one of added, changed"),
        ("a.better.md", "A flag.", "the kind is one of added, changed"),
        ("a.command.better.md", "A flag.", "the kind is one of added, changed"),
        ("a.added.md", "A flag.", "the subject is one of llmkube, llmaz"),
        ("a.kitchen.added.md", "A flag.", "the subject is one of llmkube, llmaz"),
        ("a.command.added.md", "\n", "0 words"),
        ("a.command.added.md", "word " * 26, "26 words"),
    ],
)
def test_an_unclear_change_is_refused_and_nothing_is_written(root: Path, name: str, text: str, reason: str) -> None:
    write(root, name, text)
    before = (root / "CHANGELOG.md").read_text()
    with pytest.raises(ValueError, match=reason):
        changes.join("0.2.0", "2026-02-01", root)
    assert (root / "CHANGELOG.md").read_text() == before
    assert len(changes.fragments(root)) == 1


def test_a_version_has_one_section(root: Path) -> None:
    write(root, "a.command.added.md", "A flag.")
    with pytest.raises(ValueError, match=r"has a section 0\.1\.0 already"):
        changes.join("0.1.0", "2026-02-01", root)


def test_a_section_has_a_change(root: Path) -> None:
    with pytest.raises(ValueError, match="no change"):
        changes.join("0.2.0", "2026-02-01", root)


def test_a_release_waits_for_its_changes(root: Path) -> None:
    assert changes.pending(root) == []
    write(root, "a.command.added.md", "A flag.")
    assert changes.pending(root) == [
        "changes/a.command.added.md: not in CHANGELOG.md; run python -m tools.release changes"
    ]
