"""The keys that an API server signs tokens with, as it publishes them (OpenID Connect discovery).

Every service account may read them: Kubernetes binds ``system:service-account-issuer-discovery`` to all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

from webhook.admission.errors import NotReady, Unavailable
from webhook.cluster.api import ApiError, Reader
from webhook.cluster.connection import NoConnection, connect

__all__ = ["ApiServerIssuer", "issuer"]

TIMEOUT: Final = 5.0
"""Seconds for one answer: two small documents that the API server holds in memory."""


ACCEPT: Final = "application/json, application/jwk-set+json"
"""The API server answers 406 to a request for its keys that accepts JSON only."""


class ApiServerIssuer:
    """Reads the issuer's name and keys from the API server itself, whatever address the issuer's name is."""

    def __init__(self, get: Callable[[str], Mapping[str, Any]]) -> None:
        self._get = get

    def read(self) -> tuple[str, Mapping[str, Any]]:
        """The issuer's name and its JWKS.

        Raises:
            Unavailable: the API server does not answer, or not with these documents.
        """
        try:
            document = self._get("/.well-known/openid-configuration")
            return str(document["issuer"]), self._get("/openid/v1/jwks")
        except KeyError:
            raise Unavailable("the API server publishes no issuer") from None
        except ApiError as error:
            raise Unavailable(str(error)) from None


def issuer(kubeconfig: Path | None) -> ApiServerIssuer:
    """The issuer of the cluster that :func:`webhook.cluster.connection.connect` finds.

    Raises:
        NotReady: no valid configuration for a connection was found.
    """
    try:
        reader = Reader(connect(kubeconfig))
    except (NoConnection, OSError) as error:
        raise NotReady(f"cannot connect to the API server: {error}") from None
    return ApiServerIssuer(lambda path: reader.document(path, TIMEOUT, ACCEPT) or {})
