import multiprocessing
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path

import pytest

from certs.errors import StoreError
from certs.keeper import Keeper
from certs.lifetimes import Lifetimes
from certs.names import LOCAL
from certs.store import DirectoryStore
from tests.certs.material import NOW, ca


def keeper(directory: Path, now=NOW, name="tls") -> Keeper:
    return Keeper(directory / name, LOCAL, DirectoryStore(directory / "ca"), lambda: now)


def test_the_first_makes_the_ca_and_the_next_reads_it(tmp_path):
    made = keeper(tmp_path, name="a").look().state
    assert keeper(tmp_path, name="b").look().state.files() == made.files()


def test_a_write_after_another_is_refused_and_changes_nothing(tmp_path):
    store = DirectoryStore(tmp_path)
    assert store.write({"tls.crt": b"1"}, None)
    assert not store.write({"tls.crt": b"2"}, None)
    before = store.read()
    assert store.write({"tls.crt": b"3", "next.crt": b"4"}, before)
    assert not store.write({"tls.crt": b"5"}, before)
    assert store.read().files == {"tls.crt": b"3", "next.crt": b"4"}


def test_what_is_no_longer_written_is_no_longer_read(tmp_path):
    store = DirectoryStore(tmp_path)
    store.write({"tls.crt": b"1", "next.crt": b"2"}, None)
    store.write({"tls.crt": b"1"}, store.read())
    assert store.read().files == {"tls.crt": b"1"}


def made_in(directory: Path, name: int) -> bytes:
    return keeper(directory, name=f"tls-{name}").look().state.bundle


def test_threads_agree_on_one_ca(tmp_path):
    with ThreadPoolExecutor(8) as pool:
        assert len(set(pool.map(made_in, [tmp_path] * 8, range(8)))) == 1


def test_processes_agree_on_one_ca(tmp_path):
    with ProcessPoolExecutor(4, mp_context=multiprocessing.get_context("spawn")) as pool:
        assert len(set(pool.map(made_in, [tmp_path] * 4, range(4)))) == 1


@pytest.mark.parametrize(
    ("spoil", "complaint"),
    [
        (lambda d: (d / "tls.key").resolve().unlink(), "tls.key is missing or empty"),
        (lambda d: (d / "tls.key").write_bytes(b""), "tls.key is missing or empty"),
        (lambda d: (d / "tls.crt").write_bytes(b"x"), "tls.crt is not a PEM certificate"),
        (lambda d: (d / "tls.crt").write_bytes(b"x" * 65537), "tls.crt has 65537 bytes; the limit is 65536"),
        (lambda d: (d / "tls.key").write_bytes(ca().credentials().key), "tls.key is not the key of tls.crt"),
        (lambda d: (d / "ca.crt").write_bytes(ca().bundle), "ca.crt does not contain the certificate in tls.crt"),
    ],
)
def test_what_is_spoiled_is_refused_and_left_as_it_is(tmp_path, spoil, complaint):
    keeper(tmp_path).look()
    spoil(tmp_path / "ca")
    before = DirectoryStore(tmp_path / "ca").read()
    with pytest.raises(StoreError, match=rf"directory {tmp_path}/ca: {complaint}.*\. Correct or delete it\."):
        keeper(tmp_path).look()
    assert DirectoryStore(tmp_path / "ca").read() == before


def test_a_ca_that_was_put_there_by_hand_is_used(tmp_path):
    theirs = ca()
    (tmp_path / "ca").mkdir()
    for name, content in theirs.credentials().files().items():
        (tmp_path / "ca" / name).write_bytes(content)
    assert keeper(tmp_path).look().state.signer.certificate == theirs.certificate


def test_a_directory_rotates_as_a_cluster_does(tmp_path):
    first = keeper(tmp_path).look()
    lifetimes = Lifetimes()
    due = NOW + lifetimes.ca * 2 / 3
    assert keeper(tmp_path, due).look().state.coming
    later = keeper(tmp_path, due + lifetimes.uptake).look()
    assert later.leaf.issuer == later.state.signer.certificate != first.state.signer.certificate
    assert len(later.state.trusted) == 2
    assert len(keeper(tmp_path, due + lifetimes.uptake + lifetimes.retired).look().state.trusted) == 1


def test_a_place_that_cannot_be_written_is_named(tmp_path):
    (tmp_path / "ca").write_bytes(b"")
    with pytest.raises(StoreError, match=r"directory .*/ca: cannot be (read|written)"):
        keeper(tmp_path).look()
