"""Tokens of another ServiceAccount: renewed in time, and when the API server's CA is another."""

from datetime import timedelta

import pytest

from certs.errors import ApiServerError, DirectoryError
from certs.token import Account, provide
from tests.certs.material import NOW

ACCOUNT = Account("ns", "viewer")


class Issuer:
    """The API server's part, for the clock of a test: tokens of an hour. A real one answers in tests/e2e."""

    def __init__(self, seconds=3600):
        self.now, self.seconds, self.ca, self.calls = NOW, seconds, b"ca", []

    def authorities(self):
        return self.ca

    def create(self, path, body):
        self.calls.append(path)
        end = self.now + timedelta(seconds=self.seconds)
        status = {"token": f"token {len(self.calls)}", "expirationTimestamp": f"{end:%FT%TZ}"}
        return {**body, "spec": {"expirationSeconds": self.seconds}, "status": status}


def after(folder, issuer, seconds):
    issuer.now = NOW + timedelta(seconds=seconds)
    return provide(folder, ACCOUNT, issuer, issuer.now), (folder / "token").read_text()


def test_a_token_is_kept_for_two_thirds_of_its_life(tmp_path):
    issuer = Issuer()
    assert after(tmp_path, issuer, 0) == ("there was none", "token 1")
    assert after(tmp_path, issuer, 2399) == ("", "token 1")
    assert after(tmp_path, issuer, 2400) == ("the one before ends soon", "token 2")
    assert after(tmp_path, issuer, 4799) == ("", "token 2")
    assert issuer.calls == ["/api/v1/namespaces/ns/serviceaccounts/viewer/token"] * 2


def test_an_api_server_that_gives_tokens_for_less_time_is_asked_sooner(tmp_path):
    issuer = Issuer(seconds=600)
    assert after(tmp_path, issuer, 0) == ("there was none", "token 1")
    assert after(tmp_path, issuer, 400) == ("the one before ends soon", "token 2")


def test_a_new_ca_of_the_api_server_is_passed_on(tmp_path):
    issuer = Issuer()
    after(tmp_path, issuer, 0)
    issuer.ca = b"old and new"
    assert after(tmp_path, issuer, 1) == ("the API server's CA has changed", "token 2")
    assert (tmp_path / "ca.crt").read_bytes() == b"old and new"


def test_what_others_left_is_replaced_and_only_the_owner_reads_the_token(tmp_path):
    (tmp_path / "renew-at").write_text("soon")
    (tmp_path / "token").write_text("theirs")
    assert after(tmp_path, Issuer(), 0) == ("there was none", "token 1")
    assert (tmp_path / "token").resolve().stat().st_mode & 0o777 == 0o600


def test_an_answer_without_a_token_is_refused(tmp_path):
    issuer = Issuer()
    issuer.create = lambda _path, body: body
    with pytest.raises(ApiServerError, match="the response has no token or expiration time"):
        provide(tmp_path, ACCOUNT, issuer, NOW)
    assert list(tmp_path.iterdir()) == []


def test_a_directory_that_cannot_be_written_is_told(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(DirectoryError, match=f"directory {tmp_path}/file: "):
        provide(tmp_path / "file", ACCOUNT, Issuer(), NOW)
