"""A token of another ServiceAccount, for a container that may do less than its pod's own account.

The directory has the layout in which Kubernetes mounts a pod's own token, so that every client library finds it in the
usual place and takes up a new one: ``token``, and in ``ca.crt`` whom to trust about the API server.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

from certs import files
from certs.api import Api
from certs.errors import ApiCallError, StoreError

__all__ = ["Account", "provide"]

# An hour, as for the tokens of pods: nobody can revoke one short of deleting the account.
_LIFETIME = timedelta(hours=1)
_TOKEN, _CA, _RENEW = "token", "ca.crt", "renew-at"


@dataclass(frozen=True, slots=True)
class Account:
    """A ServiceAccount."""

    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}"

    def request(self, api: Api) -> tuple[str, datetime]:
        """A new token, and when to ask for the next: with a third of its life left, of which the API server decides."""
        path = f"/api/v1/namespaces/{self.namespace}/serviceaccounts/{self.name}/token"
        spec = {"expirationSeconds": int(_LIFETIME.total_seconds())}
        answer = api.create(path, {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": spec})
        try:
            end = datetime.fromisoformat(answer["status"]["expirationTimestamp"])
            return answer["status"]["token"], end - timedelta(seconds=answer["spec"]["expirationSeconds"]) / 3
        except (KeyError, TypeError, ValueError) as error:
            raise ApiCallError(0, f"POST {path}: an answer without token or end: {error}") from error


def provide(directory: Path, account: Account, api: Api, now: datetime) -> str:
    """Put a token into ``directory`` unless the one there is good; the reason for a new one, else "".

    Raises:
        ApiCallError: the API server refuses, or cannot be reached.
        StoreError: the directory cannot be written.
    """
    trusted = api.authorities()
    try:
        reason = _stale(files.read(directory, (_TOKEN, _CA, _RENEW)), trusted, now)
        if reason:
            token, renew = account.request(api)
            files.replace(directory, {_TOKEN: token.encode(), _CA: trusted, _RENEW: renew.isoformat().encode()})
    except OSError as error:
        raise StoreError(f"directory {directory}: {error}") from error
    return reason


def _stale(found: dict[str, bytes], trusted: bytes, now: datetime) -> str:
    try:
        renew = datetime.fromisoformat(found[_RENEW].decode())
    except (KeyError, ValueError):
        return "there was none"
    if found.get(_CA) != trusted or not found.get(_TOKEN):
        return "the API server's CA is another"
    return "the one before ends soon" if now >= renew else ""
