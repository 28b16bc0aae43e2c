"""A pod connects without the client library, verifies the API server, and sends the token of the moment."""

import os
import subprocess
import sys
from datetime import UTC, datetime

import pytest

from certs.authority import Authority
from tests.certs.pod import of_a_pod
from tests.shared import ROOT
from webhook.cluster.api import Reader, Unreachable
from webhook.cluster.connection import NoConnection, connect


@pytest.fixture
def in_a_pod(tmp_path, monkeypatch):
    monkeypatch.setattr("webhook.cluster.connection.ACCOUNT", tmp_path)
    with of_a_pod(tmp_path, monkeypatch) as asked:
        yield asked


def test_the_token_is_read_for_each_request(in_a_pod, tmp_path):
    reader = Reader(connect())
    assert reader.document("/version") == {}
    (tmp_path / "token").write_text("second\n")
    assert reader.document("/version") == {}
    assert in_a_pod == [("/version", f"Bearer {token}", b"") for token in ("first", "second")]


@pytest.mark.usefixtures("in_a_pod")
def test_without_a_token_and_with_a_server_of_another_ca_there_is_no_answer(tmp_path):
    reader = Reader(connect())
    (tmp_path / "token").unlink()
    with pytest.raises(Unreachable, match="no credentials"):
        reader.document("/version")
    with pytest.raises(NoConnection, match="/token"):
        connect()
    (tmp_path / "token").write_text("t")
    (tmp_path / "ca.crt").write_bytes(Authority.create(datetime.now(UTC)).bundle)
    with pytest.raises(Unreachable, match="certificate verify failed"):
        Reader(connect()).document("/version")


@pytest.mark.parametrize(
    ("modules", "unused"),
    [
        ("webhook.cli.serve", {"kubernetes", "requests", "oauthlib", "celpy", "lark", "reconciler"}),
        (
            "webhook.cli.reconcile",
            {"kubernetes", "requests", "oauthlib", "celpy", "lark", "pydantic", "cryptography", "webhook.vap.models"},
        ),
    ],
)
def test_gate_and_reconciler_do_not_import_what_they_do_not_need_to_start(modules: str, unused: set[str]) -> None:
    program = (
        f"import sys, {modules}; from webhook import catalog; catalog.load(); "
        f"sys.exit(sorted({set(unused)!r} & sys.modules.keys()))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, env=os.environ, capture_output=True, text=True, check=False
    )
    assert done.stderr == "[]\n"
