"""A token of another ServiceAccount, for a container that needs fewer rights than its pod's account.

The directory is laid out as Kubernetes mounts the token of a pod, so that every client library finds and reloads it:
``token``, and the API server's CA in ``ca.crt``.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

from certs import files
from certs.api import Api
from certs.errors import ApiServerError, DirectoryError

# The shortest that an API server grants. A token ends with its account, also if one of the same name follows, of which
# nothing here is told: so long a server is refused at most.
_LIFETIME = timedelta(minutes=10)
_TOKEN, _CA, _RENEW = "token", "ca.crt", "renew-at"


@dataclass(frozen=True, slots=True)
class Account:
    """A ServiceAccount."""

    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}"

    def request(self, api: Api) -> tuple[str, datetime]:
        """Request a token; also returns when to renew it: with a third of the lifetime that the API server grants."""
        path = f"/api/v1/namespaces/{self.namespace}/serviceaccounts/{self.name}/token"
        spec = {"expirationSeconds": int(_LIFETIME.total_seconds())}
        answer = api.create(path, {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": spec})
        try:
            end = datetime.fromisoformat(answer["status"]["expirationTimestamp"])
            return answer["status"]["token"], end - timedelta(seconds=answer["spec"]["expirationSeconds"]) / 3
        except (KeyError, TypeError, ValueError) as error:
            raise ApiServerError(0, f"POST {path}: the response has no token or expiration time: {error}") from error


def provide(directory: Path, account: Account, api: Api, now: datetime) -> str:
    """Write a token into ``directory`` unless the one there is good; returns the reason, or "".

    Raises:
        ApiServerError: the API server refuses, or cannot be reached.
        DirectoryError: the directory cannot be written.
    """
    trusted = api.authorities()
    try:
        reason = _stale(files.read(directory, (_TOKEN, _CA, _RENEW)), trusted, now)
        if reason:
            token, renew = account.request(api)
            files.replace(directory, {_TOKEN: token.encode(), _CA: trusted, _RENEW: renew.isoformat().encode()})
    except OSError as error:
        raise DirectoryError(f"directory {directory}: {error}") from error
    return reason


def _stale(found: dict[str, bytes], trusted: bytes, now: datetime) -> str:
    try:
        renew = datetime.fromisoformat(found[_RENEW].decode())
    except (KeyError, ValueError):
        return "there was none"
    if found.get(_CA) != trusted or not found.get(_TOKEN):
        return "the API server's CA has changed"
    return "the one before ends soon" if now >= renew else ""
