"""The store of the CA, which all replicas share."""

from __future__ import annotations

import base64
from datetime import datetime
from http import HTTPStatus
from pathlib import Path
from typing import Any, Protocol

from certs import files
from certs.api import Api
from certs.authority import Authority
from certs.credentials import CA_CRT, TLS_CRT, TLS_KEY, Credentials
from certs.errors import ApiServerError, AuthorityError, StoreError

__all__ = ["DirectoryStore", "SecretStore", "Store", "authority"]


class Store(Protocol):
    """A location for one CA. ``str(store)`` names it in messages."""

    def read(self) -> dict[str, bytes] | None:
        """The stored files by name; None if there are none yet."""
        ...

    def create(self, credentials: Credentials) -> bool:
        """Store these unless the store has content; False, without a change, if another process was first."""
        ...


def authority(store: Store, now: datetime) -> Authority:
    """The CA of the store, created on first use; raises StoreError if the content is not a usable CA.

    Replicas start together and may all find an empty store. Each then creates a CA, one of them wins, and all read the
    stored one: no replica signs with a CA that the others do not have. Unusable content is never replaced: it may
    belong to another program, and leaves signed by it may still be in use.
    """
    stored = store.read()
    if stored is None:
        made = Authority.create(now)
        if store.create(made.credentials()):
            return made
        stored = store.read()
    try:
        return Authority.load(Credentials.from_files(stored or {}), now)
    except AuthorityError as error:
        raise StoreError(f"{store}: {error}. Remove it to create a new CA at the next start.") from error


class DirectoryStore:
    """A CA in a directory, for use without a cluster. Processes of one machine may share it."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def __str__(self) -> str:
        return f"directory {self._directory}"

    def read(self) -> dict[str, bytes] | None:
        try:
            return files.read(self._directory, (TLS_CRT, TLS_KEY, CA_CRT)) or None
        except OSError as error:
            raise StoreError(f"{self}: cannot be read: {error}") from error

    def create(self, credentials: Credentials) -> bool:
        try:
            return files.create(self._directory, credentials.files())
        except OSError as error:
            raise StoreError(f"{self}: cannot be written: {error}") from error


class SecretStore:
    """A CA in a Secret of type ``kubernetes.io/tls``, created once; the API server decides which replica is first."""

    def __init__(self, namespace: str, name: str, api: Api) -> None:
        self._namespace, self._name, self._api = namespace, name, api

    def __str__(self) -> str:
        return f"Secret {self._namespace}/{self._name}"

    def read(self) -> dict[str, bytes] | None:
        try:
            secret = self._api.get(f"{self._collection}/{self._name}")
        except ApiServerError as error:
            if error.status == HTTPStatus.NOT_FOUND:
                return None
            raise
        return {name: base64.b64decode(content) for name, content in (secret.get("data") or {}).items()}

    def create(self, credentials: Credentials) -> bool:
        data = {name: base64.b64encode(content).decode() for name, content in credentials.files().items()}
        try:
            self._api.create(self._collection, self._secret(data))
        except ApiServerError as error:
            if error.status == HTTPStatus.CONFLICT:
                return False
            raise
        return True

    @property
    def _collection(self) -> str:
        return f"/api/v1/namespaces/{self._namespace}/secrets"

    def _secret(self, data: dict[str, str]) -> dict[str, Any]:
        labels = {"app.kubernetes.io/name": "modelgate", "app.kubernetes.io/component": "certs"}
        metadata = {"name": self._name, "namespace": self._namespace, "labels": labels}
        return {"apiVersion": "v1", "kind": "Secret", "type": "kubernetes.io/tls", "metadata": metadata, "data": data}
