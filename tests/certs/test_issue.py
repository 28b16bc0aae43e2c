import pytest
from cryptography import x509

from certs.authority import Authority
from certs.credentials import Credentials
from certs.errors import DirectoryError
from certs.issue import Leaf, issue
from certs.lifetimes import Lifetimes
from certs.names import LOCAL, Names
from tests.certs.material import HOUR, NOW, SERVICE, ca

LIFETIMES = Lifetimes()


def files_of(directory):
    return {name: (directory / name).read_bytes() for name in ("tls.crt", "tls.key", "ca.crt")}


def test_a_leaf_is_issued_once_and_kept(tmp_path):
    authority = ca()
    assert issue(tmp_path, authority, SERVICE, NOW) == "there was none"
    before = files_of(tmp_path)
    assert issue(tmp_path, authority, SERVICE, NOW + HOUR) == ""
    assert files_of(tmp_path) == before
    assert before["ca.crt"] == authority.bundle


def test_a_leaf_is_renewed_with_a_third_of_its_life_left(tmp_path):
    authority = ca()
    issue(tmp_path, authority, SERVICE, NOW)
    due = NOW + LIFETIMES.leaf - LIFETIMES.leaf_renewed_before
    assert issue(tmp_path, authority, SERVICE, due) == ""
    assert issue(tmp_path, authority, SERVICE, due + HOUR) == "the one before ends on 2031-05-13 07:08:09 UTC"
    assert issue(tmp_path, authority, SERVICE, due + HOUR) == ""


def test_a_leaf_that_ends_with_its_ca_is_not_renewed_over_and_over(tmp_path):
    authority = ca()
    late = NOW + LIFETIMES.ca - HOUR
    assert issue(tmp_path, authority, SERVICE, late) == "there was none"
    assert issue(tmp_path, authority, SERVICE, late + HOUR / 2) == ""


def test_more_names_are_a_reason_and_fewer_names_are_not(tmp_path):
    authority = ca()
    issue(tmp_path, authority, SERVICE | LOCAL, NOW)
    assert issue(tmp_path, authority, SERVICE, NOW) == ""
    assert issue(tmp_path, authority, SERVICE | Names.of("10.0.0.1"), NOW) == "it lacked a name"


def test_another_ca_is_a_reason(tmp_path):
    issue(tmp_path, ca(), SERVICE, NOW)
    other = ca()
    assert issue(tmp_path, other, SERVICE, NOW) == "another CA signs now"
    leaf = x509.load_pem_x509_certificate(files_of(tmp_path)["tls.crt"])
    leaf.verify_directly_issued_by(other.certificate)


def test_another_key_under_the_same_subject_is_a_reason(tmp_path):
    first = ca()
    issue(tmp_path, first, SERVICE, NOW)
    twin = Authority(first.certificate, ca().key, first.bundle)
    directory = tmp_path / "twin"
    issue(directory, twin, SERVICE, NOW)
    assert issue(directory, first, SERVICE, NOW) == "another CA signs now"


def test_a_bundle_that_grew_is_put_beside_the_same_leaf(tmp_path):
    authority = ca()
    issue(tmp_path, authority, SERVICE, NOW)
    before = files_of(tmp_path)
    stored = authority.credentials()
    grown = Authority.load(Credentials(stored.certificate, stored.key, stored.authorities + ca().bundle), NOW)
    assert issue(tmp_path, grown, SERVICE, NOW) == ""
    assert files_of(tmp_path) == before | {"ca.crt": grown.bundle}
    assert Leaf.read(tmp_path).issuer == authority.certificate


@pytest.mark.parametrize("name", ["tls.crt", "tls.key", "ca.crt"])
def test_a_missing_or_spoiled_file_is_made_anew(tmp_path, name):
    authority = ca()
    issue(tmp_path, authority, SERVICE, NOW)
    (tmp_path / name).write_bytes(b"")
    assert Leaf.read(tmp_path) is None
    assert issue(tmp_path, authority, SERVICE, NOW) == "there was none"
    assert all(files_of(tmp_path).values())


def test_a_directory_that_cannot_be_written_is_named(tmp_path):
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(DirectoryError, match=r"directory .*file/tls: \[Errno 20\] Not a directory"):
        issue(tmp_path / "file" / "tls", ca(), SERVICE, NOW)
