"""A folder that only its user can write to."""

import os
import threading
from pathlib import Path

import pytest

from webhook.manifests.private import PrivateFolder, user_cache

LIMIT = 1000


@pytest.fixture
def folder(tmp_path: Path) -> PrivateFolder:
    found = PrivateFolder(tmp_path / "cache" / "modelgate")
    assert found.write("a", b"content")
    return found


def test_what_is_written_is_read_and_only_its_user_may_read_it(folder: PrivateFolder) -> None:
    assert folder.read("a", LIMIT) == b"content"
    assert folder.path.stat().st_mode & 0o777 == 0o700
    assert (folder.path / "a").stat().st_mode & 0o777 == 0o600


def test_an_absent_file_or_folder_is_read_as_none(tmp_path: Path, folder: PrivateFolder) -> None:
    assert folder.read("b", LIMIT) is None
    assert PrivateFolder(tmp_path / "none").read("a", LIMIT) is None


def test_a_file_over_the_limit_is_not_read(folder: PrivateFolder) -> None:
    assert folder.read("a", 6) is None
    assert folder.read("a", 7) == b"content"


@pytest.mark.parametrize("mode", [0o620, 0o602, 0o666])
def test_a_file_that_others_may_write_is_not_read(folder: PrivateFolder, mode: int) -> None:
    (folder.path / "a").chmod(mode)
    assert folder.read("a", LIMIT) is None


@pytest.mark.parametrize("mode", [0o770, 0o707, 0o777])
def test_a_folder_that_others_may_write_is_not_used(folder: PrivateFolder, mode: int) -> None:
    folder.path.chmod(mode)
    assert folder.read("a", LIMIT) is None
    assert not folder.write("b", b"more")
    assert not (folder.path / "b").exists()


def test_a_symbolic_link_is_not_followed(tmp_path: Path, folder: PrivateFolder) -> None:
    (folder.path / "link").symlink_to(folder.path / "a")
    assert folder.read("link", LIMIT) is None
    (tmp_path / "other").symlink_to(folder.path)
    linked = PrivateFolder(tmp_path / "other")
    assert linked.read("a", LIMIT) is None
    assert not linked.write("b", b"more")


def test_a_link_in_the_place_of_a_file_is_replaced_not_followed(tmp_path: Path, folder: PrivateFolder) -> None:
    target = tmp_path / "precious"
    target.write_bytes(b"mine")
    (folder.path / "b").symlink_to(target)
    assert folder.write("b", b"new")
    assert target.read_bytes() == b"mine"
    assert folder.read("b", LIMIT) == b"new"


@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir])
def test_what_is_not_a_file_is_not_read(folder: PrivateFolder, make: object) -> None:
    make(folder.path / "other")  # type: ignore[operator]
    assert folder.read("other", LIMIT) is None


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_what_another_user_owns_is_not_used(folder: PrivateFolder) -> None:
    os.chown(folder.path / "a", 65532, -1)
    assert folder.read("a", LIMIT) is None
    assert folder.write("c", b"content")
    os.chown(folder.path, 65532, -1)
    assert folder.read("c", LIMIT) is None
    assert not folder.write("d", b"more")


def test_a_place_that_cannot_be_written_is_not_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    assert not PrivateFolder(tmp_path / "file" / "modelgate").write("a", b"content")
    assert not PrivateFolder(Path("/proc/modelgate")).write("a", b"content")


def test_a_reader_finds_one_of_two_contents_whole(folder: PrivateFolder) -> None:
    contents = (b"a" * 100_000, b"b" * 100_000)
    folder.write("a", contents[0])
    writers = [
        threading.Thread(target=lambda each=each: [folder.write("a", each) for _ in range(50)]) for each in contents
    ]
    for writer in writers:
        writer.start()
    while any(writer.is_alive() for writer in writers):
        assert folder.read("a", 200_000) in contents
    assert [each.name for each in folder.path.iterdir()] == ["a"]


@pytest.mark.parametrize(
    ("environment", "path"),
    [
        ({"XDG_CACHE_HOME": "/c", "HOME": "/h"}, "/c/modelgate"),
        ({"XDG_CACHE_HOME": "relative", "HOME": "/h"}, "/h/.cache/modelgate"),
        ({"XDG_CACHE_HOME": "", "HOME": "/h"}, "/h/.cache/modelgate"),
        ({}, None),
    ],
)
def test_the_folder_is_where_the_specification_says(environment: dict[str, str], path: str | None) -> None:
    found = user_cache(environment)
    assert (None if found is None else str(found.path)) == path
