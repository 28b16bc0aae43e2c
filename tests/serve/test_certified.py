"""Callers by their certificate, and by the group of a review, without a connection."""

from __future__ import annotations

import asyncio
import json
import ssl
from pathlib import Path
from typing import Any

import pytest
from starlette.types import Scope

from tests.serve.certificates import ClientAuthority
from webhook.admission.errors import Forbidden, Unauthenticated
from webhook.serve.callers import ALL_GROUPS, Anyone, Certified, client_ca, covered
from webhook.serve.callers.caller import TRANSPORT

CERTIFICATE = {
    "subject": ((("organizationName", "system"),), (("commonName", "apiserver"),)),
    "subjectAltName": (("DNS", "kube.example"),),
}


class Transport:
    def __init__(self, certificate: dict[str, Any] | None) -> None:
        self._certificate = certificate

    def get_extra_info(self, name: str) -> Any:
        return {"peercert": self._certificate}[name]


def scope(certificate: dict[str, Any] | None) -> Scope:
    return {TRANSPORT: Transport(certificate)}


@pytest.mark.parametrize(
    ("names", "sent", "error", "sentence"),
    [
        ((), scope(CERTIFICATE), None, ""),
        ((), scope({"subject": ()}), None, ""),
        (("apiserver", "other"), scope(CERTIFICATE), None, ""),
        (("kube.example",), scope(CERTIFICATE), None, ""),
        (("system",), scope(CERTIFICATE), Forbidden, "its names are: apiserver, kube.example"),
        (("apiserver",), scope({"subject": ()}), Forbidden, "its names are: none"),
        ((), scope(None), Unauthenticated, "with a certificate"),
        ((), scope({}), Unauthenticated, "with a certificate"),
        ((), {}, Unauthenticated, "with a certificate"),
    ],
)
def test_a_caller_is_admitted_by_its_certificate_and_one_of_its_names(
    names: tuple[str, ...], sent: Scope, error: type[Exception] | None, sentence: str
) -> None:
    callers = Certified(names)
    if error is None:
        assert callers.admitted(sent) == asyncio.run(callers.admit(sent)) == ALL_GROUPS
        return
    assert callers.admitted(sent) is None
    with pytest.raises(error, match=sentence):
        asyncio.run(callers.admit(sent))


def test_without_a_limit_any_client_may_ask() -> None:
    assert Anyone().admitted({}) == asyncio.run(Anyone().admit({})) == ALL_GROUPS


def test_a_client_is_asked_for_a_certificate_of_the_ca_and_no_session_is_resumed(tmp_path: Path) -> None:
    ClientAuthority.create(tmp_path)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    client_ca(context, tmp_path / "clients.crt")
    (ca,) = context.get_ca_certs()
    assert (("commonName", "clients"),) in ca["subject"]
    assert context.verify_mode is ssl.CERT_OPTIONAL
    assert context.options & ssl.OP_NO_TICKET


def test_a_certificate_that_is_not_of_a_ca_is_refused(tmp_path: Path) -> None:
    certificate, _ = ClientAuthority.create(tmp_path).client("apiserver")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    with pytest.raises(ssl.SSLError, match=r"apiserver\.crt holds no CA certificate"):
        client_ca(context, certificate)


@pytest.mark.parametrize(
    ("review", "refused"),
    [
        ({"request": {"resource": {"group": "batch"}}}, True),
        ({"request": {"resource": {}}}, True),
        ({"request": {"resource": {"group": "apps"}}}, False),
        ({"request": {"resource": {"group": ["apps"]}}}, False),
        ({"request": {"resource": "apps"}}, False),
        ({"request": ["resource"]}, False),
        (["request"], False),
    ],
)
def test_a_caller_for_one_group_may_not_ask_about_another_and_the_decoder_refuses_what_is_not_a_review(
    review: Any, refused: bool
) -> None:
    body = json.dumps(review).encode()
    covered(ALL_GROUPS, body)
    if refused:
        covered(frozenset({"batch", "*"}), body)
        with pytest.raises(Forbidden, match="the token is for API group apps, but the review is about"):
            covered(frozenset({"apps"}), body)
    else:
        covered(frozenset({"apps"}), body)


def test_what_is_quoted_of_a_stranger_is_cut() -> None:
    with pytest.raises(Forbidden, match=r'about "g{80}"$'):
        covered(frozenset({"apps"}), json.dumps({"request": {"resource": {"group": "g" * 200}}}).encode())
    many = {"subjectAltName": tuple(("DNS", f"n{number:03}") for number in range(100))}
    with pytest.raises(Forbidden) as error:
        asyncio.run(Certified(["a"]).admit(scope(many)))
    shown = str(error.value).partition("its names are: ")[2]
    assert (len(shown), shown[:10]) == (200, "n000, n001")


def test_a_body_that_is_not_json_is_left_to_the_decoder() -> None:
    covered(frozenset({"apps"}), b"{")
    with pytest.raises(Forbidden, match=r'is for API group apps, batch, but the review is about "core\.example"'):
        covered(frozenset({"batch", "apps"}), b'{"request":{"resource":{"group":"core.example"}}}')
