import multiprocessing
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path

import pytest

from certs.authority import CA_LIFETIME, Authority
from certs.credentials import Credentials
from certs.errors import StoreError
from certs.store import DirectoryStore, authority
from tests.certs.material import NOW, ca


class Late:
    """A store that another replica fills between our first look and our create: the race, without the luck."""

    def __init__(self, theirs: dict[str, bytes] | None) -> None:
        self.theirs, self.looks = theirs, 0

    def __str__(self) -> str:
        return "late store"

    def read(self) -> dict[str, bytes] | None:
        self.looks += 1
        return None if self.looks == 1 else self.theirs

    def create(self, _credentials: Credentials) -> bool:
        return False


def test_the_first_makes_the_ca_and_the_next_reads_it(tmp_path):
    store = DirectoryStore(tmp_path / "ca")
    made = authority(store, NOW)
    assert authority(DirectoryStore(tmp_path / "ca"), NOW).credentials() == made.credentials()


def test_who_comes_second_takes_the_ca_of_the_first():
    theirs = ca()
    assert authority(Late(theirs.credentials().files()), NOW).certificate == theirs.certificate


def test_a_ca_that_vanishes_at_once_is_reported():
    with pytest.raises(StoreError, match=r"late store: tls.crt is missing or empty\. Remove it to create a new CA"):
        authority(Late(None), NOW)


def made_in(directory: Path) -> bytes:
    return authority(DirectoryStore(directory), NOW).bundle


def test_threads_agree_on_one_ca(tmp_path):
    with ThreadPoolExecutor(8) as pool:
        assert len(set(pool.map(made_in, [tmp_path] * 8))) == 1


def test_processes_agree_on_one_ca(tmp_path):
    with ProcessPoolExecutor(4, mp_context=multiprocessing.get_context("spawn")) as pool:
        assert len(set(pool.map(made_in, [tmp_path] * 4))) == 1


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
    authority(DirectoryStore(tmp_path), NOW)
    spoil(tmp_path)
    before = DirectoryStore(tmp_path).read()
    with pytest.raises(StoreError, match=rf"directory {tmp_path}: {complaint}.*\. Remove it to create a new CA"):
        authority(DirectoryStore(tmp_path), NOW)
    assert DirectoryStore(tmp_path).read() == before


def test_an_expired_ca_is_refused_by_its_dates(tmp_path):
    authority(DirectoryStore(tmp_path), NOW)
    with pytest.raises(
        StoreError, match="valid from 2031-05-06 06:08:09 to 2032-05-05 07:08:09 UTC, and it is 2032-05"
    ):
        authority(DirectoryStore(tmp_path), NOW + CA_LIFETIME)


def test_a_ca_that_was_put_there_by_hand_is_used(tmp_path):
    theirs = ca()
    for name, content in theirs.credentials().files().items():
        (tmp_path / name).write_bytes(content)
    assert authority(DirectoryStore(tmp_path), NOW).certificate == theirs.certificate


def test_a_place_that_cannot_be_written_is_named(tmp_path):
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(StoreError, match=r"directory .*file/ca: cannot be (read|written)"):
        authority(DirectoryStore(tmp_path / "file" / "ca"), NOW)


def test_an_authority_is_made_only_once_it_is_needed(tmp_path, monkeypatch):
    authority(DirectoryStore(tmp_path), NOW)
    monkeypatch.setattr(Authority, "create", lambda _: pytest.fail("a second CA was made"))
    authority(DirectoryStore(tmp_path), NOW)
