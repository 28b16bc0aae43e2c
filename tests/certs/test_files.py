import stat
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from certs import files

NAMES = ("tls.crt", "tls.key")


def pair(number: int) -> dict[str, bytes]:
    return dict.fromkeys(NAMES, b"%d" % number * 2000)


def test_only_the_owner_reads_them(tmp_path):
    files.replace(tmp_path / "new", pair(1))
    assert stat.S_IMODE((tmp_path / "new").stat().st_mode) == 0o700
    for name in NAMES:
        assert stat.S_IMODE((tmp_path / "new" / name).stat().st_mode) == 0o600


def test_a_set_replaces_the_one_before_and_leaves_nothing_of_it(tmp_path):
    for number in range(3):
        files.replace(tmp_path, pair(number))
    assert files.read(tmp_path, NAMES) == pair(2)
    assert sorted(path.name for path in tmp_path.iterdir() if not path.name.startswith("..")) == list(NAMES)
    assert len(list(tmp_path.iterdir())) == len(NAMES) + 2  # the link and the directory it leads to


def test_files_put_there_by_hand_are_read_and_give_way(tmp_path):
    (tmp_path / "tls.crt").write_bytes(b"by hand")
    assert files.read(tmp_path, NAMES) == {"tls.crt": b"by hand"}
    files.replace(tmp_path, pair(1))
    assert (tmp_path / "tls.crt").read_bytes() == pair(1)["tls.crt"]


def test_nothing_is_read_where_nothing_is(tmp_path):
    assert files.read(tmp_path / "absent", NAMES) == {}


def test_of_many_creators_exactly_one_wins(tmp_path):
    with ThreadPoolExecutor(8) as pool:
        won = list(pool.map(lambda number: files.create(tmp_path, pair(number)), range(8)))
    assert won.count(True) == 1
    assert files.read(tmp_path, NAMES) == pair(won.index(True))
    assert len(list(tmp_path.iterdir())) == len(NAMES) + 2


def test_a_reader_never_sees_two_sets_mixed(tmp_path):
    files.replace(tmp_path, pair(0))
    done = threading.Event()

    def write() -> None:
        for number in range(200):
            files.replace(tmp_path, pair(number % 10))
        done.set()

    with ThreadPoolExecutor(1) as pool:
        written = pool.submit(write)
        while not done.is_set():
            found = files.read(tmp_path, NAMES)
            assert found["tls.crt"] == found["tls.key"]
        written.result()


def test_a_directory_that_cannot_be_made_is_an_error(tmp_path):
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(NotADirectoryError):
        files.replace(tmp_path / "file" / "below", pair(1))
