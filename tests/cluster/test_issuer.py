"""The keys of the API server: its two documents, and what is said where they are missing."""

from collections.abc import Mapping
from typing import Any

import pytest

from webhook.admission.errors import Unavailable
from webhook.cluster.api import ApiError
from webhook.cluster.connection import ApiServerIssuer

DOCUMENTS = {
    "/.well-known/openid-configuration": {"issuer": "https://kubernetes.default.svc"},
    "/openid/v1/jwks": {"keys": []},
}


def test_the_issuer_and_its_keys_are_read() -> None:
    assert ApiServerIssuer(DOCUMENTS.__getitem__).read() == ("https://kubernetes.default.svc", {"keys": []})


def test_an_api_server_without_an_issuer_says_so() -> None:
    with pytest.raises(Unavailable, match="publishes no issuer"):
        ApiServerIssuer(lambda _path: {}).read()


def test_a_refusal_is_passed_on() -> None:
    def refuse(_path: str) -> Mapping[str, Any]:
        raise ApiError(403, "Forbidden", "no")

    with pytest.raises(Unavailable, match="403 Forbidden: no"):
        ApiServerIssuer(refuse).read()
