"""The files of a folder, as people and kubelets lay it out."""

from pathlib import Path

import pytest

from webhook.manifests import folders


def found(folder: Path) -> list[str]:
    return [str(path.relative_to(folder)) for path in folders.files(folder)]


def test_a_folder_gives_its_files_sorted_and_a_file_gives_itself(tmp_path: Path) -> None:
    for name in ("b/2", "b/1", "a"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    assert found(tmp_path) == ["a", "b/1", "b/2"]
    assert folders.files(tmp_path / "a") == [tmp_path / "a"]


def test_a_config_map_may_be_mounted_with_paths_that_have_folders_in_them(tmp_path: Path) -> None:
    for version in ("..1", "..2"):
        (tmp_path / version / "llmkube" / "crds").mkdir(parents=True)
        (tmp_path / version / "llmkube" / "crds" / "models.yaml").touch()
        (tmp_path / version / "top.yaml").touch()
    (tmp_path / "..data").symlink_to("..2")
    for name in ("llmkube", "top.yaml"):
        (tmp_path / name).symlink_to(f"..data/{name}")
    assert found(tmp_path) == ["llmkube/crds/models.yaml", "top.yaml"]


def test_links_in_a_circle_or_into_the_void_lead_nowhere(tmp_path: Path) -> None:
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "a" / "b" / "file").touch()
    (tmp_path / "a" / "b" / "up").symlink_to("..")
    (tmp_path / "self").symlink_to("self")
    (tmp_path / "void").symlink_to("nowhere")
    assert found(tmp_path) == ["a/b/file"]


def test_a_folder_that_cannot_be_read_is_not_an_empty_one(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        folders.files(tmp_path / "nowhere")
